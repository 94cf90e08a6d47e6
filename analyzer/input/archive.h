// Wheel archives: a strict reader of the zip directory, and a stream of one member's bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "facts/bytes.h"
#include "input/random_file.h"
#include "wheelvet/input.h"

namespace wheelvet {

/// Fills members, faults, size and identity of a wheel from the raw archive (APPNOTE.TXT 6.3.9):
/// end record, central directory, every local header. Nothing is inflated. Unreadable when there is
/// no directory that can be followed.
void read_archive(const RandomFile& file, Input& input);

/// What became of one pass over a member's bytes.
struct StreamResult {
  bool complete = false;  ///< the sink took everything and size and CRC were compared
  bool size_differs = false;
  bool crc_differs = false;
};

/// Inflates one member in windows of some hundred kB, in order, without writing anything. The sink
/// returns false to stop early. Never yields more than `member.size` bytes plus one window.
/// Unreadable when the packed bytes are not valid deflate data.
StreamResult stream_member(const RandomFile& file, const Member& member,
                           const std::function<bool(Bytes)>& sink);

/// All bytes of a small member. Unreadable when it is larger than `limit` or its CRC is wrong.
std::vector<std::uint8_t> read_member(const RandomFile& file, const Member& member,
                                      std::uint64_t limit);

}  // namespace wheelvet
