// Objects that every release of the loader refuses, or dies of, by what their own headers and
// tables say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "facts/elf_layout.h"

namespace wheelvet {

/// Each gives the reason, in glibc's words where it has any; empty when there is none.
std::string rejection_of_header(const Elf64_Ehdr& header);
std::string rejection_of_segments(const std::vector<Elf64_Phdr>& segments);
/// Unreadable when pages go where something else may lie, or when it depends on the machine whether
/// there is room for all.
void check_mapping(const std::vector<Elf64_Phdr>& segments);
/// Unreadable when what is made read-only after relocation reaches out of the object: whatever lies
/// there is hit.
void check_relro(const std::vector<Elf64_Phdr>& segments);
std::string rejection_of_dynamic(const ElfLayout& layout, const std::vector<Elf64_Dyn>& dynamic);
/// True when the loader knows what to do for that type of relocation.
bool is_known_relocation(std::uint16_t machine, std::uint32_t type);

/// Which pages of the memory of an object are mapped: of PT_LOADs that share pages the last counts.
class Pages {
 public:
  explicit Pages(const std::vector<Elf64_Phdr>& segments);
  /// The flags (PF_*) of the page that `address` lies on; nothing when there is none.
  std::optional<std::uint32_t> flags_at(std::uint64_t address) const {
    for (std::size_t tried = 0; tried <= ranges_.size(); ++tried) {
      const Range& range = tried == 0 ? last_ : ranges_[tried - 1];
      if (address - range.begin < range.end - range.begin) {
        last_ = range;
        return range.flags;
      }
    }
    return std::nullopt;
  }

 private:
  struct Range {
    std::uint64_t begin = 0, end = 0;
    std::uint32_t flags = 0;
  };
  std::vector<Range> ranges_;
  mutable Range last_;  // neighbours in a table of relocations mostly lie on one range
};

}  // namespace wheelvet
