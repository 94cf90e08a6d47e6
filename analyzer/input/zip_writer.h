// Writes a zip archive whose bytes depend on its content alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facts/bytes.h"

namespace wheelvet {

/// Members are deflated at zlib's best level, dated 1980-01-01, in the order they were added; no
/// zip64: under 65,535 members and 4 GiB.
class ZipWriter {
 public:
  void add(const std::string& name, Bytes content);
  /// The whole archive.
  std::vector<std::uint8_t> finish();

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<std::uint8_t> directory_;
  std::uint16_t count_ = 0;
};

}  // namespace wheelvet
