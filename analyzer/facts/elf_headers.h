// Headers in words, decoded by LIEF from a slice that was rebuilt from checked facts: LIEF never
// sees the bytes of a file that nobody vetted.
#pragma once

#include <string>
#include <vector>

#include "wheelvet/facts.h"

namespace wheelvet {

/// "PT_LOAD  R-X  offset ... size ..." lines for segments, dynamic entries, notes and version
/// tables.
std::vector<std::string> header_lines(const ElfFacts& facts);

/// The same tables as LIEF decodes them, for comparison with our own reader in tests.
struct DecodedTables {
  std::string soname;
  std::vector<std::string> needed;
  std::string rpath, runpath;
  std::size_t symbols = 0;                    ///< dynamic symbols LIEF counts
  std::vector<std::string> needed_versions;   ///< "libc.so.6 GLIBC_2.2.5"
  std::vector<std::string> defined_versions;  ///< without the base definition
  std::string build_id;
};
DecodedTables decode_slice(const std::vector<std::uint8_t>& slice);

}  // namespace wheelvet
