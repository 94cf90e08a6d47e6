// The note that a loader slice carries: what ELF's own structures in it cannot hold.
#pragma once

#include <elf.h>

#include <cstdint>
#include <vector>

#include "facts/elf_layout.h"
#include "wheelvet/facts.h"

namespace wheelvet {

inline constexpr const char* stub_note_name = "wheelvet";
inline constexpr std::uint32_t stub_note_type = 1;
inline constexpr std::uint32_t rejection_note_type =
    3;  ///< ElfFacts::rejection; 2 is device_note.h's
inline constexpr std::uint64_t max_stub_note_bytes = 64u << 20;

/// What a slice cannot hold in ELF's own structures.
struct StubNote {
  std::uint64_t original_size = 0;        ///< bytes
  std::vector<Elf64_Phdr> segments;       ///< the original's program headers
  std::vector<std::uint8_t> relocations;  ///< RelocationUse per symbol, instead of the entries
};

std::vector<std::uint8_t> write_stub_note(const StubNote& note);
StubNote read_stub_note(Bytes desc);

}  // namespace wheelvet
