// The zip directory, and every member streamed to its end or to a limit.
#include <cstdint>
#include <cstdlib>

#include "input/archive.h"
#include "support/temporary_file.h"

using namespace wheelvet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::TemporaryFile file("");
  file.replace({reinterpret_cast<const char*>(data), size});
  try {
    RandomFile archive(file.path());
    Input input;
    read_archive(archive, input);
    std::uint64_t budget = 8u << 20;
    for (const Member& member : input.members) {
      try {
        std::uint64_t given = 0;
        stream_member(archive, member, [&](Bytes bytes) {
          given += bytes.size();
          if (bytes.size() > budget) return false;
          budget -= bytes.size();
          return true;
        });
        if (given > member.size + (256u << 10)) std::abort();
      } catch (const Unreadable& error) {
        if (error.problem().reason.empty()) std::abort();
      }
    }
  } catch (const Unreadable& error) {
    if (error.problem().reason.empty()) std::abort();
  }
  return 0;
}
