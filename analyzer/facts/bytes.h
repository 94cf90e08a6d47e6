// The only way to read a number or a string from bytes that somebody else wrote.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "wheelvet/problem.h"

namespace wheelvet {

static_assert(std::endian::native == std::endian::little,
              "all formats read here are little-endian and are copied as they are");

using Bytes = std::span<const std::uint8_t>;

/// True when [offset, offset + size) lies inside `total` bytes; cannot overflow.
constexpr bool fits(std::uint64_t offset, std::uint64_t size, std::uint64_t total) {
  return offset <= total && size <= total - offset;
}

/// The `size` bytes at `offset`; Unreadable naming `field` when they are not all there.
inline Bytes slice(Bytes bytes, std::uint64_t offset, std::uint64_t size, std::string_view field) {
  if (!fits(offset, size, bytes.size())) {
    throw Unreadable(field, offset, "ends after the data");
  }
  return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

/// A plain little-endian structure at `offset`.
template <class T>
T load(Bytes bytes, std::uint64_t offset, std::string_view field) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, slice(bytes, offset, sizeof(T), field).data(), sizeof(T));
  return value;
}

/// The NUL-terminated string at `offset`, which must end inside `bytes`.
inline std::string_view string_at(Bytes bytes, std::uint64_t offset, std::string_view field) {
  if (offset >= bytes.size()) throw Unreadable(field, offset, "string starts after its table");
  Bytes rest = bytes.subspan(static_cast<std::size_t>(offset));
  auto end = std::find(rest.begin(), rest.end(), std::uint8_t{0});
  if (end == rest.end()) throw Unreadable(field, offset, "string does not end inside its table");
  return {reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(end - rest.begin())};
}

}  // namespace wheelvet
