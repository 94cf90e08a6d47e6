// A file's bytes, wherever they are held: a descriptor, memory, or what a stream left behind.
#pragma once

#include <cstdint>
#include <functional>

#include "facts/bytes.h"

namespace wheelvet {

/// `bytes(offset, size)` gives exactly those bytes, valid until the next call, or throws
/// Unreadable.
struct FileView {
  std::uint64_t size = 0;
  std::function<Bytes(std::uint64_t offset, std::uint64_t size)> bytes;
};

/// A view of bytes in memory.
inline FileView view_of(Bytes data) {
  return {data.size(), [data](std::uint64_t offset, std::uint64_t size) {
            return slice(data, offset, size, "file");
          }};
}

}  // namespace wheelvet
