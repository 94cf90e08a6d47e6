// The packages of an environment, by their metadata.
#pragma once

#include <vector>

#include "wheelvet/finding.h"
#include "wheelvet/host.h"

namespace wheelvet {

/// Every .dist-info on sys.path; of two with one name the first counts. Names as PEP 503 spells
/// them.
std::vector<HostPackage> read_packages(const HostFacts& host);

/// The release of torch and the CUDA that it is built for, from torch/version.py.
void read_torch(HostFacts& host);

/// What the folders of sys.path show beyond what `check` judges: further copies of torch, and a
/// torch whose files are of another release than its metadata.
std::vector<Finding> check_torch_copies(const HostFacts& host);

}  // namespace wheelvet
