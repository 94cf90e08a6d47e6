// What a fuzz target demands of every outcome.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "wheelvet/problem.h"

namespace wheelvet::fuzz {

inline void require(bool holds, const char* claim) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", claim);
  std::abort();
}

/// Nothing that a terminal obeys, but for line ends.
inline void require_plain(std::string_view text) {
  for (char c : text) {
    auto byte = static_cast<std::uint8_t>(c);
    require((byte >= 0x20 && byte != 0x7f) || c == '\n', "what is printed has no control bytes");
  }
}

/// Runs a reader that may refuse its input, but not without a reason that can be printed.
template <class Reader>
void may_refuse(Reader&& reader) {
  try {
    reader();
  } catch (const Unreadable& error) {
    require(!error.problem().reason.empty(), "a problem has a reason");
    require_plain(to_line(error.problem()));
  } catch (const WrongUsage& error) {
    require(*error.what() != '\0', "a complaint has a reason");
  }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace wheelvet::fuzz
