#include "link/lookup.h"

#include <elf.h>

#include <algorithm>

#include "facts/bytes.h"
#include "facts/elf_facts.h"

namespace wheelvet {
namespace {

constexpr std::uint16_t hidden_bit = 0x8000, index_mask = 0x7fff;

// Types of symbols that can be looked up (glibc elf/dl-lookup.c, ALLOWED_STT).
bool allowed_type(std::uint8_t type) {
  switch (type) {
    case STT_NOTYPE:
    case STT_OBJECT:
    case STT_FUNC:
    case STT_COMMON:
    case STT_TLS:
    case STT_GNU_IFUNC:
      return true;
    default:
      return false;
  }
}

// One walk over candidates of a name in one object (glibc check_match and the end of do_lookup_x).
struct Match {
  const ElfFacts& elf;
  const VersionNames& versions;
  const LookupName& name;
  const std::optional<WantedVersion>& version;
  std::size_t default_versions = 0;
  std::size_t default_symbol = 0;

  // True when the symbol at `index` is the one.
  bool check(std::size_t index) {
    if (elf.symbols.name(index) != name.text) return false;
    Symbol symbol = elf.symbols.at(index);
    bool no_value = symbol.value == 0 && symbol.section != SHN_ABS && symbol.type != STT_TLS;
    if (no_value || (name.plt_only && symbol.section == SHN_UNDEF)) return false;
    if (!allowed_type(symbol.type)) return false;
    // DT_VERSYM counts only beside needs or definitions (glibc elf/dl-version.c).
    bool versioned = versions.any() && !elf.symbols.versions.empty();
    if (!versioned) return true;
    std::uint16_t own = symbol.version & index_mask;
    if (version) {
      bool same = versions.hash(own) == version->hash && versions.name(own) == version->name;
      if (same) return true;
      return !version->hidden && versions.hash(own) == 0 && !(symbol.version & hidden_bit);
    }
    if (own < 3) return true;
    if (!(symbol.version & hidden_bit) && default_versions++ == 0) default_symbol = index;
    return false;
  }

