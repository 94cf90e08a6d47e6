// Where the loader's tables lie in an ELF file: header, program headers, dynamic section.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "facts/file_view.h"
#include "wheelvet/facts.h"

namespace wheelvet {

// Packed relative relocations (gABI); not in every elf.h.
inline constexpr std::int64_t dt_relrsz = 35, dt_relr = 36, dt_relrent = 37;

struct FileRange {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  std::uint64_t end() const { return offset + size; }
  bool operator==(const FileRange&) const = default;
};

struct ElfLayout {
  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> segments;
  std::uint64_t file_size = 0;
};

/// What the first bytes of a file say it is; FileKind::elf only for a 64-bit little-endian ELF that
/// could be loaded (x86-64 or aarch64, ET_DYN or ET_EXEC).
FileKind classify(Bytes first, std::uint64_t file_size);

/// The bytes at the front that `program_headers` needs: at most 64.
Elf64_Ehdr read_header(Bytes first);

/// The range of the program header table; checked to lie inside the file.
FileRange program_headers(const Elf64_Ehdr& header, std::uint64_t file_size);

/// Header and program headers. Unreadable when a PT_LOAD's bytes end after the file.
ElfLayout read_layout(const FileView& file);

/// File bytes at a virtual address, through the PT_LOADs as the loader maps them (never p_offset of
/// other segments); `size` is what is left of that segment's file bytes.
std::optional<FileRange> at_address(const ElfLayout& layout, std::uint64_t address);

/// The dynamic section: the last PT_DYNAMIC with a size, by its address (glibc elf/dl-load.c).
std::optional<FileRange> dynamic_range(const ElfLayout& layout);

/// Dynamic entries up to DT_NULL.
std::vector<Elf64_Dyn> read_dynamic(Bytes bytes);

/// One dynamic tag's value; of duplicates the last wins (glibc elf_get_dynamic_info).
std::optional<std::uint64_t> dynamic_value(const std::vector<Elf64_Dyn>& dynamic, std::int64_t tag);

/// The ranges that hold the loader's tables. Where a table's size is not stated in the dynamic
/// section the range ends where the next one starts, or with its segment.
std::vector<FileRange> table_ranges(const ElfLayout& layout, const std::vector<Elf64_Dyn>& dynamic);

}  // namespace wheelvet
