#include "facts/elf_stub.h"

#include <algorithm>
#include <cstring>

#include "device/device_note.h"
#include "facts/slice.h"

namespace wheelvet {
namespace {

constexpr std::uint32_t note_version = 1;

template <class T>
void put(std::vector<std::uint8_t>& out, const T& value) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

void put(std::vector<std::uint8_t>& out, const std::vector<std::uint8_t>& bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void pad(std::vector<std::uint8_t>& out, std::size_t alignment) {
  out.resize((out.size() + alignment - 1) / alignment * alignment);
}

// The offset of a string in the table; a string that is not there yet is appended.
std::uint32_t intern(std::vector<std::uint8_t>& strings, std::string_view text) {
  if (text.empty()) {
    auto nul = std::find(strings.begin(), strings.end(), std::uint8_t{0});
    return static_cast<std::uint32_t>(nul - strings.begin());
  }
  std::string_view all(reinterpret_cast<const char*>(strings.data()), strings.size());
  for (std::size_t at = all.find(text); at != std::string_view::npos; at = all.find(text, at + 1)) {
    if (at + text.size() < all.size() && all[at + text.size()] == '\0') {
      return static_cast<std::uint32_t>(at);
    }
  }
  auto at = static_cast<std::uint32_t>(strings.size());
  strings.insert(strings.end(), text.begin(), text.end());
  strings.push_back(0);
  return at;
}

std::vector<std::uint8_t> version_needs(const ElfFacts& facts, std::vector<std::uint8_t>& strings) {
  std::vector<std::uint8_t> out;
  for (std::size_t i = 0; i < facts.version_needs.size(); ++i) {
    const VersionNeed& need = facts.version_needs[i];
    auto count = static_cast<std::uint32_t>(need.versions.size());
    Elf64_Verneed record{};
    record.vn_version = VER_NEED_CURRENT;
    record.vn_cnt = static_cast<std::uint16_t>(count);
    record.vn_file = intern(strings, need.file);
    record.vn_aux = sizeof record;
    bool last = i + 1 == facts.version_needs.size();
    auto span = static_cast<std::uint32_t>(sizeof record + count * sizeof(Elf64_Vernaux));
    record.vn_next = last ? 0 : span;
    put(out, record);
    for (std::uint32_t k = 0; k < count; ++k) {
      const NeededVersion& version = need.versions[k];
      Elf64_Vernaux aux{};
      aux.vna_hash = version.hash;
      aux.vna_flags = version.weak ? VER_FLG_WEAK : 0;
      aux.vna_other = version.index;
      aux.vna_name = intern(strings, version.name);
      aux.vna_next = k + 1 == count ? 0 : static_cast<std::uint32_t>(sizeof aux);
      put(out, aux);
    }
  }
  return out;
}

std::vector<std::uint8_t> version_definitions(const ElfFacts& facts,
                                              std::vector<std::uint8_t>& strings) {
  std::vector<std::uint8_t> out;
  for (std::size_t i = 0; i < facts.version_definitions.size(); ++i) {
    const VersionDefinition& definition = facts.version_definitions[i];
    Elf64_Verdef record{};
    record.vd_version = VER_DEF_CURRENT;
    record.vd_flags = definition.base ? VER_FLG_BASE : 0;
    record.vd_ndx = definition.index;
    record.vd_cnt = 1;
    record.vd_hash = definition.hash;
    record.vd_aux = sizeof record;
    bool last = i + 1 == facts.version_definitions.size();
    record.vd_next = last ? 0 : static_cast<std::uint32_t>(sizeof record + sizeof(Elf64_Verdaux));
    put(out, record);
    Elf64_Verdaux aux{};
    aux.vda_name = intern(strings, definition.name);
    put(out, aux);
  }
  return out;
}

void put_note(std::vector<std::uint8_t>& out, std::string_view name, std::uint32_t type,
              Bytes desc) {
  Elf64_Nhdr header{};
  header.n_namesz = static_cast<std::uint32_t>(name.size() + 1);
  header.n_descsz = static_cast<std::uint32_t>(desc.size());
  header.n_type = type;
  put(out, header);
  out.insert(out.end(), name.begin(), name.end());
  out.push_back(0);
  pad(out, 4);
  out.insert(out.end(), desc.begin(), desc.end());
  pad(out, 4);
}

std::vector<std::uint8_t> notes(const ElfFacts& facts, const std::vector<Elf64_Phdr>& segments) {
  std::vector<std::uint8_t> out;
  std::vector<std::uint8_t> id;
  for (std::size_t i = 0; i + 1 < facts.build_id.size(); i += 2) {
    id.push_back(static_cast<std::uint8_t>(std::stoi(facts.build_id.substr(i, 2), nullptr, 16)));
  }
  if (!id.empty()) put_note(out, "GNU", NT_GNU_BUILD_ID, id);
  if (facts.isa_needed != 0) {
    std::vector<std::uint8_t> property;
    constexpr std::uint32_t type = 0xc0008002, size = 4, padding = 0;
    for (std::uint32_t word : {type, size, facts.isa_needed, padding}) put(property, word);
    put_note(out, "GNU", NT_GNU_PROPERTY_TYPE_0, property);
  }
  for (const std::string& text : facts.dlopen_notes) {
    put_note(out, "FDO", 0x407c0c0a,
             Bytes(reinterpret_cast<const std::uint8_t*>(text.c_str()), text.size() + 1));
  }
  if (!facts.device_note.empty()) {
    put_note(out, stub_note_name, device_note_type, facts.device_note);
  }
  if (!facts.rejection.empty()) {
    const auto* text = reinterpret_cast<const std::uint8_t*>(facts.rejection.data());
    put_note(out, stub_note_name, rejection_note_type, Bytes(text, facts.rejection.size()));
  }
  put_note(out, stub_note_name, stub_note_type,
           write_stub_note({facts.file_size, segments, facts.symbols.relocations}));
  return out;
}

struct Section {
  const char* name;
  std::uint32_t type;
  std::uint64_t offset, size;
  std::uint32_t link;  // section index of the string or symbol table
  std::uint32_t info;
  std::uint64_t entry_size;
};

// The file under construction: bytes, the dynamic entries that point into them, and the section
// headers that let readelf and nm read the slice.
struct Slice {
  std::vector<std::uint8_t> bytes;
  std::vector<Elf64_Dyn> dynamic;
  std::vector<Section> sections = {{"", SHT_NULL, 0, 0, 0, 0, 0}};

  void entry(std::int64_t tag, std::uint64_t value) {
    Elf64_Dyn dyn{};
    dyn.d_tag = tag;
    dyn.d_un.d_val = value;
    dynamic.push_back(dyn);
  }

  // Appends one table; addresses equal offsets in a slice. Returns its offset.
  std::uint64_t table(std::int64_t tag, const std::vector<std::uint8_t>& data, Section section) {
    pad(bytes, 8);
    std::uint64_t offset = bytes.size();
    put(bytes, data);
    if (tag != DT_NULL) entry(tag, offset);
    section.offset = offset;
    section.size = data.size();
    sections.push_back(section);
    return offset;
  }
};

void add_tables(Slice& out, const ElfFacts& facts, std::vector<std::uint8_t> strings) {
  const SymbolTable& symbols = facts.symbols;
  constexpr std::uint32_t string_section = 1, symbol_section = 2;
  std::vector<std::uint8_t> needs = version_needs(facts, strings);
  std::vector<std::uint8_t> definitions = version_definitions(facts, strings);
  for (const std::string& name : facts.needed) out.entry(DT_NEEDED, intern(strings, name));
  for (const std::string& name : facts.filters) out.entry(DT_FILTER, intern(strings, name));
  for (const std::string& name : facts.auxiliaries) {
    out.entry(DT_AUXILIARY, intern(strings, name));
  }
  if (!facts.soname.empty()) out.entry(DT_SONAME, intern(strings, facts.soname));
  if (facts.rpath) out.entry(DT_RPATH, intern(strings, *facts.rpath));
  if (facts.runpath) out.entry(DT_RUNPATH, intern(strings, *facts.runpath));
  if (facts.symbolic && !(facts.flags & DF_SYMBOLIC)) out.entry(DT_SYMBOLIC, 0);
  constexpr std::int64_t relr = 36, relr_size = 35;  // DT_RELR, DT_RELRSZ
  if (facts.packed_relative) {
    out.entry(relr, 0);
    out.entry(relr_size, 0);
  }
  if (facts.text_relocations && !(facts.flags & DF_TEXTREL)) out.entry(DT_TEXTREL, 0);
  if (facts.flags) out.entry(DT_FLAGS, facts.flags);
  if (facts.flags_1) out.entry(DT_FLAGS_1, facts.flags_1);
  out.table(DT_STRTAB, strings, {".dynstr", SHT_STRTAB, 0, 0, 0, 0, 0});
  out.entry(DT_STRSZ, strings.size());
  if (symbols.count != 0) {
    out.table(DT_SYMTAB, symbols.symbols,
              {".dynsym", SHT_DYNSYM, 0, 0, string_section, 1, sizeof(Elf64_Sym)});
    out.entry(DT_SYMENT, sizeof(Elf64_Sym));
    if (!symbols.gnu_hash.empty()) {
      out.table(DT_GNU_HASH, symbols.gnu_hash,
                {".gnu.hash", SHT_GNU_HASH, 0, 0, symbol_section, 0, 0});
    }
    if (!symbols.sysv_hash.empty()) {
      out.table(DT_HASH, symbols.sysv_hash, {".hash", SHT_HASH, 0, 0, symbol_section, 0, 4});
    }
    if (!symbols.versions.empty()) {
      out.table(DT_VERSYM, symbols.versions,
                {".gnu.version", SHT_GNU_versym, 0, 0, symbol_section, 0, 2});
    }
  }
  if (!needs.empty()) {
    out.table(DT_VERNEED, needs,
              {".gnu.version_r", SHT_GNU_verneed, 0, 0, string_section,
               static_cast<std::uint32_t>(facts.version_needs.size()), 0});
    out.entry(DT_VERNEEDNUM, facts.version_needs.size());
  }
  if (!definitions.empty()) {
    out.table(DT_VERDEF, definitions,
              {".gnu.version_d", SHT_GNU_verdef, 0, 0, string_section,
               static_cast<std::uint32_t>(facts.version_definitions.size()), 0});
    out.entry(DT_VERDEFNUM, facts.version_definitions.size());
  }
}

// Section names and headers, at the end of the file. Returns the offset of the header table.
std::uint64_t add_section_headers(Slice& out) {
  std::vector<std::uint8_t> names;
  std::vector<std::uint32_t> name_at;
  out.sections.push_back({".shstrtab", SHT_STRTAB, 0, 0, 0, 0, 0});
  for (const Section& section : out.sections) {
    name_at.push_back(static_cast<std::uint32_t>(names.size()));
    names.insert(names.end(), section.name, section.name + std::strlen(section.name) + 1);
  }
  out.sections.back().offset = out.bytes.size();
  out.sections.back().size = names.size();
  put(out.bytes, names);
  pad(out.bytes, 8);
  std::uint64_t table = out.bytes.size();
  for (std::size_t i = 0; i < out.sections.size(); ++i) {
    const Section& section = out.sections[i];
    Elf64_Shdr header{};
    header.sh_name = name_at[i];
    header.sh_type = section.type;
    header.sh_offset = section.offset;
    header.sh_size = section.size;
    header.sh_link = section.link;
    header.sh_info = section.info;
    header.sh_entsize = section.entry_size;
    header.sh_addralign = section.type == SHT_NULL ? 0 : 1;
    bool mapped = section.type != SHT_NULL && i + 1 != out.sections.size();
    header.sh_addr = mapped ? section.offset : 0;
    header.sh_flags = mapped ? SHF_ALLOC : 0;
    put(out.bytes, header);
  }
  return table;
}

Elf64_Phdr program_header(std::uint32_t type, std::uint32_t flags, std::uint64_t offset,
                          std::uint64_t size, std::uint64_t alignment) {
  Elf64_Phdr header{};
  header.p_type = type;
  header.p_flags = flags;
  header.p_offset = header.p_vaddr = header.p_paddr = offset;
  header.p_filesz = header.p_memsz = size;
  header.p_align = alignment;
  return header;
}

}  // namespace

std::vector<std::uint8_t> write_stub_note(const StubNote& note) {
  std::vector<std::uint8_t> out;
  put(out, note_version);
  put(out, static_cast<std::uint32_t>(note.segments.size()));
  put(out, note.original_size);
  for (const Elf64_Phdr& segment : note.segments) put(out, segment);
  put(out, note.relocations);
  return out;
}

StubNote read_stub_note(Bytes desc) {
  constexpr const char* field = "stub note";
  if (load<std::uint32_t>(desc, 0, field) != note_version) {
    throw Unreadable(field, std::nullopt, "was written by another version of this program");
  }
  StubNote note;
  std::uint64_t segments = load<std::uint32_t>(desc, 4, field);
  note.original_size = load<std::uint64_t>(desc, 8, field);
  Bytes table = slice(desc, 16, segments * sizeof(Elf64_Phdr), field);
  for (std::uint64_t at = 0; at < table.size(); at += sizeof(Elf64_Phdr)) {
    note.segments.push_back(load<Elf64_Phdr>(table, at, field));
  }
  Bytes rest = desc.subspan(16 + table.size());
  note.relocations.assign(rest.begin(), rest.end());
  return note;
}

std::vector<std::uint8_t> write_slice(const ElfFacts& facts) {
  std::vector<Elf64_Phdr> segments(facts.program_headers.size() / sizeof(Elf64_Phdr));
  if (!segments.empty()) {
    std::memcpy(segments.data(), facts.program_headers.data(),
                segments.size() * sizeof(Elf64_Phdr));
  }
  std::vector<Elf64_Phdr> headers(3);
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_GNU_STACK) {
      headers.push_back(program_header(PT_GNU_STACK, segment.p_flags, 0, 0, segment.p_align));
    }
  }
  Slice out;
  out.bytes.resize(sizeof(Elf64_Ehdr) + headers.size() * sizeof(Elf64_Phdr));
  add_tables(out, facts, facts.symbols.strings);
  std::vector<std::uint8_t> note = notes(facts, segments);
  std::uint64_t note_at = out.table(DT_NULL, note, {".note", SHT_NOTE, 0, 0, 0, 0, 0});
  out.entry(DT_NULL, 0);
  std::vector<std::uint8_t> dynamic;
  for (const Elf64_Dyn& entry : out.dynamic) put(dynamic, entry);
  std::uint64_t dynamic_at =
      out.table(DT_NULL, dynamic, {".dynamic", SHT_DYNAMIC, 0, 0, 1, 0, sizeof(Elf64_Dyn)});
  std::uint64_t mapped = out.bytes.size();
  std::uint64_t sections_at = add_section_headers(out);
  headers[0] = program_header(PT_LOAD, PF_R | PF_W, 0, mapped, 0x1000);
  headers[1] = program_header(PT_DYNAMIC, PF_R | PF_W, dynamic_at, dynamic.size(), 8);
  headers[2] = program_header(PT_NOTE, PF_R, note_at, note.size(), 4);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ident[EI_OSABI] = facts.osabi;
  header.e_ident[EI_ABIVERSION] = facts.abi_version;
  header.e_type = facts.type;
  header.e_machine = facts.machine;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_shoff = sections_at;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = static_cast<std::uint16_t>(headers.size());
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<std::uint16_t>(out.sections.size());
  header.e_shstrndx = static_cast<std::uint16_t>(out.sections.size() - 1);
  std::memcpy(out.bytes.data(), &header, sizeof header);
  std::memcpy(out.bytes.data() + sizeof header, headers.data(),
              headers.size() * sizeof(Elf64_Phdr));
  return out.bytes;
}

}  // namespace wheelvet
