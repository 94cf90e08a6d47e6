#include "facts/elf_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/device_note.h"
#include "facts/elf_layout.h"
#include "facts/elf_rejection.h"
#include "facts/elf_stub.h"
#include "facts/own_names.h"

namespace wheelvet {
namespace {

// More versions than an index can name (15 bits) are no file a linker made.
constexpr std::size_t max_versions = 1u << 15;
constexpr std::uint64_t relocations_per_read = 1u << 16;
// Entries may share one long name, and note segments the same bytes: copying them would multiply a
// small file into gigabytes. Linux takes no path longer than 4096 bytes; a list of folders may be
// longer.
constexpr std::size_t max_name = 4096, max_path_list = 1u << 20;
constexpr std::size_t max_names = 16u << 20;
// A sparse file costs nothing and may claim a table of a terabyte; the largest dynamic string
// tables of real libraries have tens of megabytes.
constexpr std::uint64_t max_table = 256u << 20;
// A lookup walks a chain, a search tries each folder for each need, and every need is compared with
// those before: what linkers make is far below, and a few megabytes could ask for hours.
constexpr std::size_t max_chain = 4096, max_needs = 4096, max_searches = 1u << 16;

struct Reader {
  const FileView& file;
  ElfLayout layout;
  std::vector<Elf64_Dyn> dynamic;
  std::vector<FileRange> tables;

  std::optional<std::uint64_t> value(std::int64_t tag) const { return dynamic_value(dynamic, tag); }

  // Where a table starts, and how many bytes of its segment are left. Unreadable when the address
  // is outside every segment.
  std::optional<FileRange> table(std::int64_t tag, std::string_view field) const {
    std::optional<std::uint64_t> address = value(tag);
    if (!address) return std::nullopt;
    std::optional<FileRange> range = at_address(layout, *address);
    if (!range) {
      throw Unreadable(field, std::nullopt,
                       fmt::format("address {:#x} lies in no PT_LOAD", *address));
    }
    return range;
  }

  std::vector<std::uint8_t> copy(const FileRange& from, std::uint64_t size,
                                 std::string_view field) const {
    if (size > from.size) throw Unreadable(field, from.offset, "ends after its segment");
    if (size > max_table) {
      throw Unreadable(field, from.offset, fmt::format("{} bytes, more than {}", size, max_table));
    }
    Bytes bytes = file.bytes(from.offset, size);
    return {bytes.begin(), bytes.end()};
  }

  // How many bytes from a table's start are sure to be its own: up to the next table.
  std::uint64_t undisputed(const FileRange& from) const {
    std::uint64_t size = from.size;
    for (const FileRange& range : tables) {
      if (range.offset == from.offset) size = std::min(size, range.size);
    }
    return size;
  }
};

// The records of a version table. Its size is stated nowhere: the bytes up to the next table are
// read at once, and a record that lies elsewhere is read by itself.
struct VersionTable {
  const Reader& in;
  FileRange range;
  std::string_view field;
  std::vector<std::uint8_t> window;

  VersionTable(const Reader& reader, const FileRange& table, std::string_view name)
      : in(reader), range(table), field(name) {
    constexpr std::uint64_t usual = 1u << 20;
    window = in.copy(range, std::min(in.undisputed(range), usual), field);
  }

  template <class Record>
  Record at(std::uint64_t offset) const {
    if (fits(offset, sizeof(Record), window.size())) return load<Record>(window, offset, field);
    if (!fits(offset, sizeof(Record), range.size)) {
      throw Unreadable(field, range.offset + offset, "record ends after its segment");
    }
    return load<Record>(in.file.bytes(range.offset + offset, sizeof(Record)), 0, field);
  }
};

std::uint8_t relocation_use(std::uint16_t machine, std::uint32_t type) {
  if (machine == EM_X86_64) {
    switch (type) {
      case R_X86_64_JUMP_SLOT:
        return used_by_plt;
      case R_X86_64_COPY:
        return used_by_copy;
      case R_X86_64_DTPMOD64:
      case R_X86_64_DTPOFF64:
      case R_X86_64_TLSDESC:
        return used_by_tls;
      case R_X86_64_TPOFF64:
        return used_by_tls | used_by_static_tls;
      case R_X86_64_NONE:
      case R_X86_64_RELATIVE:
      case R_X86_64_RELATIVE64:
      case R_X86_64_IRELATIVE:
        return used_by_none;
      default:
        return used_by_data;
    }
  }
  switch (type) {
    case R_AARCH64_JUMP_SLOT:
      return used_by_plt;
    case R_AARCH64_COPY:
      return used_by_copy;
    case R_AARCH64_TLS_DTPMOD:
    case R_AARCH64_TLS_DTPREL:
    case R_AARCH64_TLSDESC:
      return used_by_tls;
    case R_AARCH64_TLS_TPREL:
      return used_by_tls | used_by_static_tls;
    case R_AARCH64_NONE:
    case R_AARCH64_RELATIVE:
    case R_AARCH64_IRELATIVE:
      return used_by_none;
    default:
      return used_by_data;
  }
}

void note_use(std::vector<std::uint8_t>& uses, std::uint64_t limit, std::uint32_t index,
              std::uint8_t use, std::uint64_t offset) {
  // Symbol 0 stands for the module itself; only whether it needs static TLS is kept of it.
  if (index == 0) use &= used_by_static_tls;
  if (index != 0 && index >= limit) {
    throw Unreadable(
        "relocation", offset,
        fmt::format("names symbol {}, but at most {} fit in the table's segment", index, limit));
  }
  if (use == used_by_none) return;
  if (index >= uses.size()) uses.resize(index + 1);
  uses[index] = static_cast<std::uint8_t>(uses[index] | use);
}

// Where relocations may write, and the first reason why the loader cannot do one of them.
struct Targets {
  Pages pages;
  bool text;  // it makes read-only segments writable for them
  std::uint64_t dynamic_begin = 0, dynamic_size;

