// Deflate data beside sizes and sums that may be lies, against zlib; and members of an archive
// whose place and size come from the input. Bits of the first byte:
//   1  the rest is deflated first, so that it is valid
//   2  the size is the right one    4  the CRC is the right one
// Then two bytes each: what is added to a wrong size, a member's place, a member's size.
#include "input/inflate.h"

#include <zlib.h>

#include "input/archive.h"
#include "require.h"
#include "support/temporary_file.h"
#include "support/zip_writer.h"

using namespace wheelvet;
using namespace wheelvet::fuzz;
using test::Buffer;

namespace {

constexpr std::size_t most_plain = 1u << 16;

Bytes bytes_of(const Buffer& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// What zlib makes of the data; `whole`: the last block ends where the data does.
struct Plain {
  Buffer text;
  bool whole = false;
};

Plain inflated(const Buffer& packed) {
  z_stream stream{};
  inflateInit2(&stream, -15);
  Plain out{Buffer(most_plain, '\0'), false};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.text.data());
  stream.avail_out = static_cast<uInt>(out.text.size());
  int code = ::inflate(&stream, Z_FINISH);
  out.whole = code == Z_STREAM_END && stream.avail_in == 0;
  out.text.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

void in_memory(const Buffer& packed, const Plain& plain, std::size_t size, std::uint32_t crc) {
  bool right = plain.whole && size == plain.text.size() && crc == test::crc_of(plain.text);
  bool taken = false;
  may_refuse([&] {
    std::vector<std::uint8_t> out =
        inflate_bytes(bytes_of(packed), static_cast<std::uint32_t>(size), crc, "data", 0);
    taken = true;
    require(out.size() == size, "as many bytes as asked for");
    require(!plain.whole || std::equal(out.begin(), out.end(), bytes_of(plain.text).begin()),
            "the bytes that zlib gives");
  });
  require(!right || taken, "what zlib takes is taken");
  require(!taken || right || plain.text.size() >= most_plain, "a lie is refused");
}

void as_member(const Buffer& packed, const Member& member) {
  static const test::TemporaryFile file("");
  file.replace(packed);
  RandomFile archive(file.path());
  std::uint64_t given = 0;
  may_refuse([&] {
    StreamResult result = stream_member(archive, member, [&](Bytes bytes) {
      given += bytes.size();
      return given < (4u << 20);
    });
    bool fine = result.complete && !result.size_differs && !result.crc_differs;
    require(!fine || given == member.size, "a member that is fine has its size");
  });
  require(given <= member.size + (256u << 10), "no more than a window beyond the size");
  may_refuse([&] {
    require(read_member(archive, member, most_plain).size() == member.size, "the whole member");
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 7) return 0;
  auto number = [&](std::size_t at) {
    return std::size_t{data[at]} | std::size_t{data[at + 1]} << 8;
  };
  Buffer rest(text_of(data + 7, size - 7));
  Buffer packed = data[0] & 1 ? test::deflated(rest) : rest;
  Plain plain = inflated(packed);
  std::size_t said = plain.text.size() + (data[0] & 2 ? 0 : number(1));
  std::uint32_t crc = test::crc_of(plain.text) ^ (data[0] & 4 ? 0u : 1u);
  in_memory(packed, plain, said, crc);
  Member member{"m",
                data[0] & 2 ? said : number(5),
                packed.size(),
                0,
                0,
                crc,
                data[0] & 8 ? std::uint16_t{0} : std::uint16_t{8}};
  if (data[0] & 16) {
    member.data_offset = number(3);
    member.packed_size = number(5);
  }
  as_member(packed, member);
  return 0;
}
