// What changed of device code: the GPUs that a library has code for.
#pragma once

#include <vector>

#include "diff/library_pairs.h"
#include "report/difference.h"
#include "rules/device_rules.h"

namespace wheelvet {

/// GPUs for which a library had code that runs and has none now, and the other way round; GPUs
/// whose driver has to compile it now; architectures that came and went. A stub that was made
/// without device code cannot be compared, and is named.
std::vector<Change> device_changes(const std::vector<LibraryPair>& pairs, const DeviceRules& rules);

}  // namespace wheelvet
