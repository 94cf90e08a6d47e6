// GitHub workflow commands: one annotation per finding and per problem.
#include <fmt/format.h>

#include "report/escape.h"
#include "report/finding_rows.h"
#include "report/printable.h"
#include "report/render.h"

namespace wheelvet {
namespace {

// Notices are for the eye only: what does not count must not be red.
std::string_view command_of(const Finding& finding, Severity threshold) {
  if (counts(finding, threshold)) return "error";
  bool quiet = finding.severity == Severity::note || !finding.suppressed.empty() || finding.known;
  return quiet ? "notice" : "warning";
}

std::string annotation(std::string_view command, const std::string& title,
                       const std::string& message) {
  return fmt::format("::{} title={}::{}\n", command, escape_command_property(title),
                     escape_command(message));
}

}  // namespace

std::string render_github(const Report& report, const std::string& name,
                          const RenderOptions& options) {
  std::string out;
  std::string beside = name.empty() ? "" : " beside " + printable(name);
  for (const Finding& finding : report.findings) {
    std::string message = printable(finding.title);
    std::string remark = remark_of(finding);
    if (!remark.empty()) message += " (" + printable(remark) + ")";
    for (const FindingRow& row : rows_of(finding)) {
      message += fmt::format("\n{}: {}", row.label, printable(row.text));
    }
    std::size_t input = input_of(report, finding);
    std::string label = input == none ? "" : " in " + printable(report.inputs[input].label);
    out += annotation(
        command_of(finding, options.threshold),
        fmt::format("{} {}{}{}", finding.id, to_string(finding.severity), label, beside), message);
  }
  for (const Undecided& each : report.undecided) {
    out += annotation("warning", "undecided" + beside,
                      fmt::format("{} imports may belong to {}, which is not among the inputs",
                                  each.count, printable(each.owner)));
  }
  for (const Problem& problem : report.problems) {
    out += annotation("error", "could not be read" + beside, to_line(problem));
  }
  // Last, and no command: what a person reads in the log.
  return out + escape_log(fmt::format("wheelvet: {}: {}\n", to_string(report.verdict),
                                      printable(report.headline)));
}

}  // namespace wheelvet
