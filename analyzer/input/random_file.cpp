#include "input/random_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace wheelvet {
namespace {

std::string reason_of(int error) { return std::generic_category().message(error); }

}  // namespace

RandomFile::RandomFile(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) throw Unreadable("", std::nullopt, reason_of(errno));
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw Unreadable("", std::nullopt, "is not a regular file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

RandomFile::~RandomFile() { ::close(descriptor_); }

void RandomFile::expect_jumps() const {
  // An advice: what cannot take it reads more than it needs, and that is all.
  ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_RANDOM);
}

void RandomFile::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  while (!out.empty()) {
    ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Unreadable("", offset, reason_of(errno));
    if (got == 0) throw Unreadable("", offset, "file ended while it was read");
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::vector<std::uint8_t> RandomFile::read(std::uint64_t offset, std::uint64_t size,
                                           std::string_view field) const {
  if (!fits(offset, size, size_)) throw Unreadable(field, offset, "ends after the file");
  std::vector<std::uint8_t> bytes(size);
  read(offset, bytes);
  return bytes;
}

FileView view_of(const RandomFile& file) {
  file.expect_jumps();
  return {file.size(), [&file](std::uint64_t offset, std::uint64_t size) {
            if (!fits(offset, size, file.size())) {
              throw Unreadable("file", offset, "ends after the file");
            }
            // One per thread and never smaller again: the first touch of a page costs more than the
            // read.
            thread_local std::vector<std::uint8_t> scratch;
            if (scratch.size() < size) scratch.resize(size);
            file.read(offset, std::span(scratch).first(size));
            return Bytes(scratch).first(size);
          }};
}

}  // namespace wheelvet
