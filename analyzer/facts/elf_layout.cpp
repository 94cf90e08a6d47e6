#include "facts/elf_layout.h"

#include <fmt/format.h>

#include <array>

namespace wheelvet {
namespace {

// An only-keep-debug file has the program headers of its original but none of the bytes.
constexpr std::uint64_t max_note_bytes = 8u << 20;
// Linkers make four to seven; every one is compared with all others.
constexpr std::size_t max_loads = 256;

bool starts_with(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() &&
         std::equal(text.begin(), text.end(), bytes.begin(),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

bool looks_like_text(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t b) {
    return b == '\n' || b == '\r' || b == '\t' || (b >= 0x20 && b != 0x7f);
  });
}

FileKind classify_text(Bytes first) {
  std::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
  std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos) text.remove_prefix(start);
  if (text.starts_with("version https://git-lfs")) return FileKind::git_lfs_pointer;
  if (text.starts_with("<!DOCTYPE") || text.starts_with("<!doctype") || text.starts_with("<html") ||
      text.starts_with("<HTML")) {
    return FileKind::html_page;
  }
  for (std::string_view word : {"/* GNU ld script", "INPUT", "GROUP", "OUTPUT_FORMAT"}) {
    if (text.starts_with(word)) return FileKind::linker_script;
  }
  return FileKind::text;
}

FileKind classify_elf(Bytes first) {
  if (first.size() <= EI_DATA) return FileKind::unknown;
  if (first[EI_CLASS] == ELFCLASS32) return FileKind::other_class;
  if (first[EI_DATA] == ELFDATA2MSB) return FileKind::other_endian;
  if (first.size() < sizeof(Elf64_Ehdr)) return FileKind::elf;  // the reader says what is cut off
  auto header = load<Elf64_Ehdr>(first, 0, "ELF header");
  if (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64) {
    return FileKind::other_machine;
  }
  if (header.e_type == ET_REL) return FileKind::object_file;
  return FileKind::elf;
}

}  // namespace

FileKind classify(Bytes first, std::uint64_t file_size) {
  if (file_size == 0) return FileKind::empty;
  if (starts_with(first, ELFMAG)) return classify_elf(first);
  if (starts_with(first, "!<arch>\n") || starts_with(first, "!<thin>\n")) {
    return FileKind::static_archive;
  }
  static constexpr std::array mach_o = {"\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe",
                                        "\xfe\xed\xfa\xcf", "\xfe\xed\xfa\xce"};
  for (const char* magic : mach_o) {
    if (starts_with(first, magic)) return FileKind::mach_o;
  }
  if (starts_with(first, "MZ")) return FileKind::windows;
  if (looks_like_text(first)) return classify_text(first);
  return FileKind::unknown;
}

Elf64_Ehdr read_header(Bytes first) { return load<Elf64_Ehdr>(first, 0, "ELF header"); }

FileRange program_headers(const Elf64_Ehdr& header, std::uint64_t file_size) {
  if (header.e_phnum != 0 && header.e_phentsize != sizeof(Elf64_Phdr)) {
    throw Unreadable("e_phentsize", offsetof(Elf64_Ehdr, e_phentsize), "is not 56");
  }
  FileRange range{header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)};
  if (!fits(range.offset, range.size, file_size)) {
    throw Unreadable("e_phoff", offsetof(Elf64_Ehdr, e_phoff),
                     "program headers end after the file");
  }
  return range;
}

ElfLayout read_layout(const FileView& file) {
  ElfLayout layout;
  layout.file_size = file.size;
  if (file.size < sizeof(Elf64_Ehdr)) {
    throw Unreadable("ELF header", 0, "file ends inside the ELF header");
  }
  layout.header = read_header(file.bytes(0, sizeof(Elf64_Ehdr)));
  FileRange range = program_headers(layout.header, file.size);
  Bytes bytes = file.bytes(range.offset, range.size);
  std::size_t loads = 0;
  for (std::uint64_t at = 0; at < range.size; at += sizeof(Elf64_Phdr)) {
    layout.segments.push_back(load<Elf64_Phdr>(bytes, at, "program header"));
    const Elf64_Phdr& segment = layout.segments.back();
    if (segment.p_type == PT_LOAD && !fits(segment.p_offset, segment.p_filesz, file.size)) {
      throw Unreadable("PT_LOAD", range.offset + at,
                       "segment ends after the file: truncated or damaged");
    }
    loads += segment.p_type == PT_LOAD;
    if (loads > max_loads) {
      throw Unreadable("PT_LOAD", range.offset + at,
                       fmt::format("more than {} of them", max_loads));
    }
  }
  return layout;
}

