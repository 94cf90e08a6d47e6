// UTF-8 as RFC 3629 has it: no overlong forms, no surrogates.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace wheelvet {

struct Decoded {
  std::uint32_t code = 0;
  std::size_t length = 0;  ///< bytes
};

/// The character at the start of a text that is not empty; nothing when its bytes are none.
std::optional<Decoded> decode_utf8(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace wheelvet
