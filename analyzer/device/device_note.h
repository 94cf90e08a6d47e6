// What a stub keeps of a file's device code: all that `DeviceCode` says of it, and no code.
#pragma once

#include <cstdint>
#include <vector>

#include "facts/bytes.h"
#include "wheelvet/device_code.h"

namespace wheelvet {

inline constexpr std::uint32_t device_note_type = 2;  ///< beside the note of elf_stub.h

std::vector<std::uint8_t> write_device_note(const DeviceCode& code);

/// Unreadable when a count or an index does not fit.
DeviceCode read_device_note(Bytes note);

}  // namespace wheelvet
