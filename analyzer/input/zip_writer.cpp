#include "input/zip_writer.h"

#include <zlib.h>

#include <stdexcept>

namespace wheelvet {
namespace {

template <class T>
void put(std::vector<std::uint8_t>& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
}

std::vector<std::uint8_t> deflated(Bytes content) {
  z_stream stream{};
  constexpr int raw_window = -15, best_memory = 9;
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, raw_window, best_memory,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("zlib could not start");
  }
  std::vector<std::uint8_t> out(deflateBound(&stream, content.size()));
  stream.next_in = const_cast<Bytef*>(content.data());
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  int code = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (code != Z_STREAM_END) throw std::runtime_error("zlib did not finish");
  return out;
}

constexpr std::uint16_t version_needed = 20, deflate_method = 8, no_flags = 0;
constexpr std::uint16_t midnight = 0, first_of_1980 = 0x21;
constexpr std::uint16_t made_on_unix = (3 << 8) | 20;
constexpr std::uint32_t regular_file_0644 = 0100644u << 16;

// The fields that both headers share, from "version needed" to "extra length" (APPNOTE 4.3.7).
void put_shared(std::vector<std::uint8_t>& out, std::uint32_t crc, std::size_t packed,
                std::size_t size, std::size_t name) {
  put(out, version_needed);
  put(out, no_flags);
  put(out, deflate_method);
  put(out, midnight);
  put(out, first_of_1980);
  put(out, crc);
  put(out, static_cast<std::uint32_t>(packed));
  put(out, static_cast<std::uint32_t>(size));
  put(out, static_cast<std::uint16_t>(name));
  put(out, std::uint16_t{0});
}

}  // namespace

void ZipWriter::add(const std::string& name, Bytes content) {
  std::vector<std::uint8_t> packed = deflated(content);
  auto crc =
      static_cast<std::uint32_t>(crc32_z(0, content.data(), static_cast<z_size_t>(content.size())));
  auto offset = static_cast<std::uint32_t>(bytes_.size());
  put(bytes_, std::uint32_t{0x04034b50});
  put_shared(bytes_, crc, packed.size(), content.size(), name.size());
  bytes_.insert(bytes_.end(), name.begin(), name.end());
  bytes_.insert(bytes_.end(), packed.begin(), packed.end());

  put(directory_, std::uint32_t{0x02014b50});
  put(directory_, made_on_unix);
  put_shared(directory_, crc, packed.size(), content.size(), name.size());
  put(directory_, std::uint16_t{0});  // comment length
  put(directory_, std::uint16_t{0});  // disk
  put(directory_, std::uint16_t{0});  // internal attributes
  put(directory_, regular_file_0644);
  put(directory_, offset);
  directory_.insert(directory_.end(), name.begin(), name.end());
  ++count_;
}

std::vector<std::uint8_t> ZipWriter::finish() {
  auto offset = static_cast<std::uint32_t>(bytes_.size());
  bytes_.insert(bytes_.end(), directory_.begin(), directory_.end());
  put(bytes_, std::uint32_t{0x06054b50});
  put(bytes_, std::uint16_t{0});
  put(bytes_, std::uint16_t{0});
  put(bytes_, count_);
  put(bytes_, count_);
  put(bytes_, static_cast<std::uint32_t>(directory_.size()));
  put(bytes_, offset);
  put(bytes_, std::uint16_t{0});
  return std::move(bytes_);
}

}  // namespace wheelvet
