#pragma once

#include <string_view>

#include "wheelvet/facts.h"

namespace wheelvet {

/// What a file is, as the rest of a sentence: "a linker script".
std::string_view to_string(FileKind kind);

}  // namespace wheelvet
