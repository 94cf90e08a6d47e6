// The note of a slice: what is read is written as the same bytes.
#include <cstdint>
#include <cstdlib>

#include "facts/elf_stub.h"

using namespace wheelvet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    StubNote note = read_stub_note(Bytes(data, size));
    std::vector<std::uint8_t> again = write_stub_note(note);
    if (!std::equal(again.begin(), again.end(), data, data + size)) std::abort();
  } catch (const Unreadable& error) {
    if (error.problem().reason.empty()) std::abort();
  }
  return 0;
}
