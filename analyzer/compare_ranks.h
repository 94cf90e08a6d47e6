// The environments of a job's ranks against each other.
#pragma once

#include <string>
#include <vector>

#include "run.h"

namespace wheelvet {

/// Vets the same request in the environments of other ranks, and adds to `report` how the NCCL that
/// they load differs from the one of `request.environment` (NCCL-003): a communicator refuses ranks
/// of different versions. Of the other environments nothing else is reported. Exceptions as
/// `check`.
void compare_ranks(const Request& request, const std::vector<std::string>& environments,
                   Report& report);

}  // namespace wheelvet