  explicit Targets(const Reader& in)
      : pages(in.layout.segments),
        text(in.value(DT_TEXTREL).has_value() || (in.value(DT_FLAGS).value_or(0) & DF_TEXTREL)),
        dynamic_size((in.dynamic.size() + 1) * sizeof(Elf64_Dyn)) {
    for (const Elf64_Phdr& segment : in.layout.segments) {
      if (segment.p_type == PT_DYNAMIC && segment.p_filesz != 0) dynamic_begin = segment.p_vaddr;
    }
  }

  // Unreadable when it writes outside the object, over whatever lies there, or over what the loader
  // goes by.
  std::string rejection_of(std::uint16_t machine, std::uint32_t type, std::uint64_t target,
                           std::uint64_t offset) const {
    if (!is_known_relocation(machine, type)) {
      return fmt::format("unexpected reloc type {:#04x}", type);
    }
    if (type == 0) return {};  // R_X86_64_NONE, R_AARCH64_NONE
    std::optional<std::uint32_t> first = pages.flags_at(target), last = pages.flags_at(target + 7);
    if (!first || !last) {
      throw Unreadable("r_offset", offset, fmt::format("{:#x} lies in no PT_LOAD", target));
    }
    if (target - dynamic_begin < dynamic_size || target + 7 - dynamic_begin < dynamic_size) {
      throw Unreadable("r_offset", offset,
                       fmt::format("{:#x} lies in the dynamic section", target));
    }
    if (text || (*first & *last & PF_W)) return {};
    return fmt::format("a relocation writes to {:#x}, which may not be written", target);
  }

  // elf_machine_rela_relative of glibc's dl-machine.h asserts it.
  std::string rejection_of_relative(std::uint16_t machine, std::uint32_t type) const {
    bool relative = machine == EM_X86_64 ? type == R_X86_64_RELATIVE || type == R_X86_64_RELATIVE64
                                         : type == R_AARCH64_RELATIVE;
    if (relative) return {};
    return fmt::format("DT_RELACOUNT counts a relocation of type {:#x} as a relative one", type);
  }

