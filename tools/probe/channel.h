// A step's end of the private socket to the parent.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "frame.h"

namespace wheelvet::probe {

struct Channel {
  int descriptor = -1;
  FrameKey key{};
  std::string received;
};

/// Reads the key that the parent wrote first. Throws when there is none.
Channel open_channel(int descriptor);

void send_frame(const Channel& channel, FrameType type, std::string_view payload);

/// The next frame from the parent; nothing when none came in time. Throws when the parent is gone.
std::optional<Frame> receive_frame(Channel& channel, int milliseconds);

}  // namespace wheelvet::probe
