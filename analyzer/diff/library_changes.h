// What changed of libraries besides their exports: sonames, needs, versions, search paths.
#pragma once

#include <vector>

#include "diff/library_pairs.h"
#include "report/difference.h"
#include "rules/rules.h"

namespace wheelvet {

std::vector<Change> library_changes(const std::vector<LibraryPair>& pairs, const Rules& rules);

}  // namespace wheelvet
