// GitHub's Markdown, for the comment on a change and the summary of a job.
#include <fmt/format.h>

#include "report/escape.h"
#include "report/finding_rows.h"
#include "report/render.h"

namespace wheelvet {
namespace {

std::string_view mark_of(Status status) {
  switch (status) {
    case Status::loads:
      return "✅ loads";
    case Status::undecided:
      return "❔ undecided";
    case Status::fails:
      return "❌ fails";
  }
  return "";
}

std::string finding_text(const Finding& finding) {
  std::string remark = remark_of(finding);
  std::string out = fmt::format("**{}** {}: {}", finding.id, to_string(finding.severity),
                                escape_markdown(finding.title));
  if (!remark.empty()) out += fmt::format(" _({})_", escape_markdown(remark));
  out += "\n\n| | |\n|---|---|\n";
  for (const FindingRow& row : rows_of(finding)) {
    bool sentence = row.label == "cause" || row.label == "fix" || row.label == "differs";
    out += fmt::format("| {} | {} |\n", row.label,
                       sentence ? escape_markdown(row.text) : markdown_code(row.text, true));
  }
  return out + "\n";
}

std::string roots_table(const Report& report) {
  std::string out = "| module or library | verdict |\n|---|---|\n";
  for (const ReportRoot& root : report.roots) {
    out += fmt::format("| {} | {}{} |\n", markdown_code(root.path, true), mark_of(root.status),
                       root.excused ? " (alternative)" : "");
  }
  return out + "\n";
}

std::string folded(const std::string& title, const std::string& text) {
  return fmt::format("<details><summary>{}</summary>\n\n{}\n</details>\n\n", title, text);
}

std::string rest_of(const Report& report) {
  std::string out;
  for (const Undecided& each : report.undecided) {
    out += fmt::format("- {} imports may belong to {}, which is not among the inputs\n", each.count,
                       markdown_code(each.owner, false));
  }
  for (const Problem& problem : report.problems) {
    out += fmt::format("- could not be read: {}\n", escape_markdown(to_line(problem)));
  }
  return out.empty() ? out : out + "\n";
}

std::string assumed(const Report& report) {
  std::string out;
  for (const Assumption& each : report.assumptions) {
    std::string reason = each.because.empty() ? "" : ", " + escape_markdown(each.because);
    out += fmt::format(
        "- {} ({}{})\n", markdown_code(each.library, false),
        each.kind == "plain system" ? "every plain distribution" : escape_markdown(each.owner),
        reason);
  }
  return out;
}

}  // namespace

std::string render_markdown(const Report& report, const RenderOptions& options) {
  std::string out =
      fmt::format("### {}\n\n{}\n\n", mark_of(report.verdict), escape_markdown(report.headline));
  std::string quiet;
  std::size_t others = 0;
  for (const Finding& finding : report.findings) {
    if (counts(finding, options.threshold)) {
      out += finding_text(finding);
    } else {
      quiet += finding_text(finding);
      ++others;
    }
  }
  out += rest_of(report);
  if (others) out += folded(fmt::format("{} finding(s) below the threshold", others), quiet);
  if (!report.roots.empty()) {
    out +=
        folded(fmt::format("{} module(s) and libraries", report.roots.size()), roots_table(report));
  }
  if (!report.assumptions.empty()) {
    out += folded(fmt::format("{} assumption(s)", report.assumptions.size()), assumed(report));
  }
  for (const std::string& line : report.scope) out += "- " + escape_markdown(line) + "\n";
  if (!report.configuration.empty()) {
    out += "- configuration: " + markdown_code(report.configuration, false) + "\n";
  }
  return out;
}

}  // namespace wheelvet