  // The loader calls what these name in the middle of its work.
  std::string rejection_of_resolver(std::uint16_t machine, std::uint32_t type,
                                    std::uint64_t resolver) const {
    if (type != (machine == EM_X86_64 ? R_X86_64_IRELATIVE : R_AARCH64_IRELATIVE)) return {};
    if (pages.flags_at(resolver).value_or(0) & PF_X) return {};
    return fmt::format("an IRELATIVE relocation calls {:#x}, where no code is", resolver);
  }
};

// How many entries at the front of a table are said to be R_*_RELATIVE: of DT_RELA alone.
std::uint64_t relative_at_front(const Reader& in, const FileRange& table) {
  std::optional<FileRange> rela =
      in.value(DT_RELA) ? at_address(in.layout, *in.value(DT_RELA)) : std::nullopt;
  bool is_rela = rela && rela->offset == table.offset;
  return is_rela ? in.value(DT_RELACOUNT).value_or(0) : 0;
}

// One relocation table, in pieces, so that nothing of its size is ever allocated.
void read_relocation_table(const Reader& in, const FileRange& table, std::uint64_t count,
                           std::uint64_t symbol_limit, std::vector<std::uint8_t>& uses,
                           std::string& rejection) {
  Targets targets(in);
  std::uint64_t relative = relative_at_front(in, table);
  if (relative > count) {
    throw Unreadable("DT_RELACOUNT", std::nullopt, "is larger than the table");
  }
  for (std::uint64_t first = 0; first < count; first += relocations_per_read) {
    std::uint64_t n = std::min(relocations_per_read, count - first);
    std::uint64_t offset = table.offset + first * sizeof(Elf64_Rela);
    Bytes bytes = in.file.bytes(offset, n * sizeof(Elf64_Rela));
    for (std::uint64_t i = 0; i < n; ++i) {
      auto entry = load<Elf64_Rela>(bytes, i * sizeof(Elf64_Rela), "relocation");
      auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(entry.r_info));
      auto symbol = static_cast<std::uint32_t>(ELF64_R_SYM(entry.r_info));
      note_use(uses, symbol_limit, symbol, relocation_use(in.layout.header.e_machine, type),
               offset + i * sizeof(Elf64_Rela));
      std::string reason = targets.rejection_of(in.layout.header.e_machine, type, entry.r_offset,
                                                offset + i * sizeof(Elf64_Rela));
      if (reason.empty() && first + i < relative) {
        reason = targets.rejection_of_relative(in.layout.header.e_machine, type);
      }
      if (reason.empty()) {
        reason = targets.rejection_of_resolver(in.layout.header.e_machine, type,
                                               static_cast<std::uint64_t>(entry.r_addend));
      }
      if (rejection.empty()) rejection = std::move(reason);
    }
  }
}

// A RelocationUse set per symbol, as long as the highest index referred to. DT_RELR holds no
// symbols.
std::vector<std::uint8_t> read_relocations(const Reader& in, std::uint64_t symbol_limit,
                                           std::string& rejection) {
  struct Table {
    std::int64_t asked, address, size;
    const char* name;
  };
  // The loader knows no DT_REL on these machines (ELF_MACHINE_NO_REL of glibc's dl-machine.h), and
  // asks for DT_PLTREL before it looks at DT_JMPREL (elf/dynamic-link.h).
  const Table tables[] = {{DT_RELA, DT_RELA, DT_RELASZ, "DT_RELA"},
                          {DT_PLTREL, DT_JMPREL, DT_PLTRELSZ, "DT_JMPREL"}};
  std::vector<std::uint8_t> uses;
  for (const Table& table : tables) {
    std::uint64_t size = in.value(table.size).value_or(0);
    if (size == 0 || !in.value(table.asked)) continue;
    std::optional<FileRange> range = in.table(table.address, table.name);
    if (!range) continue;
    if (range->offset == 0) throw Unreadable(table.name, 0, "lies over the ELF header");
    // An entry that is begun is done in full (elf/do-rel.h).
    std::uint64_t count = size / sizeof(Elf64_Rela) + (size % sizeof(Elf64_Rela) != 0);
    if (count > range->size / sizeof(Elf64_Rela)) {
      throw Unreadable(table.name, range->offset, "ends after its segment");
    }
    read_relocation_table(in, *range, count, symbol_limit, uses, rejection);
  }
  return uses;
}

void check_length(std::uint64_t length, std::string_view field, std::uint64_t offset) {
  if (length > max_chain) {
    throw Unreadable(field, offset, fmt::format("a chain of more than {} symbols", max_chain));
  }
}

// Chains lie one behind the other; the lowest bit ends each.
void check_chains(Bytes words, std::uint64_t offset) {
  std::uint64_t length = 0;
  for (std::uint64_t at = 0; at + 4 <= words.size(); at += 4) {
    check_length(++length, "DT_GNU_HASH", offset);
    if (words[at] & 1) length = 0;
  }
}

// DT_GNU_HASH: four words, bloom filter, buckets, then a chain word per symbol from `symoffset` on.
// Its size is not stated anywhere: the chain of the highest bucket ends it.
std::vector<std::uint8_t> read_gnu_hash(const Reader& in, std::uint64_t& symbol_count,
                                        std::string& rejection) {
  std::optional<FileRange> table = in.table(DT_GNU_HASH, "DT_GNU_HASH");
  if (!table) return {};
  constexpr const char* field = "DT_GNU_HASH";
  std::vector<std::uint8_t> head = in.copy(*table, 16, field);
  std::uint64_t buckets = load<std::uint32_t>(head, 0, field);
  std::uint64_t first_symbol = load<std::uint32_t>(head, 4, field);
  std::uint64_t bloom_words = load<std::uint32_t>(head, 8, field);
  std::uint64_t chains_at = 16 + bloom_words * 8 + buckets * 4;
  std::vector<std::uint8_t> bytes = in.copy(*table, chains_at, field);
  if ((bloom_words & (bloom_words - 1)) != 0 && rejection.empty()) {
    rejection = "Assertion `(bitmask_nwords & (bitmask_nwords - 1)) == 0' failed!";
  }
  std::uint64_t highest = 0;
  for (std::uint64_t i = 0; i < buckets; ++i) {
    highest = std::max<std::uint64_t>(
        highest, load<std::uint32_t>(bytes, 16 + bloom_words * 8 + i * 4, field));
  }
  if (highest < first_symbol) {
    symbol_count = std::max(symbol_count, first_symbol);
    return bytes;
  }
  if (highest - first_symbol >= table->size / 4) {
    throw Unreadable(field, table->offset, "a chain starts after its segment");
  }
  std::uint64_t first_end = chains_at + (highest - first_symbol + 1) * 4;
  std::uint64_t usual = std::min(in.undisputed(*table), first_end + max_chain * 4);
  bytes = in.copy(*table, std::max(first_end, usual), field);
  for (std::uint64_t at = first_end - 4;; at += 4) {
    check_length((at + 8 - first_end) / 4, field, table->offset);
    if (at + 4 > bytes.size()) {  // past the start of the next table, as the loader would go on
      std::uint64_t more = std::min<std::uint64_t>(table->size, std::uint64_t{bytes.size()} * 2);
      bytes = in.copy(*table, std::max(more, at + 4), field);
    }
    if (load<std::uint32_t>(bytes, at, field) & 1) {
      bytes.resize(at + 4);
      check_chains(Bytes(bytes).subspan(chains_at), table->offset);
      symbol_count = std::max(symbol_count, first_symbol + (at - chains_at) / 4 + 1);
      return bytes;
    }
  }
}

// The chains of DT_HASH: each symbol names the next one, and nothing keeps them from going round.
void check_sysv_chains(Bytes table, std::uint64_t offset) {
  constexpr std::uint16_t on_the_way = 0xffff;
  auto buckets = load<std::uint32_t>(table, 0, "DT_HASH");
  auto count = load<std::uint32_t>(table, 4, "DT_HASH");
  std::vector<std::uint16_t> lengths(count);  // from there to the end; 0: not known yet
  std::vector<std::uint32_t> walked;
  for (std::uint64_t bucket = 0; bucket < buckets; ++bucket) {
    auto index = load<std::uint32_t>(table, 8 + bucket * 4, "DT_HASH");
    while (index != 0 && index < count && lengths[index] == 0) {
      lengths[index] = on_the_way;
      walked.push_back(index);
      check_length(walked.size(), "DT_HASH", offset);
      index = load<std::uint32_t>(table, 8 + (std::uint64_t{buckets} + index) * 4, "DT_HASH");
    }
    std::uint16_t length = index != 0 && index < count ? lengths[index] : std::uint16_t{0};
    if (length == on_the_way) throw Unreadable("DT_HASH", offset, "a chain goes round");
    for (; !walked.empty(); walked.pop_back()) {
      lengths[walked.back()] = ++length;
      check_length(length, "DT_HASH", offset);
    }
  }
}

std::vector<std::uint8_t> read_sysv_hash(const Reader& in, std::uint64_t& symbol_count) {
  std::optional<FileRange> table = in.table(DT_HASH, "DT_HASH");
  if (!table) return {};
  std::vector<std::uint8_t> head = in.copy(*table, 8, "DT_HASH");
  std::uint64_t buckets = load<std::uint32_t>(head, 0, "DT_HASH");
  std::uint64_t chains = load<std::uint32_t>(head, 4, "DT_HASH");
  symbol_count = std::max(symbol_count, chains);
  return in.copy(*table, 8 + 4 * (buckets + chains), "DT_HASH");
}

std::vector<std::uint8_t> read_strings(const Reader& in) {
  std::optional<FileRange> table = in.table(DT_STRTAB, "DT_STRTAB");
  if (!table) return {0};
  std::uint64_t size = in.value(DT_STRSZ).value_or(0);
  std::vector<std::uint8_t> bytes = in.copy(*table, size, "DT_STRTAB");
  if (!bytes.empty() && bytes.back() == 0) return bytes;
  // The loader has no use for DT_STRSZ: a string goes on to its end.
  std::uint64_t more = std::min<std::uint64_t>(table->size - size, max_path_list);
  for (std::uint8_t byte : in.file.bytes(table->offset + size, more)) {
    bytes.push_back(byte);
    if (byte == 0) return bytes;
  }
  bytes.push_back(0);
  return bytes;
}

void check_names(const SymbolTable& table, const FileRange& at) {
  for (std::size_t i = 0; i < table.count; ++i) {
    auto entry = load<Elf64_Sym>(table.symbols, i * sizeof(Elf64_Sym), "DT_SYMTAB");
    if (entry.st_name >= table.strings.size()) {
      throw Unreadable("st_name", at.offset + i * sizeof(Elf64_Sym),
                       fmt::format("symbol {}: name starts after the string table", i));
    }
  }
}

SymbolTable read_symbols(const Reader& in, std::optional<StubNote>& stub, ElfFacts& facts) {
  SymbolTable table;
  table.strings = read_strings(in);
  std::optional<FileRange> symbols = in.table(DT_SYMTAB, "DT_SYMTAB");
  if (!symbols) return table;
  std::uint64_t limit = symbols->size / sizeof(Elf64_Sym);
  std::uint64_t count = 0;
  table.gnu_hash = read_gnu_hash(in, count, facts.rejection);
  try {
    table.sysv_hash = read_sysv_hash(in, count);
  } catch (const Unreadable&) {
    if (table.gnu_hash.empty()) throw;
    facts.oddities.emplace_back("DT_HASH does not fit: the loader goes by DT_GNU_HASH");
  }
  if (table.gnu_hash.empty() && !table.sysv_hash.empty()) {
    check_sysv_chains(table.sysv_hash, in.table(DT_HASH, "DT_HASH")->offset);
  }
  table.relocations =
      stub ? std::move(stub->relocations) : read_relocations(in, limit, facts.rejection);
  count = std::max<std::uint64_t>(count, table.relocations.size());
  if (count > limit) {
    throw Unreadable(
        "DT_SYMTAB", symbols->offset,
        fmt::format("{} symbols are referred to, {} fit in the segment", count, limit));
  }
  table.count = static_cast<std::size_t>(count);
  table.relocations.resize(table.count);
  table.symbols = in.copy(*symbols, count * sizeof(Elf64_Sym), "DT_SYMTAB");
  if (auto versions = in.table(DT_VERSYM, "DT_VERSYM")) {
    table.versions = in.copy(*versions, count * sizeof(Elf64_Versym), "DT_VERSYM");
  }
  check_names(table, *symbols);
  table.not_at_home = names_not_at_home(table);
  return table;
}

std::string name_in(const SymbolTable& table, std::uint64_t offset, std::string_view field,
                    std::size_t limit = max_name) {
  std::string_view name = string_at(table.strings, offset, field);
  if (name.size() > limit) {
    throw Unreadable(field, std::nullopt, fmt::format("name is longer than {} bytes", limit));
  }
  return std::string(name);
}

// A chain of version records. The loader goes by the `next` fields, which only lead forward, and
// not by the counts (glibc elf/dl-version.c).
template <class Record, class Each>
void each_record(const VersionTable& table, std::uint64_t at, Each&& each) {
  for (std::uint64_t next = 1; next != 0; at += next) {
    next = each(table.at<Record>(at), at);
  }
}

void read_version_needs(const Reader& in, ElfFacts& facts) {
  std::optional<FileRange> range = in.table(DT_VERNEED, "DT_VERNEED");
  if (!range) return;
  VersionTable table(in, *range, "DT_VERNEED");
  std::size_t total = 0;
  each_record<Elf64_Verneed>(table, 0, [&](const Elf64_Verneed& need, std::uint64_t at) {
    if (need.vn_version != VER_NEED_CURRENT) {
      throw Unreadable("vn_version", range->offset + at, "is not 1");
    }
    VersionNeed& out = facts.version_needs.emplace_back();
    out.file = name_in(facts.symbols, need.vn_file, "vn_file");
    each_record<Elf64_Vernaux>(
        table, at + need.vn_aux, [&](const Elf64_Vernaux& aux, std::uint64_t aux_at) {
          if (++total > max_versions) {
            throw Unreadable("Vernaux", range->offset + aux_at, "more than 32768 versions");
          }
          out.versions.push_back({name_in(facts.symbols, aux.vna_name, "vna_name"), aux.vna_hash,
                                  aux.vna_other, (aux.vna_flags & VER_FLG_WEAK) != 0});
          return std::uint64_t{aux.vna_next};
        });
    return std::uint64_t{need.vn_next};
  });
}

void read_version_definitions(const Reader& in, ElfFacts& facts) {
  std::optional<FileRange> range = in.table(DT_VERDEF, "DT_VERDEF");
  if (!range) return;
  VersionTable table(in, *range, "DT_VERDEF");
  each_record<Elf64_Verdef>(table, 0, [&](const Elf64_Verdef& def, std::uint64_t at) {
    if (def.vd_version != VER_DEF_CURRENT) {
      throw Unreadable("vd_version", range->offset + at, "is not 1");
    }
    if (facts.version_definitions.size() >= max_versions) {
      throw Unreadable("DT_VERDEF", range->offset + at, "more than 32768 versions");
    }
    auto aux = table.at<Elf64_Verdaux>(at + def.vd_aux);
    facts.version_definitions.push_back({name_in(facts.symbols, aux.vda_name, "vda_name"),
                                         def.vd_hash, def.vd_ndx,
                                         (def.vd_flags & VER_FLG_BASE) != 0});
    return std::uint64_t{def.vd_next};
  });
}

// The loader reads behind its table of versions for an index above all of them.
void check_version_indices(const ElfFacts& facts) {
  const SymbolTable& table = facts.symbols;
  if (table.versions.empty()) return;
  std::uint16_t highest = 0;
  for (const VersionNeed& need : facts.version_needs) {
    for (const NeededVersion& version : need.versions) {
      highest = std::max<std::uint16_t>(highest, version.index & 0x7fff);
    }
  }
  for (const VersionDefinition& each : facts.version_definitions) {
    highest = std::max<std::uint16_t>(highest, each.index & 0x7fff);
  }
  for (std::size_t i = 0; i < table.count; ++i) {
    auto index = load<std::uint16_t>(table.versions, i * 2, "DT_VERSYM") & 0x7fff;
    if (index <= highest) continue;
    // An undefined name that nothing refers to is never asked for its version.
    if (table.relocations[i] == used_by_none && (table.undefined(i) || highest == 0)) continue;
    throw Unreadable("DT_VERSYM", std::nullopt,
                     fmt::format("symbol {} has version {}, the highest is {}", i, index, highest));
  }
}

void check_searches(const ElfFacts& facts) {
  std::size_t needs = facts.needed.size() + facts.filters.size() + facts.auxiliaries.size();
  if (needs > max_needs) {
    throw Unreadable("DT_NEEDED", std::nullopt, fmt::format("more than {} of them", max_needs));
  }
  std::size_t folders = 1;
  for (const auto& list : {facts.rpath, facts.runpath}) {
    if (list) folders += 1 + static_cast<std::size_t>(std::count(list->begin(), list->end(), ':'));
  }
  if (needs * folders > max_searches) {
    throw Unreadable(facts.runpath ? "DT_RUNPATH" : "DT_RPATH", std::nullopt,
                     fmt::format("{} folders for {} needed libraries", folders - 1, needs));
  }
}

void read_strings_of_dynamic(const Reader& in, ElfFacts& facts) {
  std::size_t total = 0;
  for (const Elf64_Dyn& entry : in.dynamic) {
    if (entry.d_tag == DT_NEEDED) {
      facts.needed.push_back(name_in(facts.symbols, entry.d_un.d_val, "DT_NEEDED"));
      total += facts.needed.back().size();
      if (total > max_names) throw Unreadable("DT_NEEDED", std::nullopt, "names of over 16 MiB");
    }
    auto filtee = [&](std::vector<std::string>& list, std::string_view field) {
      list.push_back(name_in(facts.symbols, entry.d_un.d_val, field));
      total += list.back().size();
      if (total > max_names) throw Unreadable(field, std::nullopt, "names of over 16 MiB");
    };
    if (entry.d_tag == DT_FILTER) filtee(facts.filters, "DT_FILTER");
    if (entry.d_tag == DT_AUXILIARY) filtee(facts.auxiliaries, "DT_AUXILIARY");
  }
  auto text = [&](std::int64_t tag, std::string_view field) -> std::optional<std::string> {
    std::optional<std::uint64_t> offset = in.value(tag);
    if (!offset) return std::nullopt;
    return name_in(facts.symbols, *offset, field, max_path_list);
  };
  facts.soname = text(DT_SONAME, "DT_SONAME").value_or("");
  facts.rpath = text(DT_RPATH, "DT_RPATH");
  facts.runpath = text(DT_RUNPATH, "DT_RUNPATH");
  check_searches(facts);
  facts.flags = in.value(DT_FLAGS).value_or(0);
  facts.flags_1 = in.value(DT_FLAGS_1).value_or(0);
  facts.packed_relative = in.value(dt_relr).has_value();
  facts.text_relocations = in.value(DT_TEXTREL).has_value() || (facts.flags & DF_TEXTREL) != 0;
  facts.symbolic = in.value(DT_SYMBOLIC).has_value() || (facts.flags & DF_SYMBOLIC) != 0;
}

std::string hex(Bytes bytes) {
  std::string out;
  for (std::uint8_t byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

// Program properties: a type, a size, data padded to 8 bytes (Linux gABI extension, "Program
// Property").
void read_properties(Bytes desc, ElfFacts& facts) {
  constexpr std::uint32_t x86_isa_needed = 0xc0008002;
  for (std::uint64_t at = 0; fits(at, 8, desc.size());) {
    auto type = load<std::uint32_t>(desc, at, "property");
    std::uint64_t size = load<std::uint32_t>(desc, at + 4, "property");
    if (!fits(at + 8, size, desc.size())) return;
    if (type == x86_isa_needed && size == 4 && facts.machine == EM_X86_64) {
      facts.isa_needed |= load<std::uint32_t>(desc, at + 8, "property");
    }
    at += 8 + (size + 7) / 8 * 8;
  }
}

// Notes (gABI, "Note Section"): a name, a type, a descriptor, each padded to the alignment.
void read_note_segment(Bytes bytes, std::uint64_t alignment, ElfFacts& facts,
                       std::optional<StubNote>& stub) {
  std::uint64_t pad = alignment == 8 ? 8 : 4;
  auto padded = [&](std::uint64_t n) { return (n + pad - 1) / pad * pad; };
  for (std::uint64_t at = 0; fits(at, sizeof(Elf64_Nhdr), bytes.size());) {
    auto note = load<Elf64_Nhdr>(bytes, at, "note");
    std::uint64_t name_at = at + sizeof note;
    std::uint64_t desc_at = at + padded(sizeof note + note.n_namesz);
    if (!fits(name_at, note.n_namesz, bytes.size()) ||
        !fits(desc_at, note.n_descsz, bytes.size())) {
      return;
    }
    std::string_view name(reinterpret_cast<const char*>(bytes.data() + name_at), note.n_namesz);
    name = name.substr(0, name.find('\0'));
    Bytes desc = bytes.subspan(desc_at, note.n_descsz);
    if (name == "GNU" && note.n_type == NT_GNU_BUILD_ID) facts.build_id = hex(desc);
    if (name == "GNU" && note.n_type == NT_GNU_PROPERTY_TYPE_0) read_properties(desc, facts);
    // ELF_NOTE_DLOPEN_TYPE of the systemd "ELF dlopen metadata" specification.
    if (name == "FDO" && note.n_type == 0x407c0c0a) {
      std::string_view text(reinterpret_cast<const char*>(desc.data()), desc.size());
      facts.dlopen_notes.emplace_back(text.substr(0, text.find('\0')));
    }
    if (name == stub_note_name && note.n_type == stub_note_type) stub = read_stub_note(desc);
    if (name == stub_note_name && note.n_type == device_note_type) {
      facts.device_note.assign(desc.begin(), desc.end());
    }
    if (name == stub_note_name && note.n_type == rejection_note_type) {
      facts.rejection.assign(desc.begin(), desc.end());
    }
    at = desc_at + padded(note.n_descsz);
  }
}

void read_segments(const Reader& in, ElfFacts& facts, std::optional<StubNote>& stub) {
  std::uint64_t total = 0;
  for (const Elf64_Phdr& segment : in.layout.segments) {
    if (segment.p_type != PT_NOTE) continue;
    if (!fits(segment.p_offset, segment.p_filesz, in.file.size)) {
      facts.oddities.emplace_back("PT_NOTE ends after the file");
    } else if (segment.p_filesz <= max_stub_note_bytes - std::min(max_stub_note_bytes, total)) {
      total += segment.p_filesz;
      Bytes bytes = in.file.bytes(segment.p_offset, segment.p_filesz);
      std::vector<std::uint8_t> own(bytes.begin(), bytes.end());
      read_note_segment(own, segment.p_align, facts, stub);
    }
  }
  const std::vector<Elf64_Phdr>& segments = stub ? stub->segments : in.layout.segments;
  const auto* raw = reinterpret_cast<const std::uint8_t*>(segments.data());
  facts.program_headers.assign(raw, raw + segments.size() * sizeof(Elf64_Phdr));
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_GNU_STACK) facts.stack_flags = segment.p_flags;
    if (segment.p_type == PT_TLS) {
      facts.tls_size = segment.p_memsz;
      facts.tls_alignment = segment.p_align;
    }
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) && (segment.p_flags & PF_X)) {
      facts.writable_code = true;
    }
  }
}

