// No byte of an input reaches a terminal, log or report unescaped.
#include "report/printable.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <string>

#include "wheelvet/problem.h"

using namespace wheelvet;

namespace {

std::string utf8(std::uint32_t c) {
  std::string out;
  auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | (c >> 6)), put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | (c >> 12)), put(0x80 | ((c >> 6) & 0x3f)), put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | (c >> 18)), put(0x80 | ((c >> 12) & 0x3f)), put(0x80 | ((c >> 6) & 0x3f)),
        put(0x80 | (c & 0x3f));
  }
  return out;
}

// What no terminal may get: C0, DEL, and in UTF-8 form C1, bidirectional and line-breaking
// characters.
bool is_harmless(const std::string& text) {
  for (char c : text) {
    auto byte = static_cast<std::uint8_t>(c);
    if (byte < 0x20 || byte == 0x7f) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("every control character becomes an escape") {
  for (std::uint32_t c = 0; c < 0x20; ++c) {
    std::string shown = printable(std::string("a") + static_cast<char>(c) + "b");
    CAPTURE(c);
    CHECK(is_harmless(shown));
    CHECK(shown.size() == 6);
    CHECK(shown.starts_with("a\\x"));
  }
  CHECK(printable("\x7f") == "\\x7f");
  CHECK(printable("\x1b[31m") == "\\x1b[31m");
  for (std::uint32_t c = 0x80; c < 0xa0; ++c) CHECK(printable(utf8(c)).starts_with("\\u{"));
}

TEST_CASE("every bidirectional, invisible or line-breaking character becomes an escape") {
  // Unicode: Bidi_Control, Zl, Zp, zero-width, byte-order mark, tags, soft hyphen, variation
  // selectors.
  for (std::uint32_t c : {0x61cu,   0x200eu, 0x200fu, 0x202au, 0x202bu, 0x202cu, 0x202du,  0x202eu,
                          0x2066u,  0x2067u, 0x2068u, 0x2069u, 0x2028u, 0x2029u, 0x200bu,  0x200cu,
                          0x200du,  0x2060u, 0xfeffu, 0xadu,   0x180eu, 0xfe0fu, 0xe0001u, 0xe0020u,
                          0xe0100u, 0xfff9u, 0xfffeu, 0xffffu, 0x3164u, 0xe000u, 0x10ffffu}) {
    CAPTURE(c);
    CHECK(printable(utf8(c)).starts_with("\\u{"));
  }
}

TEST_CASE("text that people read stays as it is") {
  for (const char* text :
       {"", "libc10_cuda.so", "a b", "grüße", "東京", "файл", "😀", "c10::f(int)"}) {
    CHECK(printable(text) == text);
  }
}

TEST_CASE("bytes that are not UTF-8 are shown byte by byte") {
  CHECK(printable("\xff") == "\\xff");
  CHECK(printable("\x80") == "\\x80");
  CHECK(printable("\xc3") == "\\xc3");
  CHECK(printable("\xc3(") == "\\xc3(");
  CHECK(printable("\xe2\x82") == "\\xe2\\x82");
  CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");                    // overlong '/'
  CHECK(printable("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");           // overlong '/'
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(printable("\xf5\x80\x80\x80") == "\\xf5\\x80\\x80\\x80");  // above U+10FFFF
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
}

TEST_CASE("two different names never print alike") {
  CHECK(printable("\\x1b") == "\\\\x1b");
  CHECK(printable("\\x1b") != printable("\x1b"));
  CHECK(printable("\\u{202e}") != printable(utf8(0x202e)));
  CHECK(printable(std::string("a\0b", 3)) != printable("ab"));
  // All strings of up to three of these pieces.
  const std::string pieces[] = {"\\",   "x",    "1",    "b",     "\x1b",
                                "\xc3", "\xa9", "\xff", "u{ad}", utf8(0xad)};
  std::map<std::string, std::string> seen;
  auto check = [&](const std::string& name) {
    auto [place, fresh] = seen.emplace(printable(name), name);
    CHECK((fresh || place->second == name));
  };
  for (const std::string& a : pieces) {
    check(a);
    for (const std::string& b : pieces) {
      check(a + b);
      for (const std::string& c : pieces) check(a + b + c);
    }
  }
}

TEST_CASE("a problem is one line whatever the names in it") {
  Problem problem{"in\nput", "mem\x1b[2Jber", "field", 7, "rea\rson"};
  std::string line = to_line(problem);
  CHECK(is_harmless(line));
  CHECK(line == "in\\x0aput: mem\\x1b[2Jber: field at offset 7: rea\\x0dson");
  CHECK(to_line({"", "", "", std::nullopt, "reason"}) == "reason");
}
