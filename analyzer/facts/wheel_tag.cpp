#include "facts/wheel_tag.h"

#include <fmt/format.h>

namespace wheelvet {

std::string python_of_tag(std::string_view tag) {
  if (!tag.starts_with("cp3")) return {};
  std::size_t dash = tag.find('-');
  std::string_view python = tag.substr(2, dash - 2);
  std::string_view rest = dash == std::string_view::npos ? "" : tag.substr(dash + 1);
  std::string_view abi = rest.substr(0, rest.find('-'));
  std::string version = fmt::format("3.{}", python.substr(1));
  if (abi == "abi3") return {};
  return abi.ends_with('t') ? version + "t" : version;
}

bool is_python_release(std::string_view text) {
  if (text.ends_with('t')) text.remove_suffix(1);
  return text.starts_with("3.") && text.size() > 2 && text.size() < 6 &&
         text.substr(2).find_first_not_of("0123456789") == std::string_view::npos;
}

std::string glibc_of_platform(std::string_view platform) {
  if (platform.starts_with("manylinux1_")) return "2.5";
  if (platform.starts_with("manylinux2010_")) return "2.12";
  if (platform.starts_with("manylinux2014_")) return "2.17";
  constexpr std::string_view family = "manylinux_";
  if (!platform.starts_with(family)) return {};
  platform.remove_prefix(family.size());
  std::size_t first = platform.find('_'), second = platform.find('_', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return {};
  return fmt::format("{}.{}", platform.substr(0, first),
                     platform.substr(first + 1, second - first - 1));
}

}  // namespace wheelvet
