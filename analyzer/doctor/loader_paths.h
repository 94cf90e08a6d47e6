// What the loader's settings do to an environment: LD_LIBRARY_PATH, LD_PRELOAD, ld.so.conf, the
// cache.
#pragma once

#include <vector>

#include "wheelvet/finding.h"
#include "wheelvet/host.h"

namespace wheelvet {

std::vector<Finding> check_loader_paths(const HostFacts& host);

/// Folders that ld.so.conf and the files that it includes name, in order.
std::vector<std::string> configured_folders(const std::string& root);

}  // namespace wheelvet
