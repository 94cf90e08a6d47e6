// A file as a stream of chunks: the same facts as from the whole, or a Problem. The first two bytes
// of the input give the size of the chunks.
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "facts/elf_facts.h"
#include "facts/spool.h"
#include "mutate_elf.h"

using namespace wheelvet;

namespace {

std::optional<ElfFacts> read(const FileView& view) {
  try {
    return read_elf(view);
  } catch (const Unreadable& error) {
    if (error.problem().reason.empty()) std::abort();
    return std::nullopt;
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  return fuzz::mutate_elf(data, size, most, seed, 2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::size_t chunk = std::size_t{1} + data[0] + std::size_t{data[1]} * 256;
  Bytes bytes(data + 2, size - 2);
  std::vector<FileRange> wanted;
  for (int pass = 0; pass < 3; ++pass) {
    Spool spool(bytes.size(), wanted);
    for (std::size_t at = 0; at < bytes.size(); at += chunk) {
      if (!spool.feed(bytes.subspan(at, std::min(chunk, bytes.size() - at)))) return 0;
    }
    if (bytes.empty() || spool.kind() != FileKind::elf) return 0;
    std::optional<ElfFacts> facts = read(spool.view());
    if (!facts && !spool.missed().empty()) {
      wanted.insert(wanted.end(), spool.missed().begin(), spool.missed().end());
      continue;
    }
    std::optional<ElfFacts> whole = read(view_of(bytes));
    if (facts.has_value() != whole.has_value()) std::abort();
    if (facts && facts->symbols.symbols != whole->symbols.symbols) std::abort();
    return 0;
  }
  return 0;
}
