// ElfFacts by hand: symbols, and hash tables of which every word can be a lie.
#pragma once

#include <elf.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "facts/elf_facts.h"
#include "wheelvet/facts.h"

namespace wheelvet::test {

struct MadeSymbol {
  std::string name;
  bool defined = true;
  std::uint16_t version = VER_NDX_GLOBAL;
  std::uint8_t binding = STB_GLOBAL;
  std::uint8_t type = STT_FUNC;
  std::uint8_t visibility = STV_DEFAULT;
  std::uint64_t value = 0x1000;
  std::uint8_t relocations = used_by_none;
};

enum class Hash { gnu, sysv, both, none };

struct MadeObject {
  std::vector<MadeSymbol> symbols;
  Hash hash = Hash::gnu;
  bool versioned = false;  // DT_VERSYM
  std::vector<VersionNeed> needs;
  std::vector<VersionDefinition> definitions;
  std::size_t unreached = 0;  // so many of the last symbols are in no hash table

  // Symbols are reordered as the GNU hash wants it: undefined ones, then defined ones.
  ElfFacts facts() const {
    std::vector<MadeSymbol> order;
    for (const MadeSymbol& symbol : symbols) {
      if (!symbol.defined) order.push_back(symbol);
    }
    std::size_t first = order.size() + 1;
    for (const MadeSymbol& symbol : symbols) {
      if (symbol.defined) order.push_back(symbol);
    }
    ElfFacts out;
    out.machine = EM_X86_64;
    out.type = ET_DYN;
    SymbolTable& table = out.symbols;
    table.strings = {0};
    table.count = order.size() + 1;
    put(table.symbols, Elf64_Sym{});
    table.relocations = {0};
    if (versioned) put<std::uint16_t>(table.versions, 0);
    for (const MadeSymbol& symbol : order) {
      Elf64_Sym entry{};
      entry.st_name = static_cast<std::uint32_t>(table.strings.size());
      table.strings.insert(table.strings.end(), symbol.name.begin(), symbol.name.end());
      table.strings.push_back(0);
      entry.st_info = static_cast<std::uint8_t>(ELF64_ST_INFO(symbol.binding, symbol.type));
      entry.st_other = symbol.visibility;
      entry.st_shndx = symbol.defined ? 1 : SHN_UNDEF;
      entry.st_value = symbol.defined ? symbol.value : 0;
      put(table.symbols, entry);
      table.relocations.push_back(symbol.relocations);
      if (versioned) put(table.versions, symbol.version);
    }
    std::size_t reached = order.size() + 1 - unreached;
    if (hash == Hash::gnu || hash == Hash::both) {
      table.gnu_hash = gnu_table(order, first, reached);
    }
    if (hash == Hash::sysv || hash == Hash::both) table.sysv_hash = sysv_table(order, reached);
    out.version_needs = needs;
    out.version_definitions = definitions;
    return out;
  }

  template <class T>
  static void put(std::vector<std::uint8_t>& out, const T& value) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
    out.insert(out.end(), bytes, bytes + sizeof value);
  }

  // One bucket, so that no order within it is wrong; a filter that lets everything through.
  static std::vector<std::uint8_t> gnu_table(const std::vector<MadeSymbol>& order,
                                             std::size_t first, std::size_t reached) {
    std::vector<std::uint8_t> out;
    bool any = first < reached;
    for (std::uint32_t word : {1u, static_cast<std::uint32_t>(first), 1u, 6u}) put(out, word);
    put(out, ~std::uint64_t{0});
    put(out, static_cast<std::uint32_t>(any ? first : 0));
    for (std::size_t i = first; i < reached; ++i) {
      std::uint32_t chain = gnu_hash(order[i - 1].name) & ~1u;
      put(out, chain | (i + 1 == reached ? 1u : 0u));
    }
    return out;
  }

  static std::vector<std::uint8_t> sysv_table(const std::vector<MadeSymbol>& order,
                                              std::size_t reached) {
    std::vector<std::uint8_t> out;
    auto count = static_cast<std::uint32_t>(order.size() + 1);
    put(out, 1u);
    put(out, count);
    put(out, reached > 1 ? 1u : 0u);
    put(out, 0u);
    for (std::uint32_t i = 1; i < count; ++i) put(out, i + 1 < reached ? i + 1 : 0u);
    return out;
  }
};

inline VersionDefinition definition(const std::string& name, std::uint16_t index,
                                    bool base = false) {
  return {name, sysv_hash(name), index, base};
}

inline NeededVersion needed_version(const std::string& name, std::uint16_t index,
                                    bool weak = false) {
  return {name, sysv_hash(name), index, weak};
}

}  // namespace wheelvet::test
