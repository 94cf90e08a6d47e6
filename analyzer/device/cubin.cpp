#include "device/cubin.h"

#include <elf.h>

namespace wheelvet {
namespace {

constexpr const char* field = "cubin";
constexpr std::uint16_t machine_cuda = 190;  // EM_CUDA, gABI
constexpr std::uint8_t osabi_new = 0x41, osabi_old = 0x33;
constexpr std::uint32_t old_specific = 0x800;       // EF_CUDA_ACCELERATORS_V1, LLVM's ELF.h
constexpr std::uint8_t entry_function = 0x10;       // st_other: STO_CUDA_ENTRY
constexpr std::uint16_t most_sections = 0xff00;     // SHN_LORESERVE
constexpr std::size_t most_name_bytes = 16u << 20;  // of one cubin: names may overlap in a file

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Sections {
  Bytes cubin;
  std::vector<Elf64_Shdr> headers;
  Bytes names;

  Bytes bytes(const Elf64_Shdr& header) const {
    return slice(cubin, header.sh_offset, header.sh_size, field);
  }
  std::string_view name(const Elf64_Shdr& header) const {
    return string_at(names, header.sh_name, "cubin section name");
  }
};

Sections read_sections(Bytes cubin) {
  auto header = load<Elf64_Ehdr>(cubin, 0, field);
  Sections out{cubin, {}, {}};
  if (header.e_shnum == 0) return out;
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum >= most_sections ||
      header.e_shstrndx >= header.e_shnum) {
    throw Unreadable("cubin section table", header.e_shoff, "makes no sense");
  }
  Bytes table =
      slice(cubin, header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr), "cubin section table");
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    out.headers.push_back(load<Elf64_Shdr>(table, i * sizeof(Elf64_Shdr), field));
  }
  out.names = out.bytes(out.headers[header.e_shstrndx]);
  return out;
}

// .nv.compat is a list of records of four bytes (format, attribute, value) or, for the formats that
// carry one, with a payload behind; `02 09 01` is set on code for one architecture alone.
bool specific_by_compat(Bytes compat) {
  for (std::size_t at = 0; at + 4 <= compat.size(); at += 4) {
    if (compat[at] == 2 && compat[at + 1] == 9) return compat[at + 2] == 1;
    if (compat[at] == 4) {  // its size in the upper half
      at += (compat[at + 2] + std::size_t{compat[at + 3]} * 256 + 3) / 4 * 4;
    }
  }
  return false;
}

// The command line of ptxas, kept in a note: "... -arch sm_100f -m 64".
char suffix_by_note(std::string_view note) {
  std::size_t at = note.find("-arch sm_");
  if (at == std::string_view::npos) return 0;
  at = note.find_first_not_of("0123456789", at + 9);
  bool told = at != std::string_view::npos && (note[at] == 'a' || note[at] == 'f');
  return told ? note[at] : '\0';
}

void add_kernels(const Sections& sections, const Elf64_Shdr& table, std::vector<std::string>& out) {
  if (table.sh_link >= sections.headers.size()) {
    throw Unreadable("cubin symbol table", table.sh_offset, "names no string table");
  }
  Bytes symbols = sections.bytes(table);
  Bytes strings = sections.bytes(sections.headers[table.sh_link]);
  std::size_t name_bytes = 0;
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
    auto symbol = load<Elf64_Sym>(symbols, at, field);
    bool kernel = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && (symbol.st_other & entry_function) &&
                  symbol.st_shndx != SHN_UNDEF;
    if (!kernel) continue;
    std::string_view name = string_at(strings, symbol.st_name, "cubin symbol name");
    name_bytes += name.size() + sizeof symbol;
    if (name_bytes > most_name_bytes) {
      throw Unreadable("cubin symbol names", table.sh_offset, "are more than 16 MiB");
    }
    out.emplace_back(name);
  }
}

}  // namespace

std::optional<CubinHeader> read_cubin_header(Bytes bytes) {
  auto header = load<Elf64_Ehdr>(bytes, 0, field);
  std::uint8_t osabi = header.e_ident[EI_OSABI];
  bool cubin = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
               header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
               header.e_machine == machine_cuda && (osabi == osabi_new || osabi == osabi_old) &&
               (header.e_type == ET_EXEC || header.e_type == ET_REL);
  if (!cubin) return std::nullopt;
  CubinHeader out;
  out.old_layout = osabi == osabi_old;
  out.arch = out.old_layout ? header.e_flags & 0xff : (header.e_flags >> 8) & 0xff;
  if (out.old_layout && (header.e_flags & old_specific)) out.suffix = 'a';
  out.relocatable = header.e_type == ET_REL;
  // The tables of a cubin lie behind its contents. Two numbers of 16 bits cannot overflow 32.
  std::uint64_t sections = std::uint64_t{header.e_shnum} * header.e_shentsize;
  std::uint64_t segments = std::uint64_t{header.e_phnum} * header.e_phentsize;
  constexpr std::uint64_t far = std::uint64_t{1} << 62;
  if (header.e_shoff > far || header.e_phoff > far) return std::nullopt;
  out.size = std::max(
      {std::uint64_t{sizeof header}, header.e_shoff + sections, header.e_phoff + segments});
  return out;
}

CubinFacts read_cubin(Bytes cubin) {
  CubinFacts facts;
  std::optional<CubinHeader> header = read_cubin_header(cubin);
  if (!header) throw Unreadable(field, 0, "is no cubin");
  facts.header = *header;
  facts.suffix = header->suffix;
  Sections sections = read_sections(cubin);
  for (const Elf64_Shdr& section : sections.headers) {
    if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) continue;
    if (section.sh_type == SHT_SYMTAB) add_kernels(sections, section, facts.kernels);
    std::string_view name = sections.name(section);
    if (name == ".nv.compat" && specific_by_compat(sections.bytes(section))) facts.suffix = 'a';
    if (name == ".note.nv.tkinfo" && !facts.suffix) {
      facts.suffix = suffix_by_note(text_of(sections.bytes(section)));
    }
  }
  return facts;
}

}  // namespace wheelvet
