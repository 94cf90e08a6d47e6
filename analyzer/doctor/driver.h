// The NVIDIA driver: kernel module, libcuda as a process finds it, device nodes, GPUs.
#pragma once

#include <vector>

#include "rules/toml_text.h"
#include "wheelvet/finding.h"
#include "wheelvet/host.h"

namespace wheelvet {

DriverFacts read_driver(const HostFacts& host, const TomlText& rules);

std::vector<Finding> check_driver(const HostFacts& host);

}  // namespace wheelvet
