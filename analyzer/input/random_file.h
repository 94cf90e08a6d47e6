// A regular file read at any offset. pread and not mmap: a file that somebody truncates while it is
// read gives an error, not a signal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facts/file_view.h"

namespace wheelvet {

class RandomFile {
 public:
  /// Opens a regular file for reading. Unreadable when it cannot be opened or is not regular (a
  /// FIFO or a device is never opened for reading).
  explicit RandomFile(const std::string& path);
  ~RandomFile();
  RandomFile(const RandomFile&) = delete;
  RandomFile& operator=(const RandomFile&) = delete;

  std::uint64_t size() const { return size_; }
  std::uint64_t device() const { return device_; }  ///< st_dev
  std::uint64_t inode() const { return inode_; }    ///< st_ino

  /// Tells the system not to read ahead: a few tables are wanted of a file of a gigabyte.
  void expect_jumps() const;
  /// Exactly out.size() bytes at `offset`; Unreadable when the file ends before.
  void read(std::uint64_t offset, std::span<std::uint8_t> out) const;
  std::vector<std::uint8_t> read(std::uint64_t offset, std::uint64_t size,
                                 std::string_view field) const;

 private:
  int descriptor_ = -1;
  std::uint64_t size_ = 0, device_ = 0, inode_ = 0;
};

/// A view of the file; an answer lives until the next call of any such view on the same thread.
FileView view_of(const RandomFile& file);

}  // namespace wheelvet
