// What became of the exported names of paired libraries.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "diff/library_pairs.h"
#include "report/difference.h"

namespace wheelvet {

/// The changes of exports, folded by what happened, with all names. `used`: names that users
/// import; they come first. `by_users`: users were given, so say how many of the names they import.
std::vector<Change> export_changes(const std::vector<LibraryPair>& pairs,
                                   const std::set<std::string, std::less<>>& used, bool by_users,
                                   unsigned jobs);

/// How many names a library exports.
std::size_t count_exports(const ElfFacts& elf);

}  // namespace wheelvet
