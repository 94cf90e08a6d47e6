#include "facts/own_names.h"

#include <elf.h>

#include <algorithm>

#include "facts/bytes.h"
#include "facts/elf_facts.h"

namespace wheelvet {
namespace {

std::uint32_t word(const std::vector<std::uint8_t>& table, std::uint64_t at) {
  std::uint32_t value = 0;
  if (fits(at, 4, table.size())) std::memcpy(&value, table.data() + at, 4);
  return value;
}

// Which symbols each walk of DT_GNU_HASH passes, one step after the other over all chains: chains
// lie one behind the other, and a bucket may lead into the middle of another's.
class GnuWalk {
 public:
  explicit GnuWalk(const SymbolTable& table)
      : table_(table.gnu_hash),
        buckets_(word(table_, 0)),
        first_(word(table_, 4)),
        bloom_(word(table_, 8)),
        shift_(word(table_, 12) & 31),
        run_(first_) {}

  // To be asked in ascending order.
  bool passes(std::uint32_t index, std::string_view name) {
    if (buckets_ == 0 || bloom_ == 0 || index < first_) return false;
    for (; at_ < index - first_; ++at_) {
      if (chain(at_) & 1) run_ = first_ + at_ + 1;
    }
    std::uint32_t hash = gnu_hash(name);
    std::uint32_t start =
        word(table_, 16 + std::uint64_t{bloom_} * 8 + std::uint64_t{hash % buckets_} * 4);
    bool on_the_way = start != 0 && start >= run_ && start <= index;
    return on_the_way && ((chain(index - first_) ^ hash) >> 1) == 0 && in_filter(hash);
  }

 private:
  std::uint32_t chain(std::uint32_t number) const {
    std::uint64_t chains = 16 + std::uint64_t{bloom_} * 8 + std::uint64_t{buckets_} * 4;
    return word(table_, chains + std::uint64_t{number} * 4);
  }

  bool in_filter(std::uint32_t hash) const {
    std::uint64_t at = 16 + std::uint64_t{(hash / 64) & (bloom_ - 1)} * 8, filter = 0;
    if (!fits(at, 8, table_.size())) return false;
    std::memcpy(&filter, table_.data() + at, 8);
    return ((filter >> (hash % 64)) & (filter >> ((hash >> shift_) % 64)) & 1) != 0;
  }

  const std::vector<std::uint8_t>& table_;
  std::uint32_t buckets_, first_, bloom_, shift_;
  std::uint32_t run_;     // where the chain starts that the next symbol is on
  std::uint32_t at_ = 0;  // how many words of chains were looked at
};

// The bucket of DT_HASH that leads to each symbol, counted from 1; 0 where none does. Where chains
// meet, the first bucket counts.
std::vector<std::uint32_t> sysv_buckets(const SymbolTable& table) {
  std::vector<std::uint32_t> out(table.count);
  std::uint32_t buckets = word(table.sysv_hash, 0);
  for (std::uint32_t bucket = 0; bucket < buckets; ++bucket) {
    std::uint32_t index = word(table.sysv_hash, 8 + std::uint64_t{bucket} * 4);
    while (index != 0 && index < out.size() && out[index] == 0) {
      out[index] = bucket + 1;
      index = word(table.sysv_hash, 8 + (std::uint64_t{buckets} + index) * 4);
    }
  }
  return out;
}

// What a lookup would take at all (glibc elf/dl-lookup.c), but for versions.
bool may_be_found(const Symbol& symbol) {
  bool valued = symbol.value != 0 || symbol.section == SHN_ABS || symbol.type == STT_TLS;
  bool typed = symbol.type <= STT_FUNC || symbol.type == STT_COMMON || symbol.type == STT_TLS ||
               symbol.type == STT_GNU_IFUNC;
  bool bound = symbol.binding == STB_GLOBAL || symbol.binding == STB_WEAK ||
               symbol.binding == STB_GNU_UNIQUE;
  return valued && typed && bound && (symbol.version & 0x8000) == 0;
}

}  // namespace

std::vector<std::uint32_t> names_not_at_home(const SymbolTable& table) {
  std::vector<std::uint32_t> out;
  bool gnu = !table.gnu_hash.empty();
  GnuWalk walk(table);
  std::vector<std::uint32_t> buckets;
  if (!gnu) buckets = sysv_buckets(table);
  for (std::uint32_t i = 1; i < table.count; ++i) {
    if (table.relocations[i] == used_by_none || table.undefined(i)) continue;
    Symbol symbol = table.at(i);
    if (symbol.binding == STB_LOCAL) continue;
    bool found = may_be_found(symbol);
    if (found && gnu) found = walk.passes(i, symbol.name);
    if (found && !gnu) {
      found =
          buckets[i] != 0 && sysv_hash(symbol.name) % word(table.sysv_hash, 0) == buckets[i] - 1;
    }
    if (!found) out.push_back(i);
  }
  return out;
}

}  // namespace wheelvet
