// A baseline: the findings of an earlier report, which do not count again.
#pragma once

#include <set>
#include <string>

#include "wheelvet/report.h"

namespace wheelvet {

struct Baseline {
  std::set<std::string> keys;  ///< package and content key, see report/finding_rows.h
};

/// Reads a report in JSON, of `check` or `matrix`, or lines of them. Unreadable when it is none.
Baseline read_baseline(const std::string& path);

/// Marks the findings whose content keys are all in the baseline.
void apply_baseline(const Baseline& baseline, Report& report);

}  // namespace wheelvet