void note_oddities(const Reader& in, const FileRange& dynamic, ElfFacts& facts) {
  for (const Elf64_Phdr& segment : in.layout.segments) {
    if (segment.p_type == PT_DYNAMIC && segment.p_filesz != 0 &&
        segment.p_offset != dynamic.offset) {
      facts.oddities.emplace_back(
          "PT_DYNAMIC's offset and address name different bytes: tools that go by the offset see "
          "other needs than the loader");
    }
  }
  for (std::int64_t tag : {DT_STRTAB, DT_SYMTAB, DT_SONAME, DT_RPATH, DT_RUNPATH, DT_STRSZ}) {
    auto same = [&](const Elf64_Dyn& entry) { return entry.d_tag == tag; };
    if (std::count_if(in.dynamic.begin(), in.dynamic.end(), same) > 1) {
      facts.oddities.push_back(
          fmt::format("dynamic tag {:#x} stands more than once: the loader takes the last", tag));
    }
  }
}

}  // namespace

std::uint32_t sysv_hash(std::string_view name) {
  std::uint32_t hash = 0;
  for (char c : name) {
    hash = (hash << 4) + static_cast<std::uint8_t>(c);
    std::uint32_t high = hash & 0xf0000000u;
    hash = (hash ^ (high >> 24)) & ~high;
  }
  return hash;
}

