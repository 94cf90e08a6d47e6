// A file that lives as long as the object; in memory where the system has memfd.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace wheelvet::test {

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content)
      : descriptor_(::memfd_create("test", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::runtime_error("memfd_create failed");
    while (!content.empty()) {
      ssize_t n = ::write(descriptor_, content.data(), content.size());
      if (n <= 0) throw std::runtime_error("write failed");
      content.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  ~TemporaryFile() { ::close(descriptor_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  void replace(std::string_view content) const {
    resize(0);
    if (::pwrite(descriptor_, content.data(), content.size(), 0) !=
        static_cast<ssize_t>(content.size())) {
      throw std::runtime_error("pwrite failed");
    }
  }
  void resize(std::size_t size) const {
    if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0)
      throw std::runtime_error("ftruncate failed");
  }

 private:
  int descriptor_;
};

}  // namespace wheelvet::test
