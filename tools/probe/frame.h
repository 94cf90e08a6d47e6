// Messages between the probe and a step's process, on a private socket. A library in that process
// may write to any descriptor: each frame carries a keyed checksum, and the key came to the step
// before any library did.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace wheelvet::probe {

using FrameKey = std::array<unsigned char, 16>;

enum class FrameType : std::uint32_t {
  result = 1,  // the step's answer, JSON; the last frame of a step
  stage = 2,   // what the step is about to do, for when it never comes back
  share = 3,   // bytes for every sibling, passed on by the parent
  abort = 4,   // parent to child: a sibling failed
  // Between the probes of several hosts, besides share and abort.
  hello = 5,   // a rank to rank 0: who it is
  go = 6,      // rank 0 to all: every rank is there
  report = 7,  // a rank to rank 0: its answers
  verdict = 8  // rank 0 to all: the exit code
};

struct Frame {
  FrameType type = FrameType::stage;
  std::string payload;
};

inline constexpr std::uint32_t largest_payload = 4u << 20;

FrameKey random_key();
std::string encode(const FrameKey& key, FrameType type, std::string_view payload);

enum class Decoded { frame, incomplete, forged };

/// Takes the first frame off `buffer`.
Decoded decode(const FrameKey& key, std::string& buffer, Frame& frame);

/// SipHash-2-4 (Aumasson and Bernstein, 2012).
std::uint64_t siphash(const FrameKey& key, std::string_view bytes);

}  // namespace wheelvet::probe
