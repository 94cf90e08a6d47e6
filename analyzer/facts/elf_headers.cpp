#include "facts/elf_headers.h"

#include <LIEF/ELF.hpp>

#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "facts/slice.h"

namespace wheelvet {
namespace {

// Elf64_Phdr of the gABI. <elf.h> cannot be included here: LIEF names its constants like its
// macros.
struct ProgramHeader {
  std::uint32_t type, flags;
  std::uint64_t offset, address, physical, file_size, memory_size, alignment;
};

std::unique_ptr<LIEF::ELF::Binary> parse(const std::vector<std::uint8_t>& slice) {
  // The slice has section headers; the count through the GNU hash refuses bloom filters of over 512
  // words.
  return LIEF::ELF::Parser::parse(slice, "slice", LIEF::ELF::DYNSYM_COUNT_METHODS::COUNT_SECTION);
}

std::string hex(const std::vector<std::uint8_t>& bytes) {
  std::string out;
  for (std::uint8_t byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

void add_segments(const ElfFacts& facts, std::vector<std::string>& lines) {
  for (std::size_t at = 0; at + sizeof(ProgramHeader) <= facts.program_headers.size();
       at += sizeof(ProgramHeader)) {
    ProgramHeader header;
    std::memcpy(&header, facts.program_headers.data() + at, sizeof header);
    auto type = static_cast<LIEF::ELF::SEGMENT_TYPES>(header.type);
    auto flag = [&](unsigned bit, char letter) { return header.flags & bit ? letter : '-'; };
    lines.push_back(fmt::format(
        "segment {:<14} {}{}{}  offset {:#x}  address {:#x}  size {} of {}  align {:#x}",
        LIEF::ELF::to_string(type), flag(4, 'R'), flag(2, 'W'), flag(1, 'X'), header.offset,
        header.address, header.file_size, header.memory_size, header.alignment));
  }
}

}  // namespace

std::vector<std::string> header_lines(const ElfFacts& facts) {
  std::vector<std::string> lines;
  add_segments(facts, lines);
  ElfFacts slim = facts;  // names and tables without the symbols: LIEF would copy each of them
  slim.symbols = SymbolTable{};
  slim.symbols.strings = {0};
  std::unique_ptr<LIEF::ELF::Binary> binary = parse(write_slice(slim));
  if (!binary) return lines;
  const LIEF::ELF::Header& header = binary->header();
  lines.insert(lines.begin(),
               fmt::format("header  {} {} {}", LIEF::ELF::to_string(header.file_type()),
                           LIEF::ELF::to_string(header.machine_type()),
                           LIEF::ELF::to_string(header.identity_os_abi())));
  for (const LIEF::ELF::DynamicEntry& entry : binary->dynamic_entries()) {
    std::string text = LIEF::ELF::to_string(entry.tag());
    if (const auto* library = dynamic_cast<const LIEF::ELF::DynamicEntryLibrary*>(&entry)) {
      lines.push_back(fmt::format("dynamic {:<14} {}", text, library->name()));
    } else if (const auto* soname = dynamic_cast<const LIEF::ELF::DynamicSharedObject*>(&entry)) {
      lines.push_back(fmt::format("dynamic {:<14} {}", text, soname->name()));
    } else if (const auto* rpath = dynamic_cast<const LIEF::ELF::DynamicEntryRpath*>(&entry)) {
      lines.push_back(fmt::format("dynamic {:<14} {}", text, rpath->rpath()));
    } else if (const auto* runpath = dynamic_cast<const LIEF::ELF::DynamicEntryRunPath*>(&entry)) {
      lines.push_back(fmt::format("dynamic {:<14} {}", text, runpath->runpath()));
    } else if (const auto* flags = dynamic_cast<const LIEF::ELF::DynamicEntryFlags*>(&entry)) {
      std::vector<std::string> names;
      for (const auto& flag : flags->flags()) {
        bool first = entry.tag() == LIEF::ELF::DYNAMIC_TAGS::DT_FLAGS;
        names.emplace_back(
            first ? LIEF::ELF::to_string(static_cast<LIEF::ELF::DYNAMIC_FLAGS>(flag))
                  : LIEF::ELF::to_string(static_cast<LIEF::ELF::DYNAMIC_FLAGS_1>(flag)));
      }
      lines.push_back(fmt::format("dynamic {:<14} {}", text, fmt::join(names, " ")));
    }
  }
  return lines;
}

DecodedTables decode_slice(const std::vector<std::uint8_t>& slice) {
  DecodedTables out;
  std::unique_ptr<LIEF::ELF::Binary> binary = parse(slice);  // must outlive every iterator below
  if (!binary) return out;
  for (const LIEF::ELF::DynamicEntry& entry : binary->dynamic_entries()) {
    if (const auto* library = dynamic_cast<const LIEF::ELF::DynamicEntryLibrary*>(&entry)) {
      out.needed.push_back(library->name());
    } else if (const auto* soname = dynamic_cast<const LIEF::ELF::DynamicSharedObject*>(&entry)) {
      out.soname = soname->name();
    } else if (const auto* rpath = dynamic_cast<const LIEF::ELF::DynamicEntryRpath*>(&entry)) {
      out.rpath = rpath->rpath();
    } else if (const auto* runpath = dynamic_cast<const LIEF::ELF::DynamicEntryRunPath*>(&entry)) {
      out.runpath = runpath->runpath();
    }
  }
  for (const LIEF::ELF::Symbol& symbol : binary->dynamic_symbols()) {
    static_cast<void>(symbol);
    ++out.symbols;
  }
  for (const LIEF::ELF::SymbolVersionRequirement& need : binary->symbols_version_requirement()) {
    for (const LIEF::ELF::SymbolVersionAuxRequirement& aux : need.auxiliary_symbols()) {
      out.needed_versions.push_back(need.name() + " " + aux.name());
    }
  }
  for (const LIEF::ELF::SymbolVersionDefinition& definition :
       binary->symbols_version_definition()) {
    if (definition.flags() & 1) continue;  // VER_FLG_BASE
    for (const LIEF::ELF::SymbolVersionAux& aux : definition.symbols_aux()) {
      out.defined_versions.push_back(aux.name());
      break;
    }
  }
  for (const LIEF::ELF::Note& note : binary->notes()) {
    if (note.name() == "GNU" && static_cast<unsigned>(note.type()) == 3) {
      out.build_id = hex(note.description());
    }
  }
  return out;
}

}  // namespace wheelvet
