#pragma once

#include <string_view>

namespace wheelvet {

/// True when the whole text matches a pattern in which '*' stands for any run of characters, '/'
/// too, and '?' for any one.
bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace wheelvet
