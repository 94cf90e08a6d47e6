// Prints what read_elf says of each file named, as lines that a script can compare with readelf's.
#include <elf.h>
#include <fmt/format.h>

#include "facts/elf_facts.h"
#include "facts/elf_layout.h"
#include "facts/file_kind.h"
#include "input/random_file.h"
#include "link/lookup.h"
#include "report/printable.h"

using namespace wheelvet;

namespace {

std::string version_text(const VersionNames& versions, const Symbol& symbol) {
  std::uint16_t index = symbol.version & 0x7fff;
  if (index < 2 || versions.name(index).empty()) return "";
  bool is_default = symbol.section != SHN_UNDEF && (symbol.version & 0x8000) == 0;
  return fmt::format("{}{}", is_default ? "@@" : "@", versions.name(index));
}

void print(const ElfFacts& elf) {
  for (const std::string& name : elf.needed) fmt::print("needed {}\n", printable(name));
  if (!elf.soname.empty()) fmt::print("soname {}\n", printable(elf.soname));
  if (elf.rpath) fmt::print("rpath {}\n", printable(*elf.rpath));
  if (elf.runpath) fmt::print("runpath {}\n", printable(*elf.runpath));
  for (const VersionNeed& need : elf.version_needs) {
    for (const NeededVersion& version : need.versions) {
      fmt::print("wants {} {} {} {}\n", need.file, version.name, version.index,
                 version.weak ? "weak" : "-");
    }
  }
  for (const VersionDefinition& each : elf.version_definitions) {
    fmt::print("defines {} {} {}\n", each.name, each.index, each.base ? "base" : "-");
  }
  VersionNames versions(elf);
  for (std::size_t i = 1; i < elf.symbols.count; ++i) {
    Symbol symbol = elf.symbols.at(i);
    fmt::print("symbol {} {:x} {} {} {} {} {} {}{}\n", i, symbol.value, symbol.size, symbol.type,
               symbol.binding, symbol.visibility, symbol.section, printable(symbol.name),
               version_text(versions, symbol));
  }
  for (const std::string& oddity : elf.oddities) fmt::print("oddity {}\n", oddity);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    fmt::print("file {}\n", argv[i]);
    try {
      RandomFile file(argv[i]);
      FileView view = view_of(file);
      FileKind kind =
          classify(view.bytes(0, std::min<std::uint64_t>(4096, file.size())), file.size());
      if (kind == FileKind::elf) {
        print(read_elf(view));
      } else {
        fmt::print("kind {}\n", to_string(kind));
      }
    } catch (const Unreadable& error) {
      fmt::print("problem {}\n", error.what());
    }
  }
  return 0;
}
