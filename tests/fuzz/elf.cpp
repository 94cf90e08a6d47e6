// read_elf over bytes in memory; whatever facts come out, every name can be asked for and a slice
// of them can be written and read.
#include <cstdint>
#include <cstdlib>

#include "facts/elf_facts.h"
#include "facts/elf_layout.h"
#include "facts/slice.h"
#include "link/lookup.h"
#include "mutate_elf.h"

using namespace wheelvet;

namespace {

void use(const ElfFacts& elf) {
  VersionNames versions(elf);
  for (std::size_t i = 0; i < elf.symbols.count && i < 1000; ++i) {
    Symbol symbol = elf.symbols.at(i);
    find_definition(elf, versions, LookupName(symbol.name), versions.of(symbol.version));
    find_definition(elf, versions, LookupName(symbol.name), std::nullopt);
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  return fuzz::mutate_elf(data, size, most, seed, 0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  if (classify(bytes.first(std::min<std::size_t>(size, 4096)), size) != FileKind::elf) return 0;
  try {
    FileView view = view_of(bytes);
    ElfFacts facts = read_elf(view);
    use(facts);
    std::vector<std::uint8_t> slice = write_slice(facts);
    ElfFacts again;
    try {
      again = read_elf(view_of(Bytes(slice)));
    } catch (const Unreadable&) {
      std::abort();  // what we write we must be able to read
    }
    if (again.needed != facts.needed || again.symbols.count != facts.symbols.count) std::abort();
  } catch (const Unreadable& error) {
    if (error.problem().reason.empty()) std::abort();
  }
  return 0;
}
