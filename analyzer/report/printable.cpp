#include "report/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "facts/utf8.h"

namespace wheelvet {
namespace {

// Characters that draw nothing, reorder text or end a line (Unicode 15: categories Cc, Cf, Zl, Zp,
// variation selectors and the fillers that render as blanks).
bool is_unseen(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0xa0) || c == 0xad || c == 0x34f || c == 0x61c ||
         (c >= 0x600 && c <= 0x605) || c == 0x6dd || c == 0x70f || c == 0x115f || c == 0x1160 ||
         (c >= 0x17b4 && c <= 0x17b5) || (c >= 0x180b && c <= 0x180f) ||
         (c >= 0x2000 && c <= 0x200f) || (c >= 0x2028 && c <= 0x202f) ||
         (c >= 0x205f && c <= 0x206f) || c == 0x3000 || c == 0x3164 ||
         (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff || c == 0xffa0 ||
         (c >= 0xfff0 && c <= 0xfffb) || (c >= 0x1bca0 && c <= 0x1bca3) ||
         (c >= 0x1d173 && c <= 0x1d17a) || (c >= 0xe0000 && c <= 0xe0fff) ||
         (c >= 0xd800 && c <= 0xf8ff) || c >= 0xf0000 || (c & 0xfffe) == 0xfffe;
}

}  // namespace

std::string printable(std::string_view text) {
  bool plain = std::all_of(text.begin(), text.end(),
                           [](char c) { return c >= 0x20 && c < 0x7f && c != '\\'; });
  if (plain) return std::string(text);  // nearly every name there is
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::optional<Decoded> next = decode_utf8(text);
    if (!next) {
      out += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    if (next->code == '\\') {
      out += "\\\\";
    } else if (next->code < 0x80 && is_unseen(next->code)) {
      out += fmt::format("\\x{:02x}", next->code);
    } else if (is_unseen(next->code)) {
      out += fmt::format("\\u{{{:x}}}", next->code);
    } else {
      out += text.substr(0, next->length);
    }
    text.remove_prefix(next->length);
  }
  return out;
}

}  // namespace wheelvet
