#include "link/name_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace wheelvet {

bool same_qualified_name(const CxxName& one, const CxxName& other) {
  return one.function == other.function &&
         without_string_abi(one.scoped) == without_string_abi(other.scoped);
}

bool differ_in_string_abi(const CxxName& one, const CxxName& other) {
  return one.text != other.text && without_string_abi(one.text) == without_string_abi(other.text);
}

int parameter_distance(const CxxName& one, const CxxName& other) {
  std::size_t common = std::min(one.parameters.size(), other.parameters.size());
  std::size_t longest = std::max(one.parameters.size(), other.parameters.size());
  auto differing = static_cast<int>(longest - common);
  for (std::size_t i = 0; i < common; ++i) differing += one.parameters[i] != other.parameters[i];
  return differing + (one.qualifiers != other.qualifiers);
}

std::string name_difference(const CxxName& one, const CxxName& other, const SideWords& words) {
  if (differ_in_string_abi(one, other)) {
    return "the other spelling of std::string (C++11 ABI)";
  }
  std::vector<std::string> parts;
  auto add = [&](std::size_t argument, std::string_view a, std::string_view b) {
    parts.push_back(
        fmt::format("argument {}: {} {}, {} {}", argument + 1, a, words.one, b, words.other));
  };
  std::size_t common = std::min(one.parameters.size(), other.parameters.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (one.parameters[i] != other.parameters[i]) add(i, one.parameters[i], other.parameters[i]);
  }
  for (std::size_t i = common; i < other.parameters.size(); ++i) {
    add(i, "none", other.parameters[i]);
  }
  for (std::size_t i = common; i < one.parameters.size(); ++i) add(i, one.parameters[i], "none");
  if (one.qualifiers != other.qualifiers) {
    auto shown = [](const std::string& text) { return text.empty() ? " none" : text; };
    parts.push_back(fmt::format("qualifiers:{} {},{} {}", shown(one.qualifiers), words.one,
                                shown(other.qualifiers), words.other));
  }
  if (parts.empty()) return "the same in source; the mangled names differ";
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace wheelvet
