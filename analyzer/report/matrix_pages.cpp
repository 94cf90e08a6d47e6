// Markdown and HTML of a matrix.
#include <fmt/format.h>

#include "report/escape.h"
#include "report/finding_rows.h"
#include "report/html_page.h"
#include "report/render_matrix.h"

namespace wheelvet {
namespace {

// An anchor that no name from a file is part of.
std::string anchor_of(const MatrixCell& cell) { return fmt::format("cell-{}", cell.index); }

std::string_view class_of(const MatrixCell& cell, Severity threshold) {
  if (cell_fails(cell, threshold)) return "fails";
  return cell.report.complete ? "loads" : "undecided";
}

bool worth_reading(const MatrixCell& cell) {
  return !cell.report.findings.empty() || !cell.report.complete;
}

std::string html_table(const MatrixTable& table, Severity threshold) {
  auto head = [](const std::string& text, const std::string& whole) {
    return fmt::format("<th scope=\"col\" title=\"{}\"><button type=\"button\">{}</button></th>",
                       escape_markup(whole), escape_markup(text));
  };
  std::string out =
      "<div class=\"wide\"><table class=\"sortable cells\"><thead><tr>" + head("target", "target");
  std::vector<std::string> heads = shown_names(table.columns);
  for (std::size_t c = 0; c < heads.size(); ++c) out += head(heads[c], table.columns[c]);
  out += "</tr></thead><tbody>\n";
  std::vector<std::string> names = shown_names(table.rows);
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    out += fmt::format("<tr><td title=\"{}\"><code>{}</code></td>", escape_markup(table.rows[r]),
                       escape_markup(names[r]));
    for (const MatrixCell* cell : table.cells[r]) {
      std::string text = cell ? escape_markup(cell_text(*cell, threshold)) : "";
      if (cell && worth_reading(*cell)) {
        text = fmt::format("<a class=\"{}\" href=\"#{}\">{}</a>", class_of(*cell, threshold),
                           anchor_of(*cell), text);
      }
      out += "<td>" + text + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string findings_html(const MatrixReport& matrix) {
  std::string out;
  for (const Finding& finding : matrix.findings) {
    out += fmt::format("<li>{} {}: {} <code>{}</code></li>\n", finding.id,
                       to_string(finding.severity), escape_markup(finding.title),
                       finding.evidence.empty() ? "" : escape_markup(finding.evidence.front()));
  }
  for (const Problem& problem : matrix.problems) {
    out += "<li class=\"error\">" + escape_markup(to_line(problem)) + "</li>\n";
  }
  return out.empty() ? "" : "<ul>\n" + out + "</ul>\n";
}

}  // namespace

std::string render_markdown(const MatrixReport& matrix, const RenderOptions& options) {
  Report itself = report_of_matrix(matrix);
  MatrixTable table = lay_out(matrix);
  std::string out = "### " + escape_markdown(itself.headline) + "\n\n| target |";
  for (const std::string& column : shown_names(table.columns)) {
    out += " " + markdown_code(column, true) + " |";
  }
  out += "\n|---|";
  for (std::size_t c = 0; c < table.columns.size(); ++c) out += "---|";
  out += '\n';
  std::vector<std::string> names = shown_names(table.rows);
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    out += "| " + markdown_code(names[r], true) + " |";
    for (const MatrixCell* cell : table.cells[r]) {
      std::string_view mark = !cell                                  ? ""
                              : cell_fails(*cell, options.threshold) ? "❌ "
                              : cell->report.complete                ? "✅ "
                                                                     : "❔ ";
      out += fmt::format(" {}{} |", mark, cell ? cell_text(*cell, options.threshold) : "");
    }
    out += '\n';
  }
  out += '\n';
  for (const MatrixCell& cell : matrix.cells) {
    if (!cell_fails(cell, options.threshold) && cell.report.complete) continue;
    // Raw HTML is no Markdown: what is in the summary is escaped as markup.
    out += fmt::format(
        "<details><summary><code>{}</code> beside <code>{}</code></summary>\n\n{}\n"
        "</details>\n\n",
        escape_markup(cell.name.target), escape_markup(column_of(cell.name)),
        render_markdown(cell.report, options));
  }
  for (const Finding& finding : matrix.findings) {
    out += fmt::format("- {} {}: {}\n", finding.id, to_string(finding.severity),
                       escape_markdown(finding.title));
  }
  for (const Problem& problem : matrix.problems)
    out += "- " + escape_markdown(to_line(problem)) + "\n";
  return out;
}

std::string render_html(const MatrixReport& matrix, const RenderOptions& options) {
  Report itself = report_of_matrix(matrix);
  std::string out = "<h1>" + escape_markup(itself.headline) + "</h1>\n";
  out += html_table(lay_out(matrix), options.threshold) + findings_html(matrix);
  std::string cells;
  for (const MatrixCell& cell : matrix.cells) {
    if (!worth_reading(cell)) continue;
    cells += fmt::format(
        "<details class=\"cell\" id=\"{}\"><summary><code>{}</code> beside <code>{}</code>: "
        "<span class=\"{}\">{}</span></summary>\n{}</details>\n",
        anchor_of(cell), escape_markup(cell.name.target), escape_markup(column_of(cell.name)),
        class_of(cell, options.threshold), escape_markup(cell_text(cell, options.threshold)),
        html_report(cell.report));
  }
  if (!cells.empty()) out += "<h2>Cells</h2>\n" + cells;
  return html_page("wheelvet: " + itself.headline, out);
}

}  // namespace wheelvet
