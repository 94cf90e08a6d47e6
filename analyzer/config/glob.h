#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

/// True when the whole text matches a pattern in which '*' stands for any run of characters, '/'
/// too, and '?' for any one.
bool matches_glob(std::string_view pattern, std::string_view text);

/// The files and folders whose path matches a pattern, sorted. A part of the path with a star or a
/// question mark may match several names, but none that begins with a dot.
std::vector<std::string> files_matching(const std::string& pattern);

}  // namespace wheelvet
