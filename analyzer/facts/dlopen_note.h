#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

/// A library that an object says it opens at run time.
struct DlopenWish {
  std::vector<std::string> sonames;  ///< any one of them will do
  std::string feature;
  std::string priority;  ///< required, recommended or suggested
};

/// Reads the text of a .note.dlopen (systemd's "ELF dlopen() metadata" specification: a JSON list).
/// A text that is not of that form gives what of it is.
std::vector<DlopenWish> read_dlopen_note(std::string_view text);

}  // namespace wheelvet
