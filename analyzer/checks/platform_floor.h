// Which manylinux policy a set of objects fits.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rules/rules.h"
#include "wheelvet/facts.h"

namespace wheelvet {

/// "GLIBC_2.34" as {"GLIBC", "2.34"}; "CXXABI_TM_1" as {"CXXABI", "TM_1"}, as policies list it.
std::pair<std::string, std::string> split_version(const std::string& version);

/// Raises the floor of a family by a needed version: "GLIBC_2.34" that of "GLIBC". Names without a
/// number raise none.
void raise_floor(std::map<std::string, std::string>& floors, const std::string& version);

/// Names of a library that the object imports, not weakly, and that the policy keeps private to it,
/// as "_tr_align of libz.so.1": an allowed library of another host need not have them.
std::vector<std::string> private_imports(const PolicyRule& policy, const ElfFacts& elf);

/// The lowest policy that every object and program fits: all versions needed are in its sets, what
/// is needed besides the objects themselves is in its list, and nothing private is imported. Empty
/// when none is, or there is no object.
std::string lowest_policy(const Rules& rules, const InputFacts& input);

}  // namespace wheelvet
