// The only way that a file is written where somebody asked for one.
#pragma once

#include <string>
#include <string_view>

namespace wheelvet {

/// All of `bytes`, or Unreadable with the system's reason; half a file does not stay.
void write_file(const std::string& path, std::string_view bytes);

}  // namespace wheelvet
