// The low-level interface is marked deprecated, but it is the part of OpenSSL that a static program
// can link without its provider machinery (3 MB).
#define OPENSSL_SUPPRESS_DEPRECATED
#include "input/hash.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include "input/random_file.h"

namespace wheelvet {
namespace {

std::string hex_digest(Hasher& hash) {
  std::string out;
  for (std::uint8_t byte : hash.digest()) out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace

// SHA-384 is SHA-512 with another start and a shorter end, and OpenSSL has one context for both.
struct Hasher::State {
  HashAlgorithm algorithm;
  SHA256_CTX small;
  SHA512_CTX large;
};

Hasher::Hasher(HashAlgorithm algorithm) : state_(std::make_unique<State>()) {
  state_->algorithm = algorithm;
  if (algorithm == HashAlgorithm::sha256) SHA256_Init(&state_->small);
  if (algorithm == HashAlgorithm::sha384) SHA384_Init(&state_->large);
  if (algorithm == HashAlgorithm::sha512) SHA512_Init(&state_->large);
}

Hasher::~Hasher() = default;

void Hasher::add(Bytes bytes) {
  if (state_->algorithm == HashAlgorithm::sha256) {
    SHA256_Update(&state_->small, bytes.data(), bytes.size());
  } else {
    SHA512_Update(&state_->large, bytes.data(), bytes.size());
  }
}

std::vector<std::uint8_t> Hasher::digest() {
  if (state_->algorithm == HashAlgorithm::sha256) {
    std::vector<std::uint8_t> out(SHA256_DIGEST_LENGTH);
    SHA256_Final(out.data(), &state_->small);
    return out;
  }
  // SHA512_Final writes as many bytes as the algorithm that was started has.
  std::vector<std::uint8_t> out(state_->algorithm == HashAlgorithm::sha384 ? SHA384_DIGEST_LENGTH
                                                                           : SHA512_DIGEST_LENGTH);
  SHA512_Final(out.data(), &state_->large);
  return out;
}

std::optional<HashAlgorithm> hash_algorithm(std::string_view name) {
  if (name == "sha256") return HashAlgorithm::sha256;
  if (name == "sha384") return HashAlgorithm::sha384;
  if (name == "sha512") return HashAlgorithm::sha512;
  return std::nullopt;
}

std::string sha256_hex(Bytes bytes) {
  Hasher hash;
  hash.add(bytes);
  return hex_digest(hash);
}

std::string sha256_of_file(const RandomFile& file) {
  constexpr std::uint64_t window = 1u << 20;
  Hasher hash;
  std::vector<std::uint8_t> buffer(window);
  for (std::uint64_t at = 0; at < file.size(); at += window) {
    std::uint64_t n = std::min(window, file.size() - at);
    file.read(at, std::span(buffer).first(n));
    hash.add(std::span(buffer).first(n));
  }
  return hex_digest(hash);
}

std::string sha256_of_file(const std::string& path) { return sha256_of_file(RandomFile(path)); }

}  // namespace wheelvet
