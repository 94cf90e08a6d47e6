#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace wheelvet {

/// All files of rules/ that are part of the program, by name: what its answers depend on.
std::vector<std::pair<std::string_view, std::string_view>> embedded_texts();

}  // namespace wheelvet
