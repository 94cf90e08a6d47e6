// JUnit XML: a suite per target, a case per root and per finding, passes visible. The elements and
// attributes are those of the schema that Jenkins' xUnit plugin publishes.
#include <fmt/format.h>

#include <algorithm>

#include "report/escape.h"
#include "report/finding_rows.h"
#include "report/render.h"

namespace wheelvet {
namespace {

struct Suite {
  std::string name, cases;
  std::size_t tests = 0, failures = 0, errors = 0;
};

std::string open_case(const std::string& kind, const std::string& name) {
  return fmt::format("    <testcase classname=\"{}\" name=\"{}\">\n", escape_markup(kind),
                     escape_markup(name));
}

std::string element(std::string_view tag, std::string_view type, const std::string& message,
                    const std::string& text) {
  return fmt::format("      <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n", tag,
                     escape_markup(type), escape_markup(message), text);
}

// Line ends are ours, so that they are put in after escaping.
std::string details_of(const Finding& finding) {
  std::string out = escape_markup(finding.title);
  for (const FindingRow& row : rows_of(finding)) {
    out += fmt::format("\n{:<10}{}", row.label, escape_markup(row.text));
  }
  return out;
}

void add_finding(const Finding& finding, Severity threshold, Suite& suite) {
  ++suite.tests;
  suite.cases += open_case(finding.id, finding.title);
  if (counts(finding, threshold)) {
    ++suite.failures;
    suite.cases += element("failure", finding.id, finding.title, details_of(finding));
  } else {
    std::string remark = remark_of(finding);
    suite.cases +=
        fmt::format("      <system-out>{}{}\n{}</system-out>\n", to_string(finding.severity),
                    remark.empty() ? "" : " (" + escape_markup(remark) + ")", details_of(finding));
  }
  suite.cases += "    </testcase>\n";
}

// A root that fails is a failure only where the finding that says why is one: what is suppressed
// has to be green in every view.
void add_root(const Report& report, const ReportRoot& root, Severity threshold, Suite& suite) {
  ++suite.tests;
  suite.cases += open_case("load", root.path);
  std::string reasons;
  bool counted = false;
  for (const Finding& finding : report.findings) {
    bool names =
        std::find(finding.roots.begin(), finding.roots.end(), root.path) != finding.roots.end();
    if (!names) continue;
    reasons += fmt::format("{} {}\n", finding.id, escape_markup(finding.title));
    if (counts(finding, threshold)) counted = true;
  }
  std::string status = fmt::format("{}{}", to_string(root.status),
                                   root.excused ? " (an alternative; another one loads)" : "");
  if (root.status == Status::fails && counted && !root.excused) {
    ++suite.failures;
    suite.cases += element("failure", "load", "does not load", reasons);
  } else if (root.status == Status::undecided) {
    ++suite.errors;
    suite.cases += element("error", "undecided", "cannot be decided with these inputs", reasons);
  } else {
    suite.cases += fmt::format("      <system-out>{}\n{}</system-out>\n", status, reasons);
  }
  suite.cases += "    </testcase>\n";
}

void add_problem(const Problem& problem, Suite& suite) {
  ++suite.tests;
  ++suite.errors;
  suite.cases += open_case("read", problem.member.empty() ? problem.input : problem.member);
  suite.cases += element("error", "problem", problem.reason, escape_markup(to_line(problem)));
  suite.cases += "    </testcase>\n";
}

// Which suite a root belongs to: that of the target whose package it is.
std::size_t input_of_root(const Report& report, const ReportRoot& root) {
  Finding concerned;
  concerned.roots = {root.path};
  return input_of(report, concerned);
}

Suite suite_of(const Report& report, std::size_t input, bool first, Severity threshold) {
  Suite suite;
  suite.name = report.inputs[input].label;
  for (const ReportRoot& root : report.roots) {
    if (input_of_root(report, root) == input) add_root(report, root, threshold, suite);
  }
  for (const Finding& finding : report.findings) {
    if (input_of(report, finding) == input) add_finding(finding, threshold, suite);
  }
  // A Problem names the file as it was given, which may be a provider: the first suite has them.
  if (!first) return suite;
  for (const Problem& problem : report.problems) add_problem(problem, suite);
  return suite;
}

}  // namespace

std::string junit_suites(const Report& report, const std::string& prefix, Severity threshold) {
  std::string out;
  bool first = true;
  for (std::size_t i = 0; i < report.inputs.size(); ++i) {
    if (!report.inputs[i].target) continue;
    Suite suite = suite_of(report, i, first, threshold);
    first = false;
    out += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\">\n",
        escape_markup(prefix + suite.name), suite.tests, suite.failures, suite.errors);
    out += suite.cases;
    out += fmt::format("    <system-out>{}</system-out>\n  </testsuite>\n",
                       escape_markup(report.headline));
  }
  return out;
}

std::string junit_document(const std::string& suites) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"wheelvet\">\n" + suites +
         "</testsuites>\n";
}

std::string render_junit(const Report& report, const RenderOptions& options) {
  return junit_document(junit_suites(report, "", options.threshold));
}

}  // namespace wheelvet
