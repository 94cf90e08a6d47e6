#include "facts/spool.h"

namespace wheelvet {
namespace {

// Sizes chosen on real wheels: the largest first PT_LOAD of torch is 17 MB (libtorch_cpu.so), the
// largest tables behind it are 8 MB; everything together stays under the memory promised to users.
constexpr std::uint64_t first_look = 1u << 20;
constexpr std::uint64_t whole_file = 4u << 20;
constexpr std::uint64_t front_cap = 24u << 20;
constexpr std::uint64_t pieces_cap = 48u << 20;

// One per thread and reused from file to file: fresh pages cost more than the copy.
std::vector<std::uint8_t>& front_buffer() {
  thread_local std::vector<std::uint8_t> own;
  own.clear();
  return own;
}

}  // namespace

Spool::Spool(std::uint64_t file_size, const std::vector<FileRange>& wanted)
    : file_size_(file_size),
      front_limit_(std::min(file_size, file_size <= whole_file ? whole_file : first_look)),
      front_(front_buffer()) {
  for (const FileRange& range : wanted) want(range);
}

bool Spool::holds(const FileRange& range) const {
  if (range.end() <= front_.size()) return true;
  for (const Piece& piece : pieces_) {
    if (range.offset >= piece.range.offset &&
        range.end() <= piece.range.offset + piece.bytes.size()) {
      return true;
    }
  }
  return false;
}

Bytes Spool::held(const FileRange& range) {
  // First, so that the ends below cannot overflow.
  if (!fits(range.offset, range.size, file_size_)) {
    throw Unreadable("file", range.offset, "ends after the file");
  }
  if (range.end() <= front_.size()) return Bytes(front_).subspan(range.offset, range.size);
  for (const Piece& piece : pieces_) {
    if (range.offset >= piece.range.offset &&
        range.end() <= piece.range.offset + piece.bytes.size()) {
      return Bytes(piece.bytes).subspan(range.offset - piece.range.offset, range.size);
    }
  }
  missed_.push_back(range);
  throw Unreadable("tables", range.offset, "lie too far apart to be kept in the memory allowed");
}

void Spool::take(Piece& piece, Bytes chunk) const {
  std::uint64_t next = piece.range.offset + piece.bytes.size();
  std::uint64_t end = std::min(piece.range.end(), chunk_at_ + chunk.size());
  if (next < chunk_at_ || next >= end) return;
  Bytes part = chunk.subspan(next - chunk_at_, end - next);
  piece.bytes.insert(piece.bytes.end(), part.begin(), part.end());
}

void Spool::want(const FileRange& range) {
  if (range.size == 0 || range.end() <= front_limit_) return;
  for (const Piece& piece : pieces_) {
    if (piece.range == range) return;
  }
  if (range.offset < chunk_at_) {
    if (!holds(range)) missed_.push_back(range);
    return;
  }
  if (range.size > pieces_cap || kept_ + range.size > pieces_cap) return;
  kept_ += range.size;
  pieces_.push_back({range, {}});
  if (!chunk_.empty()) take(pieces_.back(), chunk_);
}

// One step further each time the bytes for it have come by: header, program headers, dynamic
// section.
void Spool::learn() {
  if (!headers_) {
    if (seen_ < std::min<std::uint64_t>(file_size_, 4096)) return;
    kind_ = classify(Bytes(front_).first(std::min<std::size_t>(front_.size(), 4096)), file_size_);
    if (kind_ != FileKind::elf) return;
    headers_ = program_headers(read_header(front_), file_size_);
    want(*headers_);
  }
  if (!layout_) {
    if (!holds(*headers_)) return;
    layout_ = read_layout(view());
    for (const Elf64_Phdr& segment : layout_->segments) {
      if (segment.p_type == PT_LOAD && file_size_ > whole_file) {
        front_limit_ = std::max<std::uint64_t>(
            front_.size(), std::min(front_cap, segment.p_offset + segment.p_filesz));
        break;
      }
    }
    for (const Elf64_Phdr& segment : layout_->segments) {
      if (segment.p_type == PT_NOTE && fits(segment.p_offset, segment.p_filesz, file_size_)) {
        want({segment.p_offset, segment.p_filesz});
      }
    }
    dynamic_ = dynamic_range(*layout_);
    if (dynamic_) want(*dynamic_);
  }
  if (!learned_ && dynamic_ && holds(*dynamic_)) {
    learned_ = true;
    for (const FileRange& range : table_ranges(*layout_, read_dynamic(held(*dynamic_)))) {
      want(range);
    }
  }
}

bool Spool::feed(Bytes chunk) {
  chunk_ = chunk;
  chunk_at_ = seen_;
  for (Piece& piece : pieces_) take(piece, chunk);
  if (front_.size() == seen_ && seen_ < front_limit_) {
    std::uint64_t n = std::min<std::uint64_t>(chunk.size(), front_limit_ - seen_);
    front_.insert(front_.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(n));
  }
  seen_ += chunk.size();
  try {
    if (!learned_) learn();
  } catch (const Unreadable&) {
    learned_ = true;  // the reader will say what is wrong, with the same words, when it gets there
  }
  chunk_ = {};
  return kind_ == FileKind::elf;
}

FileView Spool::view() {
  return {file_size_, [this](std::uint64_t offset, std::uint64_t size) {
            return held({offset, size});
          }};
}

}  // namespace wheelvet
