// Device code in a stream of chunks and read at any offset: the same, whatever the bytes are; what
// comes out is written as a stub's note and read again. The first byte gives the size of the chunks
// and whether kernels are wanted.
#include <cstdint>
#include <cstdlib>

#include "checks/coverage.h"
#include "device/device_code.h"
#include "device/device_note.h"
#include "device/scan.h"

using namespace wheelvet;

namespace {

void same(const DeviceCode& a, const DeviceCode& b) {
  bool equal = a.containers == b.containers && a.images == b.images && a.kernels == b.kernels &&
               a.names == b.names;
  if (!equal) std::abort();
}

void use(const DeviceCode& code) {
  static const DeviceRules rules = load_device_rules();
  LibraryCoverage coverage = cover("lib.so", code, 90, rules);
  std::size_t all =
      coverage.own + coverage.family + coverage.older + coverage.compiled + coverage.unserved;
  if (all + coverage.elsewhere != coverage.containers) std::abort();
  for (const DeviceContainer& container : code.containers) {
    if (container.images > code.images_of(container).size()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  bool kernels = data[0] & 1;
  std::size_t chunk = std::size_t{1} + data[0] / 2;
  Bytes bytes(data + 1, size - 1);
  try {
    use(read_device_note(bytes));
  } catch (const Unreadable&) {
  }
  try {
    use(read_ptx_file(bytes, true));
  } catch (const Unreadable&) {
  }
  DeviceScan scan(bytes.size(), kernels);
  for (std::size_t at = 0; at < bytes.size(); at += chunk) {
    scan.feed(bytes.subspan(at, std::min(chunk, bytes.size() - at)));
  }
  DeviceCode streamed = scan.finish();
  same(streamed, scan_device_code(view_of(bytes), kernels));
  use(streamed);
  DeviceCode noted = read_device_note(write_device_note(streamed));
  if (noted.containers.size() != streamed.containers.size() || noted.names != streamed.names)
    std::abort();
  return 0;
}
