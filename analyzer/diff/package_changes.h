// What changed of distributions: versions, where they can be installed, what pip installs with
// them.
#pragma once

#include <vector>

#include "report/difference.h"
#include "rules/rules.h"
#include "wheelvet/facts.h"

namespace wheelvet {

std::vector<Change> package_changes(const InputFacts& before, const InputFacts& now,
                                    const Rules& rules);

}  // namespace wheelvet
