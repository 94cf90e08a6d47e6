#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <fmt/format.h>

#include <memory>

#include "input/archive.h"
#include "input/inflate.h"

namespace wheelvet {
namespace {

// Windows that stay in the second-level cache: inflating a library into fresh memory costs two to
// three times the inflate in page faults.
constexpr std::size_t window_in = 256u << 10;
constexpr std::size_t window_out = 256u << 10;

// One per thread, reused: the state and the windows are some 800 kB.
struct Workspace {
  inflate_state state;
  std::vector<std::uint8_t> in = std::vector<std::uint8_t>(window_in);
  std::vector<std::uint8_t> out = std::vector<std::uint8_t>(window_out);
};

Workspace& workspace() {
  thread_local std::unique_ptr<Workspace> own = std::make_unique<Workspace>();
  return *own;
}

// What was given out so far, compared with what the archive promises.
struct Tally {
  const Member& member;
  std::uint64_t size = 0;
  std::uint32_t crc = 0;

  void add(Bytes bytes) {
    size += bytes.size();
    crc = crc32_gzip_refl(crc, bytes.data(), bytes.size());
  }
  StreamResult result() const {
    return {true, size != member.size, size == member.size && crc != member.crc};
  }
};

StreamResult stream_stored(const RandomFile& file, const Member& member,
                           const std::function<bool(Bytes)>& sink) {
  Workspace& work = workspace();
  Tally tally{member};
  for (std::uint64_t at = 0; at < member.packed_size; at += window_in) {
    std::uint64_t n = std::min<std::uint64_t>(window_in, member.packed_size - at);
    std::span<std::uint8_t> window = std::span(work.in).first(n);
    file.read(member.data_offset + at, window);
    tally.add(window);
    if (!sink(window)) return {};
  }
  return tally.result();
}

const char* decode_error(int code) {
  switch (code) {
    case ISAL_INVALID_BLOCK:
      return "invalid deflate block";
    case ISAL_INVALID_SYMBOL:
      return "invalid deflate symbol";
    case ISAL_INVALID_LOOKBACK:
      return "deflate looks back before the start";
    default:
      return "not valid deflate data";
  }
}

StreamResult stream_deflated(const RandomFile& file, const Member& member,
                             const std::function<bool(Bytes)>& sink) {
  Workspace& work = workspace();
  inflate_state& state = work.state;
  isal_inflate_init(&state);
  Tally tally{member};
  std::uint64_t taken = 0;
  for (;;) {
    if (state.avail_in == 0 && taken < member.packed_size) {
      std::uint64_t n = std::min<std::uint64_t>(window_in, member.packed_size - taken);
      file.read(member.data_offset + taken, std::span(work.in).first(n));
      state.next_in = work.in.data();
      state.avail_in = static_cast<std::uint32_t>(n);
      taken += n;
    }
    state.next_out = work.out.data();
    state.avail_out = static_cast<std::uint32_t>(window_out);
    int code = isal_inflate(&state);
    if (code < 0) {
      throw Unreadable("deflate data", member.data_offset + taken - state.avail_in,
                       decode_error(code));
    }
    Bytes window(work.out.data(), window_out - state.avail_out);
    bool finished = state.block_state == ISAL_BLOCK_FINISH;
    if (window.empty() && !finished && state.avail_in == 0 && taken == member.packed_size) {
      throw Unreadable("deflate data", member.data_offset + taken, "ends before its last block");
    }
    tally.add(window);
    if (tally.size > member.size) return {true, true, false};
    if (!window.empty() && !sink(window)) return {};
    if (finished) {
      bool left_over = state.avail_in != 0 || taken != member.packed_size;
      StreamResult result = tally.result();
      result.size_differs = result.size_differs || left_over;
      return result;
    }
  }
}

}  // namespace

StreamResult stream_member(const RandomFile& file, const Member& member,
                           const std::function<bool(Bytes)>& sink) {
  if (member.method == 0) return stream_stored(file, member, sink);
  if (member.method == 8) return stream_deflated(file, member, sink);
  throw Unreadable("compression method", member.header_offset,
                   fmt::format("{} is neither stored nor deflate", member.method));
}

std::vector<std::uint8_t> inflate_bytes(Bytes packed, std::uint32_t size, std::uint32_t crc,
                                        std::string_view field, std::uint64_t offset) {
  constexpr std::uint64_t best_ratio = 1032;  // zlib's technical note
  if (size > packed.size() * best_ratio) {
    throw Unreadable(field, offset, "says to be larger than deflate can make it");
  }
  std::vector<std::uint8_t> out(size);
  inflate_state& state = workspace().state;
  isal_inflate_init(&state);
  state.next_in = const_cast<std::uint8_t*>(packed.data());
  state.avail_in = static_cast<std::uint32_t>(packed.size());
  state.next_out = out.data();
  state.avail_out = size;
  int code = isal_inflate_stateless(&state);
  if (code < 0) throw Unreadable(field, offset, decode_error(code));
  if (code != ISAL_DECOMP_OK || state.avail_out != 0 || state.avail_in != 0) {
    throw Unreadable(field, offset, "is not as long as it says");
  }
  if (crc32_gzip_refl(0, out.data(), out.size()) != crc) {
    throw Unreadable(field, offset, "has another CRC-32");
  }
  return out;
}

}  // namespace wheelvet
