// What has to be kept of a stream of bytes so that an ELF's loader tables can be read afterwards.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "facts/elf_layout.h"
#include "facts/file_view.h"

namespace wheelvet {

/// Takes a file front to back and keeps its first PT_LOAD (symbols and relocations usually lie
/// there) and every range that the headers and the dynamic section turn out to name further on.
/// What it no longer held when it learned of it is reported by `missed`, for a second pass.
class Spool {
 public:
  /// `wanted`: ranges known from an earlier pass.
  explicit Spool(std::uint64_t file_size, const std::vector<FileRange>& wanted = {});

  /// The next bytes. False when nothing more is needed because this is no ELF file.
  bool feed(Bytes chunk);

  FileKind kind() const { return kind_; }

  /// A view of what was kept. Asking for something else throws Unreadable and adds it to `missed`.
  /// The spool must outlive it.
  FileView view();
  const std::vector<FileRange>& missed() const { return missed_; }

 private:
  struct Piece {
    FileRange range;
    std::vector<std::uint8_t> bytes;
  };

  bool holds(const FileRange& range) const;
  Bytes held(const FileRange& range);
  void want(const FileRange& range);
  void take(Piece& piece, Bytes chunk) const;
  void learn();

  std::uint64_t file_size_;
  std::uint64_t chunk_at_ = 0;  // where the chunk in hand starts
  std::uint64_t seen_ = 0;      // bytes taken so far
  std::uint64_t front_limit_;   // how much of the front is kept
  std::uint64_t kept_ = 0;
  Bytes chunk_;
  FileKind kind_ = FileKind::elf;
  std::vector<std::uint8_t>& front_;
  std::vector<Piece> pieces_;
  std::vector<FileRange> missed_;
  std::optional<FileRange> headers_;
  std::optional<FileRange> dynamic_;
  std::optional<ElfLayout> layout_;
  bool learned_ = false;
};

}  // namespace wheelvet
