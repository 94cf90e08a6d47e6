// A function's parameters by its readable name, to show which of them differ.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

struct NameParts {
  std::string before;                   ///< up to and with the "(" of the parameters
  std::vector<std::string> parameters;  ///< as written, without the commas
  std::string after;                    ///< from the ")" on
};

/// Splits "ns::f(int, std::map<a, b>) const". A name without parameters is all `before`.
NameParts split_name(std::string_view readable);

}  // namespace wheelvet
