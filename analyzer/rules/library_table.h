// rules/libraries.txt: who ships which shared library.
#pragma once

#include <string_view>
#include <vector>

#include "rules/rules.h"

namespace wheelvet {

/// The rows of the table, in its order; its own head says what a row holds. WrongUsage, with the
/// line, for a word that is none of its.
std::vector<LibraryRule> read_library_table(std::string_view lines);

/// Libraries, imports and families of names, without what only `check` needs: a question about one
/// name is answered in the time that the parsing of the rest takes. WrongUsage as `load_rules`.
Rules load_names();

}  // namespace wheelvet
