// Documents from and to JSON text.
#pragma once

#include <string>
#include <string_view>

#include "wheelvet/document.h"

namespace wheelvet {

/// Reads JSON of any origin: nesting is limited. Unreadable, with the offset, when it is none.
Document read_json(std::string_view text);

/// `indent` blanks per level; -1 for one line. Texts that are not UTF-8 get U+FFFD in place.
std::string write_json(const Document& document, int indent);

}  // namespace wheelvet
