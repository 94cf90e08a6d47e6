// Mutations of libFuzzer's and of ours by turns: where most bytes of a format are not looked at, or
// a sum has to fit, those of ours change a field that counts.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace wheelvet::fuzz {

using Random = std::minstd_rand;

inline std::size_t below(Random& random, std::size_t end) { return end == 0 ? 0 : random() % end; }

/// Little-endian fields; what lies outside of the data reads as 0 and is not written.
struct Fields {
  std::uint8_t* data;
  std::size_t size;

  bool has(std::uint64_t at, std::size_t width) const { return at <= size && width <= size - at; }
  std::uint64_t get(std::uint64_t at, std::size_t width) const {
    std::uint64_t value = 0;
    if (has(at, width)) std::memcpy(&value, data + at, width);
    return value;
  }
  void set(std::uint64_t at, std::size_t width, std::uint64_t value) const {
    if (has(at, width)) std::memcpy(data + at, &value, width);
  }
};

/// A value that readers get wrong: a bound, a neighbour of what is there, a size or place in a file
/// of `size` bytes.
inline std::uint64_t odd_value(Random& random, std::uint64_t now, std::size_t size) {
  switch (random() % 12) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return ~std::uint64_t{0};
    case 3:
      return 0x7fffffffffffffff;
    case 4:
      return 0xffffffff;
    case 5:
      return size;
    case 6:
      return size - below(random, 64);
    case 7:
      return now + 1;
    case 8:
      return now - 1;
    case 9:
      return now * 2;
    case 10:
      return below(random, size + 1);
    default:
      return now ^ std::uint64_t{1} << random() % 64;
  }
}

}  // namespace wheelvet::fuzz
