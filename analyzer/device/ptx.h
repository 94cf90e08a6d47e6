// PTX text: the lines that say what it is for, and the kernels in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

struct PtxFacts {
  std::uint8_t isa_major = 0, isa_minor = 0;  ///< .version
  std::uint16_t arch = 0;                     ///< .target sm_90
  char suffix = 0;                            ///< 'a', 'f' or 0
  std::vector<std::string> kernels;           ///< .entry names, in order
};

/// Unreadable when the text has no .version or no .target.
PtxFacts read_ptx(std::string_view text);

}  // namespace wheelvet
