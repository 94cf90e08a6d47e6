#include "channel.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

namespace wheelvet::probe {

Channel open_channel(int descriptor) {
  Channel channel;
  channel.descriptor = descriptor;
  std::size_t have = 0;
  while (have < channel.key.size()) {
    ssize_t got = read(descriptor, channel.key.data() + have, channel.key.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw std::runtime_error("a step is started by the probe itself");
    have += static_cast<std::size_t>(got);
  }
  return channel;
}

void send_frame(const Channel& channel, FrameType type, std::string_view payload) {
  std::string bytes = encode(channel.key, type, payload);
  std::size_t done = 0;
  while (done < bytes.size()) {
    ssize_t sent = write(channel.descriptor, bytes.data() + done, bytes.size() - done);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) throw std::runtime_error("the probe no longer listens");
    done += static_cast<std::size_t>(sent);
  }
}

std::optional<Frame> receive_frame(Channel& channel, int milliseconds) {
  Frame frame;
  while (true) {
    Decoded decoded = decode(channel.key, channel.received, frame);
    if (decoded == Decoded::frame) return frame;
    if (decoded == Decoded::forged) throw std::runtime_error("garbled words from the probe");
    pollfd waiting{channel.descriptor, POLLIN, 0};
    int ready = poll(&waiting, 1, milliseconds);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    char buffer[4096];
    ssize_t got = read(channel.descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw std::runtime_error("the probe is gone");
    channel.received.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace wheelvet::probe
