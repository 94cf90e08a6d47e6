// Deflate data that lies in memory.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "facts/bytes.h"

namespace wheelvet {

/// Inflates raw deflate data (RFC 1951) that must give exactly `size` bytes with this CRC-32.
/// Unreadable naming `field` and `offset` otherwise; also when `size` is more than deflate can make
/// of the packed bytes, before anything is allocated.
std::vector<std::uint8_t> inflate_bytes(Bytes packed, std::uint32_t size, std::uint32_t crc,
                                        std::string_view field, std::uint64_t offset);

}  // namespace wheelvet
