// A finding in full, as labelled lines: what every format but JSON shows of it. Nothing is escaped
// here: each format has rules of its own for that.
#pragma once

#include <string>
#include <vector>

#include "wheelvet/report.h"

namespace wheelvet {

struct FindingRow {
  std::string label;  ///< "in", "wanted", "exported", "differs", "seen", "cause", "fix", ...
  std::string text;
};

std::vector<FindingRow> rows_of(const Finding& finding);

/// Near misses that read differently: the forms of a constructor have one name for people.
std::vector<const NearMiss*> shown_near_misses(const SymbolEvidence& symbol);

/// What does not follow from the title: that it does not count, and why.
std::string remark_of(const Finding& finding);

/// True when the finding makes a run fail: at or above the threshold, neither suppressed nor known.
bool counts(const Finding& finding, Severity threshold);

/// Index of the input that a finding is about: the target whose package its roots belong to, else
/// the first target. `none` without any.
std::size_t input_of(const Report& report, const Finding& finding);

/// The same finding of the next version of a wheel, or of a wheel of another name, has the same
/// keys: one per symbol and object's file name, or one of the title without versions of packages.
std::vector<std::string> content_keys(const Report& report, const Finding& finding);

}  // namespace wheelvet
