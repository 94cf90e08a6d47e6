// The tools that Triton runs: ptxas and its kin.
#pragma once

#include <vector>

#include "wheelvet/finding.h"
#include "wheelvet/host.h"

namespace wheelvet {

TritonFacts read_triton(const HostFacts& host);

std::vector<Finding> check_triton(const HostFacts& host);

}  // namespace wheelvet
