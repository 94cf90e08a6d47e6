// The NVIDIA driver: kernel module, libcuda as a process finds it, device nodes, GPUs.
#pragma once

#include <string>
#include <vector>

#include "wheelvet/finding.h"
#include "wheelvet/host.h"

namespace wheelvet {

DriverFacts read_driver(const HostFacts& host);

/// The release that programs see: a forward-compatibility package stands in for the kernel's.
std::string driver_in_use(const DriverFacts& driver);

std::vector<Finding> check_host_driver(const HostFacts& host);

}  // namespace wheelvet
