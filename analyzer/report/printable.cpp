#include "report/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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

std::uint32_t hexadecimal(std::string_view digits) {
  std::uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}

std::string encode_utf8(std::uint32_t c) {
  std::string out;
  auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6), put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 0x3f)), put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 0x3f)), put(0x80 | (c >> 6 & 0x3f)),
        put(0x80 | (c & 0x3f));
  }
  return out;
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

std::string from_printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t plain = std::min(text.find('\\'), text.size());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.size() < 2) break;
    char kind = text[1];
    if (kind == 'x' && text.size() >= 4) {
      out += static_cast<char>(hexadecimal(text.substr(2, 2)));
      text.remove_prefix(4);
    } else if (kind == 'u' && text.find('}') != std::string_view::npos) {
      std::size_t end = text.find('}');
      out += encode_utf8(hexadecimal(text.substr(3, end - 3)));
      text.remove_prefix(end + 1);
    } else {
      out += kind;
      text.remove_prefix(2);
    }
  }
  return out;
}

}  // namespace wheelvet
