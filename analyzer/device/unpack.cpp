#define ZSTD_STATIC_LINKING_ONLY  // block by block, without a window that the frame decides on
#define ZSTD_DISABLE_DEPRECATE_WARNINGS
#include "device/unpack.h"

#include <lz4.h>
#include <zstd.h>

#include <memory>

namespace wheelvet {
namespace {

constexpr const char* field = "packed image";
constexpr std::uint64_t largest_block = 128u << 10;  // RFC 8878, 3.1.1.2.4
constexpr std::uint64_t largest_frame_header = 18;   // RFC 8878, 3.1.1.1
constexpr std::uint64_t block_header = 3;

ZSTD_DCtx* context() {
  struct Free {
    void operator()(ZSTD_DCtx* each) const { ZSTD_freeDCtx(each); }
  };
  thread_local std::unique_ptr<ZSTD_DCtx, Free> own(ZSTD_createDCtx());
  return own.get();
}

std::vector<std::uint8_t> zstd_front(Bytes packed, std::size_t wanted) {
  thread_local std::vector<std::uint8_t> block(largest_block + wanted);
  ZSTD_DCtx* state = context();
  ZSTD_decompressBegin(state);
  std::size_t have = 0;
  while (have < wanted) {
    std::size_t next = ZSTD_nextSrcSizeToDecompress(state);
    if (next == 0 || next > packed.size()) break;
    std::size_t got = ZSTD_decompressContinue(state, block.data() + have, block.size() - have,
                                              packed.data(), next);
    if (ZSTD_isError(got)) break;
    have += got;
    packed = packed.subspan(next);
  }
  block.resize(std::max<std::size_t>(block.size(), largest_block + wanted));
  std::size_t end = std::min(have, wanted);
  return {block.begin(), block.begin() + static_cast<std::ptrdiff_t>(end)};
}

std::vector<std::uint8_t> lz4_front(Bytes packed, std::size_t wanted) {
  std::vector<std::uint8_t> out(wanted);
  int got = LZ4_decompress_safe_partial(
      reinterpret_cast<const char*>(packed.data()), reinterpret_cast<char*>(out.data()),
      static_cast<int>(packed.size()), static_cast<int>(wanted), static_cast<int>(wanted));
  out.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return out;
}

}  // namespace

std::uint64_t front_bytes(Packing packing) {
  // LZ4: every match of a block gives at least four bytes of output for three of input.
  constexpr std::uint64_t lz4 = 512;
  if (packing == Packing::lz4) return lz4;
  if (packing == Packing::zstd) return largest_frame_header + block_header + largest_block;
  return 0;
}

std::vector<std::uint8_t> unpack_front(Bytes packed, Packing packing, std::size_t wanted) {
  if (packing == Packing::zstd) return zstd_front(packed, wanted);
  if (packing == Packing::lz4) return lz4_front(packed, wanted);
  Bytes front = packed.first(std::min(packed.size(), wanted));
  return {front.begin(), front.end()};
}

std::vector<std::uint8_t> unpack(Bytes packed, Packing packing, std::uint64_t unpacked) {
  if (packing == Packing::raw) return {packed.begin(), packed.end()};
  if (packed.size() > max_unpacked || unpacked > max_unpacked) {
    throw Unreadable(field, std::nullopt, "is larger than 16 MiB");
  }
  std::vector<std::uint8_t> out(unpacked);
  bool whole = false;
  if (packing == Packing::zstd) {
    std::size_t got =
        ZSTD_decompressDCtx(context(), out.data(), out.size(), packed.data(), packed.size());
    whole = !ZSTD_isError(got) && got == out.size();
  } else {
    int got = LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()),
                                  reinterpret_cast<char*>(out.data()),
                                  static_cast<int>(packed.size()), static_cast<int>(out.size()));
    whole = got >= 0 && static_cast<std::size_t>(got) == out.size();
  }
  if (!whole) throw Unreadable(field, std::nullopt, "is not what its header says when unpacked");
  return out;
}

bool walk_frame(FrameWalk& walk, Bytes seen) {
  if (walk.at == 0) {
    ZSTD_frameHeader header;
    std::size_t needed = ZSTD_getFrameHeader(&header, seen.data(), seen.size());
    if (ZSTD_isError(needed) || (needed == 0 && header.frameType != ZSTD_frame)) return false;
    walk.needed = needed;
    if (needed != 0) return true;
    bool said = header.frameContentSize != ZSTD_CONTENTSIZE_UNKNOWN;
    walk.unpacked = said ? header.frameContentSize : 0;
    walk.checksum = header.checksumFlag != 0;
    walk.at = header.headerSize;
  }
  while (!walk.last_seen) {
    walk.needed = walk.at + block_header;
    if (walk.needed > seen.size()) return true;
    Bytes bytes = seen.subspan(walk.at, block_header);
    std::uint32_t word = bytes[0] | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16;
    std::uint32_t type = word >> 1 & 3, size = word >> 3;  // RFC 8878, 3.1.1.2
    constexpr std::uint32_t run_of_one_byte = 1, reserved = 3;
    if (type == reserved || size > largest_block) return false;
    walk.at += block_header + (type == run_of_one_byte ? 1 : size);
    if (walk.first_block_end == 0) walk.first_block_end = walk.at;
    walk.last_seen = (word & 1) != 0;
    if (walk.last_seen && walk.checksum) walk.at += 4;
  }
  walk.needed = walk.at;
  walk.done = walk.at <= seen.size();
  return true;
}

}  // namespace wheelvet
