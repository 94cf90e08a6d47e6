// The container of device code that nvcc embeds: a header and a chain of entries. NVIDIA publishes
// no description; the fields were read off containers that nvcc 13.0 made for every architecture
// and compared with cuobjdump's listing of NVIDIA's libraries (docs/device_code.md).
#pragma once

#include <cstdint>
#include <optional>

#include "facts/bytes.h"
#include "wheelvet/device_code.h"

namespace wheelvet {

inline constexpr std::uint32_t fatbin_magic = 0xBA55ED50;
inline constexpr std::size_t fatbin_header_bytes = 16;
inline constexpr std::size_t fatbin_entry_bytes = 64;  ///< its fixed part; headers go up to 144

/// Bytes after the header of a container, or nothing when these 16 bytes are none: the four bytes
/// of the magic number also occur in machine code.
std::optional<std::uint64_t> read_fatbin_header(Bytes header);

struct FatbinEntry {
  std::uint32_t header_size = 0;  ///< the payload follows
  std::uint64_t payload = 0;      ///< bytes up to the next entry
  DeviceImage image;              ///< `offset` is left for the caller
};

/// The fixed part of an entry at `offset` that has `room` bytes left in its container. Unreadable
/// when it would leave the container.
FatbinEntry read_fatbin_entry(Bytes header, std::uint64_t room, std::uint64_t offset);

}  // namespace wheelvet
