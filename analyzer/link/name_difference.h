// How two C++ names that share their qualified name differ: a change of parameters, of qualifiers,
// or of the string ABI alone.
#pragma once

#include <string>
#include <string_view>

#include "link/demangle.h"

namespace wheelvet {

/// What the two sides are called in a sentence: "int wanted, unsigned int exported".
struct SideWords {
  std::string_view one, other;
};

/// True when both are functions, or both none, of one qualified name, whatever the string ABI.
bool same_qualified_name(const CxxName& one, const CxxName& other);

/// True when they differ in the spelling of std::string alone (C++11 ABI).
bool differ_in_string_abi(const CxxName& one, const CxxName& other);

/// How many parameters and qualifiers differ.
int parameter_distance(const CxxName& one, const CxxName& other);

/// The difference in words: "argument 4: int wanted, unsigned int exported".
std::string name_difference(const CxxName& one, const CxxName& other, const SideWords& words);

}  // namespace wheelvet
