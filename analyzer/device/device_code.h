// Reads the device code of files.
#pragma once

#include <functional>
#include <string_view>

#include "facts/file_view.h"
#include "wheelvet/device_code.h"
#include "wheelvet/facts.h"

namespace wheelvet {

/// The device code of a file that is read at any offset: payloads are not read but where something
/// of them is wanted.
DeviceCode scan_device_code(const FileView& file, bool kernels);

/// Keeps what lies in bytes that the loader maps (PT_LOAD).
void keep_loaded(const ElfFacts& elf, DeviceCode& code);

/// True for a member whose name says that it is device code by itself.
bool is_device_file(std::string_view name);

/// True for one that is PTX text.
bool is_ptx_file(std::string_view name);

/// Device code that is one PTX text.
DeviceCode read_ptx_file(Bytes text, bool kernels);

}  // namespace wheelvet
