#include "config/baseline.h"

#include <algorithm>

#include "report/finding_rows.h"
#include "report/read_report.h"

namespace wheelvet {
namespace {

// Names of the packages that a finding is about, without their versions; one empty name for none.
std::set<std::string> packages_of(const Report& report, const Finding& finding) {
  auto name = [](const std::string& package) { return package.substr(0, package.find(' ')); };
  std::set<std::string> out;
  for (const ReportRoot& root : report.roots) {
    bool concerned =
        std::find(finding.roots.begin(), finding.roots.end(), root.path) != finding.roots.end();
    if (concerned) out.insert(name(root.package));
  }
  std::size_t input = out.empty() ? input_of(report, finding) : none;
  if (input != none && !report.inputs[input].packages.empty()) {
    out.insert(name(report.inputs[input].packages.front()));
  }
  if (out.empty()) out.insert("");
  return out;
}

// Of two wheels with a `_C.abi3.so` each, what is known of one is not known of the other.
std::vector<std::string> keys_of(const Report& report, const Finding& finding) {
  std::vector<std::string> out;
  for (const std::string& package : packages_of(report, finding)) {
    for (const std::string& key : content_keys(report, finding)) {
      out.push_back(package + "\n" + key);
    }
  }
  return out;
}

}  // namespace

Baseline read_baseline(const std::string& path) {
  Baseline out;
  for (const Report& report : read_reports(path)) {
    for (const Finding& finding : report.findings) {
      for (std::string& key : keys_of(report, finding)) out.keys.insert(std::move(key));
    }
  }
  return out;
}

void apply_baseline(const Baseline& baseline, Report& report) {
  for (Finding& finding : report.findings) {
    std::vector<std::string> keys = keys_of(report, finding);
    finding.known = std::all_of(keys.begin(), keys.end(), [&](const std::string& key) {
      return baseline.keys.contains(key);
    });
  }
}

}  // namespace wheelvet
