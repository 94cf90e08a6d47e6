// The loader slice: a small valid ELF rebuilt from checked facts. Stub wheels hold it, bug reports
// can carry it, and LIEF parses it instead of a file that nobody vetted.
#pragma once

#include <cstdint>
#include <vector>

#include "wheelvet/facts.h"

namespace wheelvet {

/// The slice of one file: reading it gives equal facts, but for strings appended to the string
/// table.
std::vector<std::uint8_t> write_slice(const ElfFacts& facts);

}  // namespace wheelvet
