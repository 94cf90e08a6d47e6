// What the formats of a matrix share, and those that are little else.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/finding_rows.h"
#include "report/printable.h"
#include "report/render_matrix.h"
#include "report/style.h"

namespace wheelvet {
namespace {

// The widest table that a log shows without wrapping; more columns go into further tables.
constexpr std::size_t widest = 150;

std::size_t place_of(std::vector<std::string>& names, const std::string& name) {
  auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) found = names.insert(names.end(), name);
  return static_cast<std::size_t>(found - names.begin());
}

// Cut in the middle: both the name and the tags tell wheels apart.
std::string shortened(const std::string& name, std::size_t most) {
  if (name.size() <= most) return name;
  std::size_t head = most * 2 / 3;
  return name.substr(0, head) + "..." + name.substr(name.size() - (most - head - 3));
}

// "torch-2.10.0" of a wheel's file name, with what follows the name.
std::string without_tags(const std::string& name) {
  std::size_t end = name.find(".whl");
  std::size_t version = name.find('-');
  std::size_t tags = version == std::string::npos ? version : name.find('-', version + 1);
  if (end == std::string::npos || tags == std::string::npos || tags > end) return name;
  return name.substr(0, tags) + name.substr(end + 4);
}

std::string colored(const Style& style, const MatrixCell* cell, Severity threshold,
                    std::string text) {
  if (!cell) return style.dim(text);
  if (cell_fails(*cell, threshold)) return style.red(text);
  return cell->report.complete ? style.green(text) : style.yellow(text);
}

// The tables of all columns, as many side by side as fit.
std::string tables_text(const MatrixTable& table, const Style& style, Severity threshold) {
  std::size_t name_width = 6;
  std::vector<std::string> rows = shown_names(table.rows);
  std::vector<std::string> columns = shown_names(table.columns);
  for (auto* names : {&rows, &columns}) {
    for (std::string& name : *names) name = printable(name);
  }
  for (const std::string& name : rows) name_width = std::max(name_width, name.size());
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    widths.push_back(columns[c].size());
    for (const auto& row : table.cells) {
      if (row[c]) widths[c] = std::max(widths[c], cell_text(*row[c], threshold).size());
    }
  }
  std::string out;
  for (std::size_t first = 0; first < table.columns.size();) {
    std::size_t end = first, width = name_width + 2;
    while (end < table.columns.size() && (end == first || width + widths[end] + 2 <= widest)) {
      width += widths[end++] + 2;
    }
    out += fmt::format("\n  {:<{}}", "", name_width);
    for (std::size_t c = first; c < end; ++c) {
      out += fmt::format("  {:<{}}", columns[c], widths[c]);
    }
    out += '\n';
    for (std::size_t r = 0; r < rows.size(); ++r) {
      out += fmt::format("  {:<{}}", rows[r], name_width);
      for (std::size_t c = first; c < end; ++c) {
        const MatrixCell* cell = table.cells[r][c];
        std::string text = cell ? cell_text(*cell, threshold) : "-";
        out += "  " + colored(style, cell, threshold, fmt::format("{:<{}}", text, widths[c]));
      }
      out += '\n';
    }
    first = end;
  }
  return out;
}

}  // namespace

std::vector<std::string> shown_names(const std::vector<std::string>& names) {
  std::map<std::string, std::size_t> times;
  for (const std::string& name : names) ++times[without_tags(name)];
  std::vector<std::string> out;
  for (const std::string& name : names) {
    std::string text = without_tags(name);
    out.push_back(shortened(times[text] == 1 ? text : name, 60));
  }
  return out;
}

bool cell_fails(const MatrixCell& cell, Severity threshold) {
  return std::any_of(cell.report.findings.begin(), cell.report.findings.end(),
                     [&](const Finding& finding) { return counts(finding, threshold); });
}

std::string cell_text(const MatrixCell& cell, Severity threshold) {
  const std::vector<Finding>& findings = cell.report.findings;
  auto counted = std::find_if(findings.begin(), findings.end(),
                              [&](const Finding& each) { return counts(each, threshold); });
  if (counted != findings.end()) return "FAILS " + counted->id;
  if (!cell.report.complete) return "undecided";
  auto expected = std::find_if(findings.begin(), findings.end(), [&](const Finding& each) {
    return each.severity >= threshold && (!each.suppressed.empty() || each.known);
  });
  if (expected != findings.end()) return "accepted " + expected->id;
  return cell.report.roots.empty() ? "no native code" : std::string(to_string(cell.report.verdict));
}

std::string column_of(const CellName& name) {
  return name.scenario.empty() ? name.provider : name.provider + ", " + name.scenario;
}