  std::optional<std::size_t> end() const {
    if (default_versions == 1) return default_symbol;
    return std::nullopt;
  }
};

template <class Table>
std::uint32_t word(const Table& table, std::uint64_t at) {
  std::uint32_t value = 0;
  if (fits(at, 4, table.size())) std::memcpy(&value, table.data() + at, 4);
  return value;
}

std::optional<std::size_t> walk_gnu(const ElfFacts& elf, Match& match) {
  const std::vector<std::uint8_t>& table = elf.symbols.gnu_hash;
  std::uint32_t buckets = word(table, 0), first = word(table, 4), bloom = word(table, 8),
                shift = word(table, 12);
  if (buckets == 0 || bloom == 0) return std::nullopt;
  std::uint32_t hash = match.name.gnu_hash;
  std::uint64_t filter = 0;
  // bloom - 1 as a mask: the loader asserts that the number is a power of two.
  std::uint64_t at = 16 + std::uint64_t{(hash / 64) & (bloom - 1)} * 8;
  if (!fits(at, 8, table.size())) return std::nullopt;
  std::memcpy(&filter, table.data() + at, 8);
  if (!((filter >> (hash % 64)) & (filter >> ((hash >> (shift & 31)) % 64)) & 1)) {
    return std::nullopt;
  }
  std::uint64_t buckets_at = 16 + std::uint64_t{bloom} * 8;
  std::uint64_t chains_at = buckets_at + std::uint64_t{buckets} * 4;
  std::uint32_t index = word(table, buckets_at + std::uint64_t{hash % buckets} * 4);
  if (index == 0) return std::nullopt;
  for (; index >= first && index < elf.symbols.count; ++index) {
    std::uint64_t chain_at = chains_at + std::uint64_t{index - first} * 4;
    if (!fits(chain_at, 4, table.size())) return match.end();
    std::uint32_t chain = word(table, chain_at);
    if (((chain ^ hash) >> 1) == 0 && match.check(index)) return index;
    if (chain & 1) break;
  }
  return match.end();
}

std::optional<std::size_t> walk_sysv(const ElfFacts& elf, Match& match) {
  const std::vector<std::uint8_t>& table = elf.symbols.sysv_hash;
  std::uint32_t buckets = word(table, 0), chains = word(table, 4);
  if (buckets == 0) return std::nullopt;
  std::uint32_t index = word(table, 8 + std::uint64_t{sysv_hash(match.name.text) % buckets} * 4);
  // A chain longer than the table is a cycle; the loader would not come back.
  for (std::uint32_t steps = 0; index != 0 && index < elf.symbols.count && steps <= chains;
       ++steps) {
    if (match.check(index)) return index;
    index = word(table, 8 + (std::uint64_t{buckets} + index) * 4);
  }
  return match.end();
}

}  // namespace

VersionNames::VersionNames(const ElfFacts& elf) {
  auto put = [&](std::uint16_t index, WantedVersion version) {
    std::size_t at = index & index_mask;
    if (at >= by_index_.size()) by_index_.resize(at + 1);
    by_index_[at] = version;
    any_ = true;
  };
  for (const VersionNeed& need : elf.version_needs) {
    for (const NeededVersion& version : need.versions) {
      put(version.index,
          {version.name, version.hash, (version.index & hidden_bit) != 0, need.file});
    }
  }
  for (const VersionDefinition& definition : elf.version_definitions) {
    // The base definition names the file, not a version (glibc skips VER_FLG_BASE).
    if (!definition.base) put(definition.index, {definition.name, definition.hash, false, {}});
  }
}

std::optional<WantedVersion> VersionNames::of(std::uint16_t raw) const {
  std::size_t at = raw & index_mask;
  if (at >= by_index_.size() || by_index_[at].hash == 0) return std::nullopt;
  return by_index_[at];
}

std::uint32_t VersionNames::hash(std::uint16_t index) const {
  return index < by_index_.size() ? by_index_[index].hash : 0;
}

std::string_view VersionNames::name(std::uint16_t index) const {
  return index < by_index_.size() ? by_index_[index].name : std::string_view();
}

LookupName::LookupName(std::string_view name, bool plt)
    : text(name), gnu_hash(wheelvet::gnu_hash(name)), plt_only(plt) {}

std::optional<std::size_t> find_definition(const ElfFacts& elf, const VersionNames& versions,
                                           const LookupName& name,
                                           const std::optional<WantedVersion>& version) {
  Match match{elf, versions, name, version};
  std::optional<std::size_t> found =
      elf.symbols.gnu_hash.empty() ? walk_sysv(elf, match) : walk_gnu(elf, match);
  if (!found) return std::nullopt;
  Symbol symbol = elf.symbols.at(*found);
  // A first match of hidden or internal visibility, or a local one, passes over the whole object.
  if (symbol.visibility == STV_HIDDEN || symbol.visibility == STV_INTERNAL) return std::nullopt;
  bool bindable = symbol.binding == STB_GLOBAL || symbol.binding == STB_WEAK ||
                  symbol.binding == STB_GNU_UNIQUE;
  if (!bindable) return std::nullopt;
  return found;
}

bool sought(const SymbolTable& table, std::size_t index) {
  if (table.relocations[index] == used_by_none) return false;
  return table.undefined(index) ||
         std::binary_search(table.not_at_home.begin(), table.not_at_home.end(), index);
}

std::optional<std::size_t> find_by_name(const ElfFacts& elf, std::string_view name) {
  for (std::size_t i = 1; i < elf.symbols.count; ++i) {
    if (elf.symbols.name(i) == name && elf.symbols.at(i).section != SHN_UNDEF) return i;
  }
  return std::nullopt;
}

}  // namespace wheelvet
