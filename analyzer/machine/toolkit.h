// CUDA toolkits of a machine: folders of libraries that the loader may or may not search.
#pragma once

#include <vector>

#include "wheelvet/machine.h"

namespace wheelvet {

/// The library folders of the toolkits where they are installed by custom: /usr/local/cuda*,
/// /opt/cuda, and on this machine CUDA_HOME and CUDA_PATH. Each folder once, links followed; the
/// newest release first.
std::vector<ToolkitFolder> find_toolkits(const std::string& root);

}  // namespace wheelvet
