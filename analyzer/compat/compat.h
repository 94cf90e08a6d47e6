// Judges a wheel with every release of torch that the history knows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "wheelvet/compat.h"

namespace wheelvet {

struct CompatRequest {
  std::string wheel;
  std::vector<std::string> providers;  ///< what else is there beside it
  std::string python;                  ///< empty: the tags'
  std::string platform;                ///< machine of a wheel from the index; empty: this one's
  unsigned jobs = 0;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

/// WrongUsage for a target that is no wheel.
Compat compare_with_releases(const CompatRequest& request);

}  // namespace wheelvet
