#include "config/baseline.h"

#include <algorithm>

#include "report/finding_rows.h"
#include "report/read_report.h"

namespace wheelvet {

Baseline read_baseline(const std::string& path) {
  Baseline out;
  for (const Report& report : read_reports(path)) {
    for (const Finding& finding : report.findings) {
      for (std::string& key : content_keys(report, finding)) out.keys.insert(std::move(key));
    }
  }
  return out;
}

void apply_baseline(const Baseline& baseline, Report& report) {
  for (Finding& finding : report.findings) {
    std::vector<std::string> keys = content_keys(report, finding);
    finding.known = std::all_of(keys.begin(), keys.end(), [&](const std::string& key) {
      return baseline.keys.contains(key);
    });
  }
}

}  // namespace wheelvet
