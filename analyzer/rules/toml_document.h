#pragma once

#include <string>
#include <string_view>

#include "wheelvet/document.h"

namespace wheelvet {

/// TOML as a Document with lines. WrongUsage, "name:line: ...", when it is none.
Document read_toml(std::string_view text, const std::string& name);

}  // namespace wheelvet
