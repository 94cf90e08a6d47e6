// The low-level interface is marked deprecated, but it is the part of OpenSSL that a static program
// can link without its provider machinery (3 MB).
#define OPENSSL_SUPPRESS_DEPRECATED
#include "input/sha256.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include "input/random_file.h"

namespace wheelvet {
namespace {

std::string hex_digest(SHA256_CTX& context) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256_Final(digest, &context);
  std::string out;
  for (unsigned char byte : digest) out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace

std::string sha256_hex(Bytes bytes) {
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  return hex_digest(context);
}

std::string sha256_of_file(const std::string& path) {
  constexpr std::uint64_t window = 1u << 20;
  RandomFile file(path);
  SHA256_CTX context;
  SHA256_Init(&context);
  std::vector<std::uint8_t> buffer(window);
  for (std::uint64_t at = 0; at < file.size(); at += window) {
    std::uint64_t n = std::min(window, file.size() - at);
    file.read(at, std::span(buffer).first(n));
    SHA256_Update(&context, buffer.data(), n);
  }
  return hex_digest(context);
}

}  // namespace wheelvet
