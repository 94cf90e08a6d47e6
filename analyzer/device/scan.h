// Finds the device code of a file in one pass from front to back.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/cubin.h"
#include "device/unpack.h"
#include "facts/bytes.h"
#include "wheelvet/device_code.h"

namespace wheelvet {

/// Takes a file's bytes in order and keeps the headers of its device code. Section headers are not
/// used: the loader does not, and they may be stripped or false. Every 8-byte boundary is looked at
/// (nvcc aligns its containers so) but those inside of containers, which are stepped through by
/// their own headers. Payloads are passed over, but for the few bytes that say whether a cubin is
/// relocatable and, when kernels are wanted, one image of each container.
class DeviceScan {
 public:
  DeviceScan(std::uint64_t file_size, bool kernels);

  /// The bytes from `position()` on.
  void feed(Bytes chunk);

  std::uint64_t position() const { return position_; }

  /// Where the next byte lies that says anything; what lies before may be left out with `jump`.
  std::uint64_t next() const { return position_ + skip_; }
  void jump();

  /// Call once, after the last byte.
  DeviceCode finish();

 private:
  enum class State { search, word, container, entry, payload, cubin_header, cubin, frame, stopped };

  std::size_t take(Bytes chunk);
  std::size_t search(Bytes chunk);
  void collect(State state, std::uint64_t needed);
  void search_on(std::uint64_t skip = 0);
  void look_again();
  void step();
  void look_at_word();
  void begin_container();
  void leave_entry();
  void drop_container();
  void read_entry();
  void read_payload();
  void read_kernels(Bytes payload);
  void keep_image();
  void read_front_of_cubin();
  void read_whole_cubin();
  void read_frame();
  void add_by_header(const CubinHeader& header);
  void add_cubin(Carrier carrier, Bytes cubin, DeviceImage image);
  void add_image(Carrier carrier, const DeviceImage& image, std::uint64_t size,
                 const std::vector<std::string>& kernels);
  void add_kernels(const std::vector<std::string>& names);
  void problem(Problem each, std::uint64_t offset);
  bool full();

  std::uint64_t file_size_;
  bool kernels_;
  State state_ = State::search;
  std::uint64_t position_ = 0;  // of the next byte to come
  std::uint64_t skip_ = 0;      // bytes that say nothing
  std::uint64_t begin_ = 0;     // where `buffer_` starts
  std::uint64_t needed_ = 0;    // bytes of it that make the next step possible
  std::vector<std::uint8_t> buffer_;
  std::vector<std::uint8_t> again_;  // bytes to be looked at once more
  std::size_t false_starts_ = 0;
  std::uint64_t container_end_ = 0, entry_end_ = 0;
  DeviceContainer container_;
  DeviceImage image_;
  bool relocatable_known_ = false, relocatable_ = false;
  bool cubin_frame_ = false;  // the frame in hand begins with a cubin's header
  FrameWalk walk_;
  std::unordered_map<std::string, std::uint32_t> known_names_;
  DeviceCode code_;
  std::uint64_t name_bytes_ = 0;
};

}  // namespace wheelvet
