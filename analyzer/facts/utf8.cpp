#include "facts/utf8.h"

namespace wheelvet {

std::optional<Decoded> decode_utf8(std::string_view text) {
  auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  std::uint8_t lead = byte(0);
  if (lead < 0x80) return Decoded{lead, 1};
  std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return std::nullopt;
  std::uint32_t code = lead & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return std::nullopt;
    code = (code << 6) | (byte(i) & 0x3fu);
  }
  static constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    return std::nullopt;
  }
  return Decoded{code, length};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    std::optional<Decoded> next = decode_utf8(text);
    if (!next) return false;
    text.remove_prefix(next->length);
  }
  return true;
}

}  // namespace wheelvet
