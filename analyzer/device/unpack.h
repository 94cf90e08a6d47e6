// Packed payloads of device code: raw LZ4 blocks and zstd frames.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "facts/bytes.h"
#include "wheelvet/device_code.h"

namespace wheelvet {

/// Most bytes that an image may have, packed or not, to be unpacked.
inline constexpr std::uint64_t max_unpacked = 16u << 20;

/// Bytes of a packed payload after which `unpack_front` surely has enough.
std::uint64_t front_bytes(Packing packing);

/// The first `wanted` bytes of a payload of which `packed` is the beginning; fewer, or none, when
/// they cannot be had.
std::vector<std::uint8_t> unpack_front(Bytes packed, Packing packing, std::size_t wanted);

/// The whole payload. Unreadable when it is no valid data, or larger than `max_unpacked` or than
/// its header says; nothing is allocated before the size is judged.
std::vector<std::uint8_t> unpack(Bytes packed, Packing packing, std::uint64_t unpacked);

/// A walk over the blocks of a zstd frame of which more and more is seen.
struct FrameWalk {
  std::uint64_t needed = 5;    ///< bytes of the frame that must be at hand to go on
  std::uint64_t at = 0;        ///< of the next block, in bytes; when done the end of the frame
  std::uint64_t unpacked = 0;  ///< content size in its header; 0 when it does not say
  std::uint64_t first_block_end = 0;
  bool checksum = false;
  bool last_seen = false;
  bool done = false;
};

/// Goes on as far as `seen`, the frame's first bytes, allows. False when it is no zstd frame.
bool walk_frame(FrameWalk& walk, Bytes seen);

}  // namespace wheelvet
