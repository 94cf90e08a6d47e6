// What changed between two inputs for those who use them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "report/difference.h"

namespace wheelvet {

struct DifferenceRequest {
  std::string before, now;
  std::vector<std::string> users;
  std::vector<std::string> providers;  ///< beside the users on both sides
  std::string python;
  std::string platform;  ///< machine of wheels from the index; empty for that of the inputs
  unsigned jobs = 0;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

/// WrongUsage as `open_input`; what cannot be read is a Problem of the result.
Difference find_difference(const DifferenceRequest& request);

}  // namespace wheelvet
