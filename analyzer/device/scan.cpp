#include "device/scan.h"

#include <fmt/format.h>

#include <cstring>

#include "device/fatbin.h"
#include "device/ptx.h"

namespace wheelvet {
namespace {

// libcufft holds 24,000 images, and no library seen holds more. Their descriptions take 32 bytes.
constexpr std::size_t max_images = 1u << 20;
constexpr std::uint64_t max_name_bytes = 48u << 20;
constexpr std::size_t max_problems = 20;
// What begins like a zstd frame and is none has to be looked at once more: a file made of such
// beginnings must not take for ever.
constexpr std::size_t max_false_starts = 1000;

constexpr std::size_t word_bytes = 8;
constexpr std::uint32_t frame_magic = 0xFD2FB528;                // RFC 8878, 3.1.1
constexpr std::uint32_t elf_magic = 0x464C457F;                  // "\x7fELF"
constexpr std::uint32_t fatbin_version_and_header = 0x00100001;  // the four bytes after the magic

std::uint32_t word_at(const std::uint8_t* bytes) {
  std::uint32_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

bool begins_something(std::uint32_t word) {
  return word == fatbin_magic || word == elf_magic || word == frame_magic;
}

}  // namespace

DeviceScan::DeviceScan(std::uint64_t file_size, bool kernels)
    : file_size_(file_size), kernels_(kernels) {}

void DeviceScan::feed(Bytes chunk) {
  std::vector<std::uint8_t> again;
  while (!chunk.empty()) {
    chunk = chunk.subspan(take(chunk));
    if (again_.empty()) continue;
    std::vector<std::uint8_t> next = std::move(again_);
    again_.clear();
    next.insert(next.end(), chunk.begin(), chunk.end());
    again = std::move(next);
    chunk = again;
  }
}

void DeviceScan::jump() {
  position_ += skip_;
  skip_ = 0;
}

std::size_t DeviceScan::take(Bytes chunk) {
  std::size_t taken = chunk.size();
  if (skip_ != 0) {
    taken = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, chunk.size()));
    skip_ -= taken;
  } else if (state_ == State::search) {
    return search(chunk);
  } else if (state_ != State::stopped) {
    taken =
        static_cast<std::size_t>(std::min<std::uint64_t>(needed_ - buffer_.size(), chunk.size()));
    buffer_.insert(buffer_.end(), chunk.begin(),
                   chunk.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  position_ += taken;
  bool collecting = state_ != State::search && state_ != State::stopped && skip_ == 0;
  if (collecting && buffer_.size() == needed_) step();
  return taken;
}

std::size_t DeviceScan::search(Bytes chunk) {
  std::size_t at = (word_bytes - position_ % word_bytes) % word_bytes;
  // Eight words at a time: their comparisons need no branch between them.
  constexpr std::size_t stride = 8 * word_bytes;
  for (; at + stride <= chunk.size(); at += stride) {
    bool hit = false;
    for (std::size_t i = 0; i < stride; i += word_bytes) {
      hit |= begins_something(word_at(chunk.data() + at + i));
    }
    if (hit) break;
  }
  while (at + word_bytes <= chunk.size() && !begins_something(word_at(chunk.data() + at))) {
    at += word_bytes;
  }
  at = std::min(at, chunk.size());
  position_ += at;
  if (at < chunk.size()) collect(State::word, word_bytes);
  return at;
}

// Goes on when `needed` bytes from here on, or behind what is passed over, are at hand.
void DeviceScan::collect(State state, std::uint64_t needed) {
  buffer_.clear();
  begin_ = position_ + skip_;
  state_ = state;
  needed_ = needed;
}

void DeviceScan::search_on(std::uint64_t skip) {
  if (state_ == State::stopped) return;
  buffer_.clear();
  state_ = State::search;
  skip_ = skip;
}

// What was collected is not what it began like: all but its first word is searched.
void DeviceScan::look_again() {
  again_.assign(buffer_.begin() + word_bytes, buffer_.end());
  position_ = begin_ + word_bytes;
  if (buffer_.size() > 1024) ++false_starts_;
  search_on();
}

void DeviceScan::step() {
  switch (state_) {
    case State::word:
      return look_at_word();
    case State::container:
      return begin_container();
    case State::entry:
      return read_entry();
    case State::payload:
      return read_payload();
    case State::cubin_header:
      return read_front_of_cubin();
    case State::cubin:
      return read_whole_cubin();
    case State::frame:
      return read_frame();
    case State::search:
    case State::stopped:
      return;
  }
}

void DeviceScan::look_at_word() {
  std::uint32_t magic = word_at(buffer_.data());
  if (magic == fatbin_magic && word_at(buffer_.data() + 4) == fatbin_version_and_header) {
    state_ = State::container;
    needed_ = fatbin_header_bytes;
  } else if (magic == elf_magic) {
    state_ = State::cubin_header;
    needed_ = cubin_header_bytes;
  } else if (magic == frame_magic && false_starts_ < max_false_starts) {
    state_ = State::frame;
    walk_ = FrameWalk();
    cubin_frame_ = false;
    read_frame();
  } else {
    search_on();
  }
}

void DeviceScan::begin_container() {
  std::optional<std::uint64_t> size = read_fatbin_header(buffer_);
  if (!size) return look_again();
  if (!fits(position_, *size, file_size_)) {
    problem({{},
             {},
             "fatbin header",
             begin_,
             fmt::format("names {} bytes, which end after the file", *size)},
            begin_);
    return search_on();
  }
  container_ = DeviceContainer();
  container_.offset = begin_;
  container_.size = fatbin_header_bytes + *size;
  container_.first_image = static_cast<std::uint32_t>(code_.images.size());
  container_.first_kernel = static_cast<std::uint32_t>(code_.kernels.size());
  container_end_ = position_ + *size;
  entry_end_ = position_;
  relocatable_known_ = relocatable_ = false;
  leave_entry();
}

// To the next entry, or out of the container behind its last.
void DeviceScan::leave_entry() {
  skip_ = entry_end_ - position_;
  if (entry_end_ == container_end_) {
    code_.containers.push_back(container_);
    return search_on(skip_);
  }
  if (container_end_ - entry_end_ < fatbin_entry_bytes) {
    problem({{}, {}, "fatbin entry", entry_end_, "does not fit in its container"}, entry_end_);
    return drop_container();
  }
  collect(State::entry, fatbin_entry_bytes);
}

// What is broken is passed over as a whole: its payloads are no device code by themselves.
void DeviceScan::drop_container() {
  code_.images.resize(container_.first_image);
  code_.kernels.resize(container_.first_kernel);
  search_on(container_end_ - position_);
}

void DeviceScan::read_entry() {
  try {
    FatbinEntry entry = read_fatbin_entry(buffer_, container_end_ - begin_, begin_);
    image_ = entry.image;
    image_.offset = begin_ + entry.header_size;
    entry_end_ = image_.offset + entry.payload;
    skip_ = entry.header_size - fatbin_entry_bytes;
  } catch (const Unreadable& error) {
    problem(error.problem(), begin_);
    return drop_container();
  }
  bool code = image_.kind == ImageKind::cubin || image_.kind == ImageKind::ptx;
  bool small = image_.size <= max_unpacked && image_.unpacked <= max_unpacked;
  std::uint64_t wanted = 0;
  if (kernels_ && code && small && !container_.kernels_read) {
    wanted = image_.size;
  } else if (image_.kind == ImageKind::cubin && !relocatable_known_) {
    std::uint64_t front =
        image_.packing == Packing::raw ? cubin_header_bytes : front_bytes(image_.packing);
    wanted = std::min(image_.size, front);
  }
  if (wanted != 0) return collect(State::payload, wanted);
  keep_image();
}

void DeviceScan::keep_image() {
  if (image_.kind == ImageKind::cubin) image_.relocatable = relocatable_;
  if (full()) return;
  code_.images.push_back(image_);
  ++container_.images;
  leave_entry();
}

// All cubins of a container come from one run of nvcc: the first tells for all whether they are to
// be linked.
void DeviceScan::read_payload() {
  bool whole = buffer_.size() == image_.size && kernels_ && !container_.kernels_read;
  if (image_.kind == ImageKind::cubin && !relocatable_known_) {
    std::vector<std::uint8_t> front = unpack_front(buffer_, image_.packing, cubin_header_bytes);
    std::optional<CubinHeader> header;
    if (front.size() == cubin_header_bytes) header = read_cubin_header(front);
    relocatable_ = header && header->relocatable;
    relocatable_known_ = true;
  }
  if (whole) {
    try {
      std::vector<std::uint8_t> unpacked;
      if (image_.packing != Packing::raw) {
        unpacked = unpack(buffer_, image_.packing, image_.unpacked);
      }
      read_kernels(image_.packing == Packing::raw ? Bytes(buffer_) : Bytes(unpacked));
    } catch (const Unreadable& error) {
      problem(error.problem(), image_.offset);
    }
  }
  keep_image();
}

void DeviceScan::read_kernels(Bytes payload) {
  if (image_.kind == ImageKind::cubin) {
    add_kernels(read_cubin(payload).kernels);
    return;
  }
  PtxFacts ptx = read_ptx({reinterpret_cast<const char*>(payload.data()), payload.size()});
  // The text is what the driver compiles; the entry only repeats it.
  image_.isa_major = ptx.isa_major;
  image_.isa_minor = ptx.isa_minor;
  image_.arch = ptx.arch;
  image_.suffix = ptx.suffix;
  add_kernels(ptx.kernels);
}

void DeviceScan::add_kernels(const std::vector<std::string>& names) {
  container_.kernels_read = true;
  for (const std::string& name : names) {
    auto [place, fresh] =
        known_names_.try_emplace(name, static_cast<std::uint32_t>(known_names_.size()));
    name_bytes_ += sizeof(std::uint32_t) + (fresh ? name.size() + sizeof(std::string) : 0);
    code_.kernels.push_back(place->second);
    ++container_.kernels;
  }
  if (name_bytes_ > max_name_bytes && kernels_) {
    kernels_ = false;
    problem({{}, {}, "kernel names", std::nullopt, "take more than 48 MiB: not all are read"},
            begin_);
  }
}

void DeviceScan::read_front_of_cubin() {
  std::optional<CubinHeader> header = read_cubin_header(buffer_);
  if (!header || !fits(begin_, header->size, file_size_)) return look_again();
  if (header->size > max_unpacked) {
    add_by_header(*header);
    return search_on(header->size - cubin_header_bytes);
  }
  state_ = State::cubin;
  needed_ = header->size;
  if (needed_ == buffer_.size()) read_whole_cubin();
}

// A cubin of which no more than the header is known.
void DeviceScan::add_by_header(const CubinHeader& header) {
  DeviceImage image;
  image.kind = ImageKind::cubin;
  image.offset = begin_;
  image.size = header.size;
  image.arch = header.arch;
  image.suffix = header.suffix || header.arch < 90 ? header.suffix : '?';
  image.relocatable = header.relocatable;
  add_image(Carrier::cubin, image, header.size, {});
}

void DeviceScan::read_whole_cubin() {
  DeviceImage image;
  image.offset = begin_;
  image.size = buffer_.size();
  add_cubin(Carrier::cubin, buffer_, image);
  search_on();
}

// A cubin outside of a container: what the flags of an entry would tell stands in its notes.
void DeviceScan::add_cubin(Carrier carrier, Bytes cubin, DeviceImage image) {
  image.kind = ImageKind::cubin;
  try {
    CubinFacts facts = read_cubin(cubin);
    image.arch = facts.header.arch;
    image.suffix = facts.suffix;
    image.relocatable = facts.header.relocatable;
    add_image(carrier, image, buffer_.size(), facts.kernels);
  } catch (const Unreadable& error) {
    // Nothing says where a cubin that lies bare in a library's data ends, and CUPTI's have sections
    // behind their tables.
    std::optional<CubinHeader> header = read_cubin_header(cubin);
    if (carrier == Carrier::cubin && header) return add_by_header(*header);
    problem(error.problem(), begin_);
  }
}

void DeviceScan::add_image(Carrier carrier, const DeviceImage& image, std::uint64_t size,
                           const std::vector<std::string>& kernels) {
  if (full()) return;
  container_ = DeviceContainer();
  container_.offset = begin_;
  container_.size = size;
  container_.carrier = carrier;
  container_.first_image = static_cast<std::uint32_t>(code_.images.size());
  container_.first_kernel = static_cast<std::uint32_t>(code_.kernels.size());
  if (image.kind == ImageKind::cubin) {
    container_.images = 1;
    code_.images.push_back(image);
    if (kernels_) add_kernels(kernels);
  }
  code_.containers.push_back(container_);
}

void DeviceScan::read_frame() {
  if (!walk_frame(walk_, buffer_)) return look_again();
  bool first_block = walk_.first_block_end != 0 && buffer_.size() >= walk_.first_block_end;
  if (first_block && !cubin_frame_) {
    std::vector<std::uint8_t> front = unpack_front(buffer_, Packing::zstd, cubin_header_bytes);
    cubin_frame_ = front.size() == cubin_header_bytes && read_cubin_header(front).has_value();
    if (!cubin_frame_) return look_again();
  }
  if (walk_.done) {
    DeviceImage image;
    image.offset = begin_;
    image.size = buffer_.size();
    image.unpacked = walk_.unpacked;
    image.packing = Packing::zstd;
    try {
      std::vector<std::uint8_t> cubin = unpack(buffer_, Packing::zstd, walk_.unpacked);
      add_cubin(Carrier::frame, cubin, image);
    } catch (const Unreadable&) {
      add_image(Carrier::frame, DeviceImage(), buffer_.size(), {});  // counted, not decoded
    }
    return search_on();
  }
  if (!fits(begin_, walk_.needed, file_size_)) return look_again();
  if (walk_.needed > max_unpacked) {
    add_image(Carrier::frame, DeviceImage(), buffer_.size(), {});
    return search_on();
  }
  needed_ = walk_.needed;
}

void DeviceScan::problem(Problem each, std::uint64_t offset) {
  if (code_.problems.size() >= max_problems) return;
  if (each.field != "kernel names") each.offset = offset;
  code_.problems.push_back(std::move(each));
}

bool DeviceScan::full() {
  if (std::max(code_.images.size(), code_.containers.size()) < max_images) return false;
  if (state_ != State::stopped) {
    problem({{}, {}, "device code", begin_, "is more than 1,048,576 images: the rest is not read"},
            begin_);
  }
  state_ = State::stopped;
  return true;
}

DeviceCode DeviceScan::finish() {
  code_.names.resize(known_names_.size());
  while (!known_names_.empty()) {
    auto node = known_names_.extract(known_names_.begin());
    code_.names[node.mapped()] = std::move(node.key());
  }
  code_.read = true;
  return std::move(code_);
}

}  // namespace wheelvet
