// The only way of a name from a file to a terminal, log or report.
#pragma once

#include <string>
#include <string_view>

namespace wheelvet {

/// Text that is safe to print: C0 and C1 controls, DEL, bidirectional and other invisible format
/// characters, line separators and bytes that are not UTF-8 become \xNN or \u{N}; a backslash
/// becomes
/// \\, so that two different names never print alike.
std::string printable(std::string_view text);

/// The text that printable() was given: printable(from_printable(x)) is x for every x it made.
std::string from_printable(std::string_view text);

}  // namespace wheelvet
