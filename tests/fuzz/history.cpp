// The table of torch's releases, which a folder named by WHEELVET_RULES may replace. The checksums
// would hide most of the reader from a fuzzer, so one form of input is wrapped into a valid file:
//   0, then a whole table
//   1, the sizes of two parts, then: patterns, three streams of one block of names, text of facts
#include "history/history.h"

#include <cstdint>

#include "history/name_forms.h"
#include "support/made_history.h"

using namespace wheelvet;
using namespace wheelvet::test;

namespace {

constexpr char head[] =
    "opener _ZN\nnamespace 3c10\nplain a\nlibrary lib/a.so\nlibrary lib/b.so\nbuild 2.1.0 x86_64\n"
    "build 2.2.0 x86_64\n";
constexpr std::uint32_t pattern_count = 1, name_count = 2;

// The first name, so that the index agrees with the block.
Buffer first_name(const Buffer& block) {
  if (block.size() < 8 + 2) return "a";
  std::size_t lengths = static_cast<std::uint8_t>(block[0]) + std::size_t{8};
  std::size_t patterns = static_cast<std::uint8_t>(block[4]);
  std::size_t size = static_cast<std::uint8_t>(block[9]) & 0x7f;
  if (lengths + patterns > block.size()) return "a";
  return block.substr(lengths + patterns, size);
}

Buffer wrapped(Buffer data) {
  if (data.size() < 4) return data;
  auto number = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<std::uint8_t>(data[at])) |
           static_cast<std::size_t>(static_cast<std::uint8_t>(data[at + 1])) << 8;
  };
  std::size_t pattern_size = number(0), block_size = number(2);
  data.erase(0, 4);
  Buffer patterns = data.substr(0, pattern_size);
  data.erase(0, pattern_size);
  Buffer block = data.substr(0, block_size), facts = data.substr(block.size());
  Buffer first = first_name(block), packed = deflated(block), index;
  put_numbers(index, {0, packed.size(), block.size(), crc_of(block), name_count});
  index += varint(first.size()) + first;
  return table_of({1, 2, pattern_count, name_count}, {head, patterns, index, facts}, packed);
}

void use(const Buffer& bytes) {
  History history =
      read_history({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  std::string some;
  try {
    each_name(history, "", [&](std::string_view name, const std::vector<Export>&) {
      covers(history, name);
      if (some.empty()) some = name;
    });
    if (!history.builds.empty()) story_of(history, some, 0);
  } catch (const Unreadable&) {
  }
  for (const BuildFacts& facts : read_build_facts(history)) version_floor(facts, "GLIBC");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Buffer rest(reinterpret_cast<const char*>(data + 1), size - 1);
  try {
    use(data[0] & 1 ? wrapped(std::move(rest)) : rest);
  } catch (const Unreadable&) {
  }
  return 0;
}
