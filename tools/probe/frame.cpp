#include "frame.h"

#include <sys/random.h>

#include <bit>
#include <cstring>
#include <stdexcept>

namespace wheelvet::probe {
namespace {

struct Header {
  char magic[4];
  std::uint32_t type;
  std::uint32_t length;
  std::uint32_t zero;
  std::uint64_t checksum;  // of the 16 bytes before it and of the payload
};

constexpr char frame_magic[4] = {'w', 'v', 'p', '1'};

std::uint64_t checksum(const FrameKey& key, const Header& header, std::string_view payload) {
  std::string covered(reinterpret_cast<const char*>(&header), offsetof(Header, checksum));
  covered += payload;
  return siphash(key, covered);
}

std::uint64_t word(const char* bytes) {
  std::uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

struct SipState {
  std::uint64_t a, b, c, d;
};

void sip_rounds(SipState& s, int count) {
  for (int i = 0; i < count; ++i) {
    s.a += s.b;
    s.c += s.d;
    s.b = std::rotl(s.b, 13) ^ s.a;
    s.d = std::rotl(s.d, 16) ^ s.c;
    s.a = std::rotl(s.a, 32);
    s.c += s.b;
    s.a += s.d;
    s.b = std::rotl(s.b, 17) ^ s.c;
    s.d = std::rotl(s.d, 21) ^ s.a;
    s.c = std::rotl(s.c, 32);
  }
}

}  // namespace

std::uint64_t siphash(const FrameKey& key, std::string_view bytes) {
  std::uint64_t k0 = word(reinterpret_cast<const char*>(key.data()));
  std::uint64_t k1 = word(reinterpret_cast<const char*>(key.data()) + 8);
  SipState state{k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                 k1 ^ 0x7465646279746573u};
  std::size_t whole = bytes.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 8) {
    std::uint64_t next = word(bytes.data() + i);
    state.d ^= next;
    sip_rounds(state, 2);
    state.a ^= next;
  }
  std::uint64_t last = static_cast<std::uint64_t>(bytes.size()) << 56;
  std::memcpy(&last, bytes.data() + whole, bytes.size() - whole);
  state.d ^= last;
  sip_rounds(state, 2);
  state.a ^= last;
  state.c ^= 0xff;
  sip_rounds(state, 4);
  return state.a ^ state.b ^ state.c ^ state.d;
}

FrameKey random_key() {
  FrameKey key;
  if (getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
    throw std::runtime_error("getrandom gave no key");
  }
  return key;
}

std::string encode(const FrameKey& key, FrameType type, std::string_view payload) {
  if (payload.size() > largest_payload) throw std::runtime_error("a step's answer is too long");
  Header header{};
  std::memcpy(header.magic, frame_magic, sizeof header.magic);
  header.type = static_cast<std::uint32_t>(type);
  header.length = static_cast<std::uint32_t>(payload.size());
  header.checksum = checksum(key, header, payload);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += payload;
  return bytes;
}

Decoded decode(const FrameKey& key, std::string& buffer, Frame& frame) {
  std::size_t seen = std::min(buffer.size(), sizeof frame_magic);
  if (std::memcmp(buffer.data(), frame_magic, seen) != 0) return Decoded::forged;
  Header header{};
  if (buffer.size() < sizeof header) return Decoded::incomplete;
  std::memcpy(&header, buffer.data(), sizeof header);
  if (header.type < 1 || header.type > 8 || header.length > largest_payload) return Decoded::forged;
  if (buffer.size() - sizeof header < header.length) return Decoded::incomplete;
  std::string_view payload(buffer.data() + sizeof header, header.length);
  if (header.checksum != checksum(key, header, payload)) return Decoded::forged;
  frame = {static_cast<FrameType>(header.type), std::string(payload)};
  buffer.erase(0, sizeof header + header.length);
  return Decoded::frame;
}

}  // namespace wheelvet::probe
