// Mends an archive after libFuzzer has changed it: the offsets, sizes, CRCs and counts of its
// directory fit again, so that what else was changed is looked at.
#pragma once

#include <zlib.h>

#include <vector>

#include "mutate.h"

namespace wheelvet::fuzz {

// APPNOTE.TXT 4.3.7, 4.3.12, 4.3.16: where fields lie in the headers.
struct ArchiveMender {
  Fields file;
  Random& random;

  void mend() {
    std::vector<std::size_t> locals = places(0x04034b50), centrals = places(0x02014b50);
    for (std::size_t i = 0; i < centrals.size() && i < locals.size(); ++i) {
      if (random() % 4 != 0) mend_sum(locals[i]);
      if (random() % 4 != 0) mend_pair(locals[i], centrals[i]);
    }
    std::vector<std::size_t> ends = places(0x06054b50);
    if (centrals.empty() || ends.empty()) return;
    file.set(ends.back() + 8, 2, centrals.size());
    file.set(ends.back() + 10, 2, centrals.size());
    file.set(ends.back() + 12, 4, ends.back() - centrals.front());
    file.set(ends.back() + 16, 4, centrals.front());
    file.set(ends.back() + 20, 2, file.size - ends.back() - 22);
  }

 private:
  std::vector<std::size_t> places(std::uint32_t signature) const {
    std::vector<std::size_t> out;
    for (std::size_t at = 0; at + 4 <= file.size && out.size() < 64; ++at) {
      if (file.get(at, 4) == signature) out.push_back(at);
    }
    return out;
  }

  // Of a stored member: size and CRC of the bytes as they are now.
  void mend_sum(std::size_t local) {
    std::size_t data = local + 30 + file.get(local + 26, 2) + file.get(local + 28, 2);
    std::size_t size = file.get(local + 18, 4);
    if (file.get(local + 8, 2) != 0 || !file.has(data, size)) return;
    file.set(local + 14, 4, crc32(0, file.data + data, static_cast<uInt>(size)));
    file.set(local + 22, 4, size);
  }

  // Flags to sizes, and the place: the directory says what the local header says.
  void mend_pair(std::size_t local, std::size_t central) {
    for (std::size_t at = 0; at < 20; at += 2)
      file.set(central + 8 + at, 2, file.get(local + 6 + at, 2));
    file.set(central + 42, 4, local);
  }
};

inline std::size_t mutate_archive(std::uint8_t* data, std::size_t size, std::size_t most,
                                  unsigned seed) {
  Random random(seed);
  size = LLVMFuzzerMutate(data, size, most);
  if (random() % 4 != 0) ArchiveMender{{data, size}, random}.mend();
  return size;
}

}  // namespace wheelvet::fuzz