std::uint32_t gnu_hash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (char c : name) hash = hash * 33 + static_cast<std::uint8_t>(c);
  return hash;
}

std::string_view SymbolTable::name(std::size_t index) const {
  std::uint32_t offset;
  std::memcpy(&offset, symbols.data() + index * sizeof(Elf64_Sym), sizeof offset);
  return reinterpret_cast<const char*>(strings.data() + offset);
}

bool SymbolTable::undefined(std::size_t index) const {
  std::uint16_t section;
  std::memcpy(&section, symbols.data() + index * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_shndx),
              sizeof section);
  return section == SHN_UNDEF;
}

void SymbolTable::expect(std::size_t index) const {
  if (index >= count) return;
  std::uint32_t offset;
  std::memcpy(&offset, symbols.data() + index * sizeof(Elf64_Sym), sizeof offset);
  __builtin_prefetch(strings.data() + offset);
  __builtin_prefetch(strings.data() + std::min<std::size_t>(offset + 64, strings.size() - 1));
}

Symbol SymbolTable::at(std::size_t index) const {
  auto entry = load<Elf64_Sym>(symbols, index * sizeof(Elf64_Sym), "symbol");
  Symbol symbol;
  symbol.name = name(index);
  symbol.value = entry.st_value;
  symbol.size = entry.st_size;
  symbol.section = entry.st_shndx;
  symbol.binding = static_cast<std::uint8_t>(ELF64_ST_BIND(entry.st_info));
  symbol.type = static_cast<std::uint8_t>(ELF64_ST_TYPE(entry.st_info));
  symbol.visibility = static_cast<std::uint8_t>(ELF64_ST_VISIBILITY(entry.st_other));
  symbol.relocations = relocations[index];
  if (!versions.empty()) symbol.version = load<std::uint16_t>(versions, index * 2, "DT_VERSYM");
  return symbol;
}

