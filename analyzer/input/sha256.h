#pragma once

#include <memory>
#include <string>
#include <vector>

#include "facts/bytes.h"

namespace wheelvet {

/// SHA-256 (FIPS 180-4) as lower-case hex.
std::string sha256_hex(Bytes bytes);

/// SHA-256 of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(Bytes bytes);
  /// The 32 bytes of the digest; nothing may be added afterwards.
  std::vector<std::uint8_t> digest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// SHA-256 of a whole file, read in windows. Unreadable when it cannot be read.
std::string sha256_of_file(const std::string& path);

}  // namespace wheelvet
