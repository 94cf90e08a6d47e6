#include "facts/library_release.h"

#include <algorithm>

#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

constexpr std::uint64_t most_bytes = 16u << 20;  // NCCL 2.18 to 2.32: the words lie at 1 to 3 MB
constexpr std::uint64_t chunk = 1u << 20;
constexpr std::size_t longest = 64;

// "2.28.9+cuda13.0" at the front of a text, if it is a version.
std::string version_at(std::string_view text) {
  std::size_t end = text.find_first_not_of("0123456789.+cuda");
  if (end == std::string_view::npos || end == 0) return {};
  if (text.front() < '0' || text.front() > '9') return {};
  return std::string(text.substr(0, end));
}

}  // namespace

std::string stated_release(const FileView& file, std::string_view soname) {
  constexpr std::string_view words = "NCCL version ";
  if (soname != "libnccl.so.2") return {};
  std::uint64_t end = std::min(file.size, most_bytes);
  try {
    for (std::uint64_t at = 0; at < end; at += chunk) {
      Bytes bytes = file.bytes(at, std::min(chunk + longest, file.size - at));
      std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      for (std::size_t hit = text.find(words); hit != std::string_view::npos;
           hit = text.find(words, hit + 1)) {
        std::string version = version_at(text.substr(hit + words.size(), longest));
        if (!version.empty()) return version;
      }
    }
  } catch (const Unreadable&) {
    // A stream's front that was not kept so far: the library says nothing that is at hand.
  }
  return {};
}

}  // namespace wheelvet
