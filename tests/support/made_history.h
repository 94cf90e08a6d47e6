// Tables of torch's names by hand, good ones and ones with one thing wrong.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "history/history.h"
#include "support/zip_writer.h"

namespace wheelvet::test {

struct MadeName {
  std::string name;
  std::vector<Export> exports;
};

struct MadeHistory {
  std::string head =
      "opener _ZN\nopener _ZNK\nnamespace 3c10\nglobal THP\nplain torch_\nwithout _GLOBAL__N_\n"
      "library lib/a.so\nlibrary lib/b.so\n"
      "build 2.1.0 x86_64\nlabel 2.1.0+cu121\nwheel t-1.whl\nstrings old\ncuda 12.1\n"
      "build 2.2.0 x86_64\nlabel 2.2.0+cu121\nwheel t-2.whl\nstrings cxx11\npython >=3.8\n"
      "build 2.3.0 x86_64\nlabel 2.3.0\nwheel t-3.whl\nstrings cxx11\n"
      "build 2.2.0 aarch64\nlabel 2.2.0\nwheel t-4.whl\nstrings cxx11\n";
  std::string facts = "build 0\nbuild 1\nbuild 2\nbuild 3\n";
  std::size_t builds = 4;
  std::vector<MadeName> names;  // in order, unless a test wants them in another
  std::size_t names_per_block = 2;

  // Lies
  std::uint32_t format = 1;
  std::uint32_t name_count_off_by = 0;
  std::uint32_t pattern_off_by = 0;     // added to every name's pattern number
  std::uint32_t library_off_by = 0;     // added to every library number
  std::uint32_t block_size_off_by = 0;  // added to the unpacked size of every block
  std::uint32_t block_crc_off_by = 0;
  std::uint32_t shared_off_by = 0;  // added to what every name shares with the one before
  std::uint32_t facts_size = 0;     // instead of the real one

  Buffer bytes() const;
};

inline Buffer varint(std::uint64_t value) {
  Buffer out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  return out += static_cast<char>(value);
}

inline void put_numbers(Buffer& out, std::initializer_list<std::size_t> values) {
  for (std::size_t value : values) put<std::uint32_t>(out, static_cast<std::uint32_t>(value));
}

inline Buffer pattern_of(const MadeHistory& made, const MadeName& name) {
  std::map<std::uint32_t, std::string> masks;
  for (const Export& each : name.exports) {
    std::string& mask = masks[each.library];
    mask.resize((made.builds + 7) / 8);
    mask[each.build / 8] = static_cast<char>(mask[each.build / 8] | 1 << each.build % 8);
  }
  Buffer out = varint(masks.size());
  for (const auto& [library, mask] : masks) out += varint(library + made.library_off_by) + mask;
  return out;
}

// Names [first, last) of the table; each has a pattern of its own, with the name's number.
inline Buffer block_of(const MadeHistory& made, std::size_t first, std::size_t last) {
  Buffer lengths, patterns, rest, before;
  for (std::size_t i = first; i < last; ++i) {
    const std::string& name = made.names[i].name;
    std::size_t shared = 0;
    while (shared < before.size() && shared < name.size() && before[shared] == name[shared]) {
      ++shared;
    }
    lengths += varint(shared + made.shared_off_by) + varint(name.size() - shared);
    patterns += varint(i + made.pattern_off_by);
    rest += name.substr(shared);
    before = name;
  }
  Buffer out;
  put_numbers(out, {lengths.size(), patterns.size()});
  return out + lengths + patterns + rest;
}

// The file around the four sections; `facts_size` is told instead of the last one's, if not 0.
inline Buffer table_of(std::initializer_list<std::size_t> header,
                       const std::vector<Buffer>& sections, const Buffer& blocks,
                       std::uint32_t facts_size = 0) {
  Buffer out = "WVHISTRY", packed_sections;
  put_numbers(out, header);
  std::size_t at = out.size() + sections.size() * 16;
  for (const Buffer& plain : sections) {
    Buffer packed = deflated(plain);
    bool lie = facts_size != 0 && &plain == &sections.back();
    put_numbers(out, {at + packed_sections.size(), packed.size(), lie ? facts_size : plain.size(),
                      crc_of(plain)});
    packed_sections += packed;
  }
  return out + packed_sections + blocks;
}

inline Buffer MadeHistory::bytes() const {
  Buffer blocks, index, patterns;
  for (const MadeName& name : names) patterns += pattern_of(*this, name);
  for (std::size_t first = 0; first < names.size(); first += names_per_block) {
    std::size_t last = std::min(first + names_per_block, names.size());
    Buffer plain = block_of(*this, first, last), packed = deflated(plain);
    put_numbers(index, {blocks.size(), packed.size(), plain.size() + block_size_off_by,
                        crc_of(plain) + block_crc_off_by, last - first});
    index += varint(names[first].name.size()) + names[first].name;
    blocks += packed;
  }
  return table_of({format, builds, names.size(), names.size() + name_count_off_by},
                  {head, patterns, index, facts}, blocks, facts_size);
}

}  // namespace wheelvet::test
