// Writes zip archives, good ones and ones with one thing wrong: every field can be a lie.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace wheelvet::test {

using Buffer = std::string;

template <class T>
void put(Buffer& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff);
  }
}

inline Buffer deflated(const Buffer& data) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY);
  Buffer out(deflateBound(&stream, static_cast<uLong>(data.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::uint32_t crc_of(const Buffer& data) {
  return static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())));
}

/// One header's fields, as they will be written (APPNOTE.TXT 4.3.7 and 4.3.12).
struct Header {
  Buffer name;
  std::uint16_t flags = 0, method = 0;
  std::uint32_t crc = 0, packed = 0, size = 0;
  Buffer extra, comment;
  // Central headers only.
  std::uint16_t made_by = 3 << 8;
  std::uint32_t attributes = 0100644u << 16;
  std::optional<std::uint32_t> offset;
};

struct Entry {
  Header local, central;
  Buffer data;        // packed
  Buffer descriptor;  // behind the data
  bool in_directory = true;
  bool in_body = true;
};

inline Entry entry(const Buffer& name, const Buffer& data, bool deflate = true) {
  Entry out;
  out.data = deflate ? deflated(data) : data;
  out.local.name = name;
  out.local.method = deflate ? 8 : 0;
  out.local.crc = crc_of(data);
  out.local.packed = static_cast<std::uint32_t>(out.data.size());
  out.local.size = static_cast<std::uint32_t>(data.size());
  out.central = out.local;
  return out;
}

/// As a writer does that cannot seek: sizes and CRC behind the data.
inline Entry streamed_entry(const Buffer& name, const Buffer& data, bool signature, bool wide) {
  Entry out = entry(name, data);
  out.local.flags = out.central.flags = 8;
  out.local.crc = out.local.packed = out.local.size = 0;
  if (signature) put<std::uint32_t>(out.descriptor, 0x08074b50);
  put(out.descriptor, out.central.crc);
  for (std::uint32_t size : {out.central.packed, out.central.size}) {
    if (wide) put<std::uint64_t>(out.descriptor, size);
    if (!wide) put<std::uint32_t>(out.descriptor, size);
  }
  return out;
}

inline Buffer extra_field(std::uint16_t id, const Buffer& content) {
  Buffer out;
  put(out, id);
  put(out, static_cast<std::uint16_t>(content.size()));
  return out + content;
}

inline Buffer zip64_extra(const std::vector<std::uint64_t>& values) {
  Buffer content;
  for (std::uint64_t value : values) put(content, value);
  return extra_field(1, content);
}

/// As Python's ZipFile.open(force_zip64=True) writes it: 0xffffffff and an extra field locally,
/// plain values centrally.
inline Entry forced_zip64_entry(const Buffer& name, const Buffer& data) {
  Entry out = entry(name, data);
  out.local.extra = zip64_extra({out.local.size, out.local.packed});
  out.local.size = out.local.packed = 0xffffffffu;
  return out;
}

/// Where things lie before the archive is put together, for lies about it.
struct Ends {
  std::uint64_t entries = 0, size = 0, offset = 0;
  std::uint64_t entries_on_disk = 0;
};

struct Zip {
  std::vector<Entry> entries;
  Buffer before, between, after, before_end, comment;  // bytes that belong to nothing
  bool zip64 = false;
  Buffer before_locator;
  std::function<void(Ends&)> lie;    // about the end record
  std::function<void(Ends&)> lie64;  // about the zip64 end record

  Buffer bytes() const {
    Buffer out = before;
    std::vector<std::uint64_t> offsets;
    for (const Entry& each : entries) {
      offsets.push_back(out.size());
      if (!each.in_body) continue;
      put_header(out, each.local, nullptr);
      out += each.data + each.descriptor + between;
    }
    out += after;
    Ends ends;
    ends.offset = out.size();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (!entries[i].in_directory) continue;
      put_header(out, entries[i].central, &offsets[i]);
      ++ends.entries;
    }
    ends.size = out.size() - ends.offset;
    ends.entries_on_disk = ends.entries;
    out += before_end;
    if (zip64) put_end64(out, ends);
    if (lie) lie(ends);
    put<std::uint32_t>(out, 0x06054b50);
    put<std::uint32_t>(out, 0);
    put(out, static_cast<std::uint16_t>(ends.entries_on_disk));
    put(out, static_cast<std::uint16_t>(ends.entries));
    put(out, static_cast<std::uint32_t>(ends.size));
    put(out, static_cast<std::uint32_t>(ends.offset));
    put(out, static_cast<std::uint16_t>(comment.size()));
    return out + comment;
  }

 private:
  void put_end64(Buffer& out, Ends ends) const {
    if (lie64) lie64(ends);
    std::uint64_t at = out.size();
    put<std::uint32_t>(out, 0x06064b50);
    put<std::uint64_t>(out, 44);
    put<std::uint16_t>(out, 45);
    put<std::uint16_t>(out, 45);
    put<std::uint64_t>(out, 0);
    for (std::uint64_t value : {ends.entries, ends.entries, ends.size, ends.offset})
      put(out, value);
    out += before_locator;
    put<std::uint32_t>(out, 0x07064b50);
    put<std::uint32_t>(out, 0);
    put(out, at);
    put<std::uint32_t>(out, 1);
  }

  static void put_header(Buffer& out, const Header& header, const std::uint64_t* offset) {
    put<std::uint32_t>(out, offset ? 0x02014b50 : 0x04034b50);
    if (offset) put(out, header.made_by);
    put<std::uint16_t>(out, 20);
    put(out, header.flags);
    put(out, header.method);
    put<std::uint32_t>(out, 0x00210000);  // 1980-01-01
    put(out, header.crc);
    put(out, header.packed);
    put(out, header.size);
    put(out, static_cast<std::uint16_t>(header.name.size()));
    put(out, static_cast<std::uint16_t>(header.extra.size()));
    if (offset) {
      put(out, static_cast<std::uint16_t>(header.comment.size()));
      put<std::uint32_t>(out, 0);
      put(out, header.attributes);
      put(out, header.offset.value_or(static_cast<std::uint32_t>(*offset)));
    }
    out += header.name + header.extra;
    if (offset) out += header.comment;
  }
};

}  // namespace wheelvet::test
