#include "machine/ld_cache.h"

#include <elf.h>

#include <algorithm>
#include <optional>

#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

constexpr std::string_view new_magic = "glibc-ld.so.cache1.1", old_magic = "ld.so-1.7.0";

// struct file_entry_new; flags, key, value, an unused word, hardware capabilities.
struct Entry {
  std::int32_t flags;
  std::uint32_t key, value, unused;
  std::uint64_t capabilities;
};
static_assert(sizeof(Entry) == 24);

struct Header {
  char magic[20];
  std::uint32_t count, strings_size;
  std::uint8_t flags, padding[3];
  std::uint32_t extensions_at;
  std::uint32_t unused[3];
};
static_assert(sizeof(Header) == 48);

// The kind and machine of an entry's library (FLAG_ELF_LIBC6 with FLAG_X8664_LIB64 or
// FLAG_AARCH64_LIB64).
std::int32_t wanted_flags(std::uint16_t machine) { return machine == EM_AARCH64 ? 0x0a03 : 0x0303; }

std::string_view text_at(Bytes file, std::uint64_t at) {
  return string_at(file, at, "ld.so.cache string");
}

// Names of the capability folders that entries refer to by number (cache_extension_tag_glibc_hwcaps
// of the extension directory). The directory and its lists are found from the start of the whole
// file, strings from the start of the new format in it.
std::vector<std::string_view> capability_names(Bytes file, Bytes cache,
                                               std::uint32_t extensions_at) {
  constexpr std::uint32_t extension_magic = 0xeaa42174, hwcaps_tag = 1;
  std::vector<std::string_view> names;
  if (extensions_at == 0) return names;
  constexpr std::string_view field = "ld.so.cache extensions";
  if (load<std::uint32_t>(file, extensions_at, field) != extension_magic) return names;
  auto count = load<std::uint32_t>(file, std::uint64_t{extensions_at} + 4, field);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t at = extensions_at + 8 + i * 16;
    if (load<std::uint32_t>(file, at, field) != hwcaps_tag) continue;
    std::uint64_t list = load<std::uint32_t>(file, at + 8, field);
    auto size = load<std::uint32_t>(file, at + 12, field);
    for (std::uint64_t k = 0; k + 4 <= size; k += 4) {
      names.push_back(text_at(cache, load<std::uint32_t>(file, list + k, field)));
    }
    break;
  }
  return names;
}

// How good an entry is for this processor, 0 the best; nothing when it cannot be used. An entry
// with a bit of the old capabilities scheme needs what no list here names.
std::optional<std::size_t> rank_of(const Entry& entry, const std::vector<std::string_view>& names,
                                   const std::vector<std::string>& capabilities) {
  constexpr std::uint64_t by_name = std::uint64_t{1} << 62;  // DL_CACHE_HWCAP_EXTENSION
  if (entry.capabilities == 0) return capabilities.size();
  std::uint64_t index = entry.capabilities & 0xffffffff;
  if ((entry.capabilities & ~std::uint64_t{0xffffffff}) != by_name || index >= names.size()) {
    return std::nullopt;
  }
  auto known = std::find(capabilities.begin(), capabilities.end(), names[index]);
  if (known == capabilities.end()) return std::nullopt;
  return static_cast<std::size_t>(known - capabilities.begin());
}

// The new format stands alone, or behind the entries of the old one, aligned to 8.
Bytes new_format(Bytes file) {
  auto starts = [](Bytes bytes, std::string_view magic) {
    return bytes.size() >= magic.size() &&
           std::equal(magic.begin(), magic.end(), bytes.begin(),
                      [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
  };
  if (starts(file, new_magic)) return file;
  if (!starts(file, old_magic)) {
    throw Unreadable("ld.so.cache magic", 0, "is none that glibc writes");
  }
  // struct cache_file: the magic in 12 bytes, a count, and entries of three words.
  auto count = load<std::uint32_t>(file, 12, "ld.so.cache count");
  std::uint64_t at = (16 + std::uint64_t{count} * 12 + 7) / 8 * 8;
  Bytes rest = at < file.size() ? file.subspan(at) : Bytes();
  if (!starts(rest, new_magic)) {
    throw Unreadable("ld.so.cache", at, "holds the old format only");
  }
  return rest;
}

}  // namespace

std::unordered_map<std::string, std::string> read_ld_cache(
    Bytes file, std::uint16_t machine, const std::vector<std::string>& capabilities) {
  Bytes cache = new_format(file);
  auto header = load<Header>(cache, 0, "ld.so.cache header");
  if (!fits(sizeof(Header), std::uint64_t{header.count} * sizeof(Entry), cache.size())) {
    throw Unreadable("ld.so.cache count", 20, "is more than the file holds");
  }
  std::vector<std::string_view> names = capability_names(file, cache, header.extensions_at);
  std::unordered_map<std::string, std::string> out;
  std::unordered_map<std::string, std::size_t> ranks;
  // Names may be the ends of paths, but no two paths lie in each other: what is copied is not much
  // more than the file.
  std::uint64_t allowed = 4 * std::uint64_t{cache.size()};
  for (std::uint64_t i = 0; i < header.count; ++i) {
    auto entry = load<Entry>(cache, sizeof(Header) + i * sizeof(Entry), "ld.so.cache entry");
    if (entry.flags != wanted_flags(machine)) continue;
    std::optional<std::size_t> rank = rank_of(entry, names, capabilities);
    if (!rank) continue;
    std::string_view name_text = text_at(cache, entry.key), path = text_at(cache, entry.value);
    if (name_text.size() + path.size() > allowed) {
      throw Unreadable("ld.so.cache string", entry.value, "overlaps with too many others");
    }
    allowed -= name_text.size() + path.size();
    std::string name(name_text);
    auto [known, fresh] = ranks.emplace(name, *rank);
    if (!fresh && known->second <= *rank) continue;
    known->second = *rank;
    out[name] = path;
  }
  return out;
}

}  // namespace wheelvet
