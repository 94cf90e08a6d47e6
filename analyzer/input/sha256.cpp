// The low-level interface is marked deprecated, but it is the part of OpenSSL that a static program
// can link without its provider machinery (3 MB).
#define OPENSSL_SUPPRESS_DEPRECATED
#include "input/sha256.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include "input/random_file.h"

namespace wheelvet {
namespace {

std::string hex_digest(Sha256& hash) {
  std::string out;
  for (std::uint8_t byte : hash.digest()) out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { SHA256_Init(&state_->context); }

Sha256::~Sha256() = default;

void Sha256::add(Bytes bytes) { SHA256_Update(&state_->context, bytes.data(), bytes.size()); }

std::vector<std::uint8_t> Sha256::digest() {
  std::vector<std::uint8_t> out(SHA256_DIGEST_LENGTH);
  SHA256_Final(out.data(), &state_->context);
  return out;
}

std::string sha256_hex(Bytes bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hex_digest(hash);
}

std::string sha256_of_file(const std::string& path) {
  constexpr std::uint64_t window = 1u << 20;
  RandomFile file(path);
  Sha256 hash;
  std::vector<std::uint8_t> buffer(window);
  for (std::uint64_t at = 0; at < file.size(); at += window) {
    std::uint64_t n = std::min(window, file.size() - at);
    file.read(at, std::span(buffer).first(n));
    hash.add(std::span(buffer).first(n));
  }
  return hex_digest(hash);
}

}  // namespace wheelvet
