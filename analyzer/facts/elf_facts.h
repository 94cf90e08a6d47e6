// What one ELF file says to the loader.
#pragma once

#include "facts/file_view.h"
#include "wheelvet/facts.h"

namespace wheelvet {

/// Reads header, program headers, dynamic section, symbol, hash, version and relocation tables and
/// notes; nothing else. Every offset, size and count is checked against the bytes at hand before it
/// is used. Unreadable names the field and its offset.
ElfFacts read_elf(const FileView& file);

/// The SysV hash (gABI, "Hash Table").
std::uint32_t sysv_hash(std::string_view name);

/// The GNU hash (DJB, times 33, seed 5381).
std::uint32_t gnu_hash(std::string_view name);

}  // namespace wheelvet
