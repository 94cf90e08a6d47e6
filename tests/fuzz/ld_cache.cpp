// read_ld_cache over any bytes: what comes out are names and paths of the file, or the reason.
#include <elf.h>

#include <cstdint>
#include <cstdlib>

#include "machine/ld_cache.h"
#include "wheelvet/problem.h"

using namespace wheelvet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (int machine : {EM_X86_64, EM_AARCH64}) {
    try {
      for (const auto& [name, path] :
           read_ld_cache(Bytes(data, size), static_cast<std::uint16_t>(machine),
                         {"x86-64-v3", "x86-64-v2"})) {
        if (name.size() > size || path.size() > size) std::abort();
      }
    } catch (const Unreadable& error) {
      if (error.problem().reason.empty()) std::abort();
    }
  }
  return 0;
}