MatrixTable lay_out(const MatrixReport& matrix) {
  MatrixTable out;
  for (const MatrixCell& cell : matrix.cells) {
    std::size_t row = place_of(out.rows, cell.name.target);
    std::size_t column = place_of(out.columns, column_of(cell.name));
    out.cells.resize(out.rows.size());
    out.cells[row].resize(std::max(out.cells[row].size(), column + 1));
    out.cells[row][column] = &cell;
  }
  for (auto& row : out.cells) row.resize(out.columns.size());
  return out;
}

Report report_of_matrix(const MatrixReport& matrix) {
  Report out;
  std::size_t fails = 0;
  for (const MatrixCell& cell : matrix.cells) {
    if (cell_fails(cell, Severity::error)) ++fails;
    if (!cell.report.complete) out.complete = false;
  }
  out.findings = matrix.findings;
  out.problems = matrix.problems;
  out.configuration = matrix.configuration;
  out.complete = out.complete && matrix.problems.empty();
  out.verdict = fails ? Status::fails : out.complete ? Status::loads : Status::undecided;
  out.headline = fmt::format("{}: {} of {} cells fail", matrix.file, fails, matrix.cells.size());
  if (matrix.cells.size() != matrix.total) {
    out.headline += fmt::format(" (of {} in the whole matrix)", matrix.total);
  }
  ReportInput& input = out.inputs.emplace_back();
  input.label = matrix.file;
  input.kind = "file";
  input.target = true;
  return out;
}

std::vector<NamedReport> named_reports(const MatrixReport& matrix, const Report& itself) {
  std::vector<NamedReport> out;
  for (const MatrixCell& cell : matrix.cells) out.push_back({column_of(cell.name), &cell.report});
  out.push_back({"", &itself});
  return out;
}

std::string render_text(const MatrixReport& matrix, const TextOptions& options,
                        Severity threshold) {
  Style style(options.color);
  std::size_t fails = 0, undecided = 0, accepted = 0;
  for (const MatrixCell& cell : matrix.cells) {
    std::string text = cell_text(cell, threshold);
    fails += text.starts_with("FAILS") ? 1 : 0;
    undecided += text == "undecided" ? 1 : 0;
    accepted += text.starts_with("accepted") ? 1 : 0;
  }
  std::string verdict = fails       ? style.red("FAILS")
                        : undecided ? style.yellow("UNDECIDED")
                                    : style.green("PASSES");
  std::string out =
      fmt::format("{}  {}: {} of {} cells fail, {} undecided, {} accepted", verdict,
                  printable(matrix.file), fails, matrix.cells.size(), undecided, accepted);
  if (matrix.cells.size() != matrix.total) out += fmt::format("; {} in all parts", matrix.total);
  if (matrix.from_cache) out += fmt::format("; {} from the cache", matrix.from_cache);
  out += '\n';
  if (options.verbosity < 0) return out;
  out += tables_text(lay_out(matrix), style, threshold);
  for (const MatrixCell& cell : matrix.cells) {
    bool shown = options.verbosity > 0 || cell_fails(cell, threshold) || !cell.report.complete;
    if (!shown) continue;
    out += fmt::format("\n{} {} {}\n", style.bold(printable(cell.name.target)), style.dim("beside"),
                       style.bold(printable(column_of(cell.name))));
    out += render_text(cell.report, options);
  }
  for (const Finding& finding : matrix.findings) {
    out += fmt::format("\n  {} {}  {}\n", finding.id, to_string(finding.severity),
                       printable(finding.title));
    for (const FindingRow& row : rows_of(finding)) {
      out += fmt::format("    {:<10}{}\n", row.label, printable(row.text));
    }
  }
  for (const Problem& problem : matrix.problems) {
    out += fmt::format("  {} {}\n", style.red("problem  "), to_line(problem));
  }
  if (!matrix.configuration.empty()) {
    out += fmt::format("\n  {:<10}{}\n", "config", printable(matrix.configuration));
  }
  return out;
}

std::string render_junit(const MatrixReport& matrix, const RenderOptions& options) {
  Report itself = report_of_matrix(matrix);
  std::string suites;
  for (const NamedReport& each : named_reports(matrix, itself)) {
    std::string prefix = each.name.empty() ? "" : each.name + ": ";
    suites += junit_suites(*each.report, prefix, options.threshold);
  }
  return junit_document(suites);
}

std::string render_github(const MatrixReport& matrix, const RenderOptions& options) {
  Report itself = report_of_matrix(matrix);
  std::string out;
  for (const NamedReport& each : named_reports(matrix, itself)) {
    out += render_github(*each.report, each.name, options);
  }
  return out;
}

}  // namespace wheelvet
