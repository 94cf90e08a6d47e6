// The release that a library states in its own text.
#pragma once

#include <string>
#include <string_view>

#include "facts/file_view.h"

namespace wheelvet {

/// "2.28.9+cuda13.0" of a libnccl.so.2, which says its version and the toolkit it was built with;
/// empty for other libraries, and when the words are not among the first 16 MB.
std::string stated_release(const FileView& file, std::string_view soname);

}  // namespace wheelvet
