// A cubin: an ELF file of GPU machine code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "facts/bytes.h"

namespace wheelvet {

inline constexpr std::size_t cubin_header_bytes = 64;

struct CubinHeader {
  std::uint16_t arch = 0;    ///< 90 for sm_90
  char suffix = 0;           ///< 'a' where the old layout says so; else not told by the header
  bool old_layout = false;   ///< the flags of cubins before CUDA 13 (ABI version 7)
  bool relocatable = false;  ///< ET_REL
  std::uint64_t size = 0;    ///< bytes up to the end of its tables, as its header says
};

/// The header of a cubin, or nothing when these 64 bytes are none.
std::optional<CubinHeader> read_cubin_header(Bytes header);

struct CubinFacts {
  CubinHeader header;
  char suffix = 0;                   ///< 'a', 'f' or 0, from the notes; 0 is also "does not say"
  std::vector<std::string> kernels;  ///< mangled names, in the order of its symbol table
};

/// Header, suffix and kernels. Unreadable when a table lies outside the cubin.
CubinFacts read_cubin(Bytes cubin);

}  // namespace wheelvet