ElfFacts read_elf(const FileView& file) {
  Reader in{file, read_layout(file), {}, {}};
  ElfFacts facts;
  facts.machine = in.layout.header.e_machine;
  facts.type = in.layout.header.e_type;
  facts.osabi = in.layout.header.e_ident[EI_OSABI];
  facts.abi_version = in.layout.header.e_ident[EI_ABIVERSION];
  facts.file_size = file.size;
  std::optional<StubNote> stub;
  read_segments(in, facts, stub);
  if (stub) {
    facts.from_stub = true;
    facts.file_size = stub->original_size;
  }
  std::string stated = std::move(facts.rejection);  // by a slice, of its original
  check_relro(in.layout.segments);
  facts.rejection = rejection_of_header(in.layout.header);
  if (facts.rejection.empty()) facts.rejection = rejection_of_segments(in.layout.segments);
  if (facts.rejection.empty()) check_mapping(in.layout.segments);
  std::optional<FileRange> dynamic = dynamic_range(in.layout);
  if (!dynamic) return facts;
  Bytes bytes = file.bytes(dynamic->offset, dynamic->size);
  in.dynamic = read_dynamic(bytes);
  in.tables = table_ranges(in.layout, in.dynamic);
  if (facts.rejection.empty()) facts.rejection = rejection_of_dynamic(in.layout, in.dynamic);
  facts.symbols = read_symbols(in, stub, facts);
  read_strings_of_dynamic(in, facts);
  read_version_needs(in, facts);
  read_version_definitions(in, facts);
  check_version_indices(facts);
  if (stub) facts.rejection = stated;  // its own tables are not those that the original had
  note_oddities(in, *dynamic, facts);
  return facts;
}

}  // namespace wheelvet
