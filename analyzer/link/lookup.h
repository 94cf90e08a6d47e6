// Symbol lookup through an object's own hash table, as the loader does it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wheelvet/facts.h"

namespace wheelvet {

/// A name as glibc keeps it for a version index (struct r_found_version).
struct WantedVersion {
  std::string_view name;
  std::uint32_t hash = 0;
  bool hidden = false;  ///< bit 15 of vna_other
  std::string_view file;
};

/// The version names of an object by index: needs and definitions together (l_versions).
class VersionNames {
 public:
  explicit VersionNames(const ElfFacts& elf);
  /// The version wanted by a raw DT_VERSYM entry; nothing for local, global and unknown indices.
  std::optional<WantedVersion> of(std::uint16_t raw) const;
  bool any() const { return any_; }
  std::uint32_t hash(std::uint16_t index) const;
  std::string_view name(std::uint16_t index) const;

 private:
  std::vector<WantedVersion> by_index_;
  bool any_ = false;
};

struct LookupName {
  std::string_view text;
  std::uint32_t gnu_hash = 0;
  bool plt_only = false;  ///< every relocation that refers to it is of the loader's PLT class

  explicit LookupName(std::string_view name, bool plt = false);
};

/// Index of the definition that glibc's do_lookup_x would take from this object, or nothing.
std::optional<std::size_t> find_definition(const ElfFacts& elf, const VersionNames& versions,
                                           const LookupName& name,
                                           const std::optional<WantedVersion>& version);

/// True for a symbol that the loader looks up for a relocation and that may be found elsewhere: an
/// import, or one of the object's own that its hash table may not lead to.
bool sought(const SymbolTable& table, std::size_t index);

/// Any defined global of that name, whatever its version or visibility and whether the hash table
/// reaches it or not: for explanations.
std::optional<std::size_t> find_by_name(const ElfFacts& elf, std::string_view name);

}  // namespace wheelvet
