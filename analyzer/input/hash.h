#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/bytes.h"

namespace wheelvet {

class RandomFile;

/// The members of the SHA-2 family (FIPS 180-4) that RECORD may use.
enum class HashAlgorithm { sha256, sha384, sha512 };

/// By its name in Python's hashlib; nothing for any other.
std::optional<HashAlgorithm> hash_algorithm(std::string_view name);

/// SHA-256 as lower-case hex.
std::string sha256_hex(Bytes bytes);

/// A digest of bytes that come in pieces.
class Hasher {
 public:
  explicit Hasher(HashAlgorithm algorithm = HashAlgorithm::sha256);
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void add(Bytes bytes);
  /// The digest, 32, 48 or 64 bytes; nothing may be added afterwards.
  std::vector<std::uint8_t> digest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// SHA-256 of a whole file, read in windows. Unreadable when it cannot be read.
std::string sha256_of_file(const RandomFile& file);
std::string sha256_of_file(const std::string& path);

}  // namespace wheelvet