std::optional<FileRange> at_address(const ElfLayout& layout, std::uint64_t address) {
  std::optional<FileRange> found;
  for (const Elf64_Phdr& segment : layout.segments) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    std::uint64_t inside = address - segment.p_vaddr;
    // A later PT_LOAD is mapped over an earlier one (MAP_FIXED), so the last match stands.
    if (inside < segment.p_filesz) {
      found = FileRange{segment.p_offset + inside, segment.p_filesz - inside};
    }
  }
  return found;
}

std::optional<FileRange> dynamic_range(const ElfLayout& layout) {
  const Elf64_Phdr* dynamic = nullptr;
  for (const Elf64_Phdr& segment : layout.segments) {
    if (segment.p_type == PT_DYNAMIC && segment.p_filesz != 0) dynamic = &segment;
  }
  if (!dynamic) return std::nullopt;
  std::optional<FileRange> range = at_address(layout, dynamic->p_vaddr);
  if (!range) {
    throw Unreadable("PT_DYNAMIC", dynamic->p_offset, "its address lies in no PT_LOAD");
  }
  range->size = std::min(range->size, std::max(dynamic->p_filesz, dynamic->p_memsz));
  return range;
}

std::vector<Elf64_Dyn> read_dynamic(Bytes bytes) {
  std::vector<Elf64_Dyn> entries;
  for (std::uint64_t at = 0; fits(at, sizeof(Elf64_Dyn), bytes.size()); at += sizeof(Elf64_Dyn)) {
    auto entry = load<Elf64_Dyn>(bytes, at, "dynamic entry");
    if (entry.d_tag == DT_NULL) return entries;
    entries.push_back(entry);
  }
  throw Unreadable("dynamic section", std::nullopt, "has no DT_NULL at its end");
}

std::optional<std::uint64_t> dynamic_value(const std::vector<Elf64_Dyn>& dynamic,
                                           std::int64_t tag) {
  std::optional<std::uint64_t> value;
  for (const Elf64_Dyn& entry : dynamic) {
    if (entry.d_tag == tag) value = entry.d_un.d_val;
  }
  return value;
}

std::vector<FileRange> table_ranges(const ElfLayout& layout,
                                    const std::vector<Elf64_Dyn>& dynamic) {
  struct Table {
    std::int64_t address_tag;
    std::int64_t size_tag;  // 0: not stated
  };
  static constexpr std::array<Table, 10> tables = {{{DT_STRTAB, DT_STRSZ},
                                                    {DT_SYMTAB, 0},
                                                    {DT_GNU_HASH, 0},
                                                    {DT_HASH, 0},
                                                    {DT_VERSYM, 0},
                                                    {DT_VERNEED, 0},
                                                    {DT_VERDEF, 0},
                                                    {DT_RELA, DT_RELASZ},
                                                    {dt_relr, dt_relrsz},
                                                    {DT_JMPREL, DT_PLTRELSZ}}};
  std::vector<FileRange> ranges;
  for (const Elf64_Phdr& segment : layout.segments) {
    if (segment.p_type == PT_NOTE && fits(segment.p_offset, segment.p_filesz, layout.file_size) &&
        segment.p_filesz <= max_note_bytes) {
      ranges.push_back({segment.p_offset, segment.p_filesz});
    }
  }
  std::vector<FileRange> open_ended;
  for (const Table& table : tables) {
    std::optional<std::uint64_t> address = dynamic_value(dynamic, table.address_tag);
    std::optional<FileRange> range = address ? at_address(layout, *address) : std::nullopt;
    if (!range) continue;
    if (table.size_tag == 0) {
      open_ended.push_back(*range);
    } else if (auto size = dynamic_value(dynamic, table.size_tag)) {
      ranges.push_back({range->offset, std::min(range->size, *size)});
    }
  }
  // A table without a stated size ends at the latest where another one starts.
  for (FileRange range : open_ended) {
    for (const auto* others : {&ranges, &open_ended}) {
      for (const FileRange& other : *others) {
        if (other.offset > range.offset && other.offset < range.end()) {
          range.size = other.offset - range.offset;
        }
      }
    }
    ranges.push_back(range);
  }
  return ranges;
}

}  // namespace wheelvet
