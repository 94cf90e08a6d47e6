#include "device/fatbin.h"

#include <fmt/format.h>

namespace wheelvet {
namespace {

constexpr const char* field = "fatbin entry";

// Bits of the entry's flags.
constexpr std::uint64_t flag_debug = 0x2, flag_lz4 = 0x2000, flag_zstd = 0x8000;
constexpr std::uint64_t flag_specific = 0x100000, flag_family = 0x200000;

ImageKind kind_of(std::uint16_t kind) {
  if (kind == 1) return ImageKind::ptx;
  if (kind == 2) return ImageKind::cubin;
  if (kind == 8) return ImageKind::lto_ir;
  return ImageKind::other;
}

}  // namespace

std::optional<std::uint64_t> read_fatbin_header(Bytes header) {
  constexpr const char* what = "fatbin header";
  auto size = load<std::uint64_t>(header, 8, what);
  bool known = load<std::uint32_t>(header, 0, what) == fatbin_magic &&
               load<std::uint16_t>(header, 4, what) == 1 &&
               load<std::uint16_t>(header, 6, what) == fatbin_header_bytes;
  if (!known || size == 0 || size % 8 != 0) return std::nullopt;
  return size;
}

FatbinEntry read_fatbin_entry(Bytes header, std::uint64_t room, std::uint64_t offset) {
  constexpr std::uint16_t version = 0x0101;
  if (load<std::uint16_t>(header, 2, field) != version) {
    throw Unreadable(field, offset, "has another version than 0x0101");
  }
  FatbinEntry entry;
  entry.header_size = load<std::uint32_t>(header, 4, field);
  entry.payload = load<std::uint64_t>(header, 8, field);
  bool inside = entry.header_size >= fatbin_entry_bytes && entry.header_size % 8 == 0 &&
                entry.header_size <= room && entry.payload % 8 == 0 &&
                entry.payload <= room - entry.header_size;
  if (!inside) {
    throw Unreadable(field, offset,
                     fmt::format("of {} and {} bytes leaves its container, which has {} left",
                                 entry.header_size, entry.payload, room));
  }
  auto packed = load<std::uint32_t>(header, 16, field);
  auto flags = load<std::uint64_t>(header, 40, field);
  DeviceImage& image = entry.image;
  image.kind = kind_of(load<std::uint16_t>(header, 0, field));
  image.arch = static_cast<std::uint16_t>(load<std::uint32_t>(header, 28, field));
  image.suffix = flags & flag_specific ? 'a' : flags & flag_family ? 'f' : '\0';
  image.debug = (flags & flag_debug) != 0;
  image.packing = flags & flag_lz4    ? Packing::lz4
                  : flags & flag_zstd ? Packing::zstd
                                      : Packing::raw;
  image.size = entry.payload;
  if (image.packing != Packing::raw) {
    if (packed > entry.payload) {
      throw Unreadable(field, offset, "is packed into more bytes than it has");
    }
    if (packed != 0) image.size = packed;
    image.unpacked = load<std::uint64_t>(header, 56, field);
  }
  if (image.kind == ImageKind::ptx) {
    image.isa_minor = static_cast<std::uint8_t>(load<std::uint16_t>(header, 24, field));
    image.isa_major = static_cast<std::uint8_t>(load<std::uint16_t>(header, 26, field));
  }
  return entry;
}

}  // namespace wheelvet
