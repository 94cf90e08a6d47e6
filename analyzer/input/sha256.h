#pragma once

#include <string>

#include "facts/bytes.h"

namespace wheelvet {

/// SHA-256 (FIPS 180-4) as lower-case hex.
std::string sha256_hex(Bytes bytes);

/// SHA-256 of a whole file, read in windows. Unreadable when it cannot be read.
std::string sha256_of_file(const std::string& path);

}  // namespace wheelvet
