#pragma once

#include <string>

#include "wheelvet/machine.h"

namespace wheelvet {

/// Reads what the loader of this host, or of the root `root`, is set up with: the folders compiled
/// into ld.so, ld.so.cache, /etc/ld.so.preload, and for this host LD_LIBRARY_PATH and LD_PRELOAD of
/// this process and the capabilities of its processor (a root is judged for a processor of the
/// plain level), and where its CUDA toolkits lie. `given` is set. What is not there leaves its part
/// empty; WrongUsage when there is no such root.
Machine find_machine(const std::string& root);

}  // namespace wheelvet
