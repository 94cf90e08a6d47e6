// Names of its own that an object refers to and does not find by its own hash table.
#pragma once

#include <cstdint>
#include <vector>

#include "wheelvet/facts.h"

namespace wheelvet {

/// Defined symbols that a relocation refers to and that a walk over the object's own hash table may
/// not end at, in order. A good file has none; where there is one, a lookup tells.
std::vector<std::uint32_t> names_not_at_home(const SymbolTable& table);

}  // namespace wheelvet
