// Documents from and to JSON text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/printable.h"
#include "wheelvet/document.h"

namespace wheelvet {

/// Reads JSON of any origin: nesting is limited. Unreadable, with the offset, when it is none.
Document read_json(std::string_view text);

/// `indent` blanks per level; -1 for one line. Texts that are not UTF-8 get U+FFFD in place.
std::string write_json(const Document& document, int indent);

/// A list of texts of any origin, each as a terminal may have it.
inline Document printable_list(const std::vector<std::string>& values) {
  Document out = empty_list();
  for (const std::string& value : values) out.add(printable(value));
  return out;
}

}  // namespace wheelvet
