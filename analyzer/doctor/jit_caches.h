// Objects that packages built on this host and keep.
#pragma once

#include <vector>

#include "wheelvet/finding.h"
#include "wheelvet/host.h"
#include "wheelvet/report.h"

namespace wheelvet {

/// Every cache of the user, by the variables of the interactive start or in its usual folder.
std::vector<JitCache> read_jit_caches(const HostFacts& host);

/// `loaded`: the report of `check` with the caches' folders as its targets over the environment.
std::vector<Finding> check_jit_caches(const HostFacts& host, const Report& loaded);

}  // namespace wheelvet
