#include "input/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "facts/utf8.h"
#include "input/hash.h"

namespace wheelvet {
namespace {

// Signatures and sizes of APPNOTE.TXT 4.3.
constexpr std::uint32_t local_signature = 0x04034b50;
constexpr std::uint32_t central_signature = 0x02014b50;
constexpr std::uint32_t end_signature = 0x06054b50;
constexpr std::uint32_t end64_signature = 0x06064b50;
constexpr std::uint32_t locator64_signature = 0x07064b50;
constexpr std::uint32_t descriptor_signature = 0x08074b50;
constexpr std::uint64_t local_size = 30, central_size = 46, end_size = 22, end64_size = 56,
                        locator64_size = 20;
constexpr std::uint16_t flag_encrypted = 0x1, flag_descriptor = 0x8, flag_strong = 0x40,
                        flag_utf8 = 0x800;
constexpr std::uint16_t extra_zip64 = 0x0001, extra_unicode_path = 0x7075, extra_aes = 0x9901;
// Stored and deflated members with zip64 need no more than 4.5 (APPNOTE 4.4.3.2). unzip passes over
// what asks for more than 4.6, and Python's zipfile refuses what asks for more than 6.3.
constexpr std::uint8_t newest_version = 46;
// A directory over this size is no wheel's: the largest real ones are under 5 MB.
constexpr std::uint64_t max_directory = 256u << 20;
// Real libraries pack two- to twenty-fold.
constexpr std::uint64_t big = 64u << 20, unlikely = 200;

struct Directory {
  std::uint64_t entries = 0, size = 0, offset = 0, end_record = 0;
};

// One header's values, zip64 resolved.
struct Entry {
  std::string name;
  std::uint16_t flags = 0, method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, size = 0, header_offset = 0, data_offset = 0;
  std::uint32_t attributes = 0;
  std::uint16_t made_by = 0;
  std::uint8_t version_needed = 0;
};

void fault(Input& input, std::string_view rule, std::string_view member, std::string detail,
           std::optional<std::uint64_t> offset = std::nullopt) {
  input.faults.push_back({std::string(rule), std::string(member), std::move(detail), offset});
}

std::optional<Bytes> extra_field(Bytes extra, std::uint16_t id) {
  for (std::uint64_t at = 0; fits(at, 4, extra.size());) {
    auto tag = load<std::uint16_t>(extra, at, "extra field");
    std::uint64_t size = load<std::uint16_t>(extra, at + 2, "extra field");
    if (!fits(at + 4, size, extra.size())) return std::nullopt;
    if (tag == id) return extra.subspan(at + 4, size);
    at += 4 + size;
  }
  return std::nullopt;
}

// Readers differ in what they do with an extra field that does not end where it says, and with two
// of one kind that both change what is extracted.
void check_extra(Bytes extra, const std::string& name, Input& input) {
  std::map<std::uint16_t, int> seen;
  std::uint64_t at = 0;
  while (fits(at, 4, extra.size())) {
    ++seen[load<std::uint16_t>(extra, at, "extra field")];
    at += 4 + load<std::uint16_t>(extra, at + 2, "extra field");
  }
  if (at > extra.size()) fault(input, "ARC-017", name, "an extra field ends after its place");
  // Zeros that pad are read over by everybody.
  Bytes rest = extra.subspan(std::min<std::uint64_t>(at, extra.size()));
  if (std::any_of(rest.begin(), rest.end(), [](std::uint8_t b) { return b != 0; })) {
    fault(input, "ARC-017", name, "bytes behind the last extra field");
  }
  if (seen[extra_zip64] > 1) fault(input, "ARC-017", name, "two zip64 extra fields");
  if (seen[extra_unicode_path] > 1) fault(input, "ARC-017", name, "two Unicode path extra fields");
  if (seen[extra_aes] > 0) fault(input, "ARC-009", name, "an extra field of AES encryption");
}

// Fields of 0xffffffff stand in the zip64 extra, in a fixed order, those only (APPNOTE 4.5.3).
void resolve_zip64(Bytes extra, std::initializer_list<std::uint64_t*> fields) {
  std::optional<Bytes> block = extra_field(extra, extra_zip64);
  std::uint64_t at = 0;
  for (std::uint64_t* field : fields) {
    if (*field != 0xffffffffu) continue;
    if (!block || !fits(at, 8, block->size())) continue;
    *field = load<std::uint64_t>(*block, at, "zip64 extra field");
    at += 8;
  }
}

Directory read_end64(const RandomFile& file, std::uint64_t end_at, const Directory& plain,
                     Input& input) {
  if (end_at < locator64_size) return plain;
  auto locator = file.read(end_at - locator64_size, locator64_size, "zip64 locator");
  if (load<std::uint32_t>(locator, 0, "zip64 locator") != locator64_signature) return plain;
  auto at = load<std::uint64_t>(locator, 8, "zip64 locator");
  auto record = file.read(at, end64_size, "zip64 end record");
  if (load<std::uint32_t>(record, 0, "zip64 end record") != end64_signature) {
    throw Unreadable("zip64 end record", at, "has no signature");
  }
  // Its size does not count the signature and itself (APPNOTE 4.3.14.1).
  auto rest = load<std::uint64_t>(record, 4, "zip64 end record");
  std::uint64_t room = end_at - locator64_size - at;
  if (room < 12 || rest != room - 12) {
    fault(input, "ARC-003", "", "bytes between the zip64 end record and its locator", at);
  }
  Directory wide;
  wide.entries = load<std::uint64_t>(record, 32, "zip64 end record");
  wide.size = load<std::uint64_t>(record, 40, "zip64 end record");
  wide.offset = load<std::uint64_t>(record, 48, "zip64 end record");
  wide.end_record = at;
  auto differs = [](std::uint64_t narrow, std::uint64_t full, std::uint64_t mark) {
    return narrow != mark && narrow != full;
  };
  if (differs(plain.entries, wide.entries, 0xffff) || differs(plain.size, wide.size, 0xffffffffu) ||
      differs(plain.offset, wide.offset, 0xffffffffu)) {
    fault(input, "ARC-005", "", "the zip64 end record and the plain one differ", at);
  }
  return wide;
}

Directory find_directory(const RandomFile& file, Input& input) {
  if (file.size() < end_size) throw Unreadable("zip end record", std::nullopt, "not a zip archive");
  std::uint64_t tail_size = std::min<std::uint64_t>(file.size(), end_size + 0xffff);
  std::uint64_t tail_at = file.size() - tail_size;
  auto tail = file.read(tail_at, tail_size, "zip end record");
  std::optional<std::uint64_t> found;
  for (std::uint64_t at = tail_size - end_size + 1; at-- > 0;) {
    if (load<std::uint32_t>(tail, at, "zip end record") != end_signature) continue;
    std::uint64_t comment = load<std::uint16_t>(tail, at + 20, "zip end record");
    if (at + end_size + comment == tail_size) {
      if (found) {
        fault(input, "ARC-004", "", "more than one end record fits the end of the file",
              tail_at + at);
      } else {
        found = at;
      }
    }
  }
  if (!found) {
    throw Unreadable("zip end record", std::nullopt,
                     "not a zip archive, or cut off: no end record at the end of the file");
  }
  Directory plain;
  plain.end_record = tail_at + *found;
  plain.entries = load<std::uint16_t>(tail, *found + 10, "zip end record");
  auto on_this_disk = load<std::uint16_t>(tail, *found + 8, "zip end record");
  if (on_this_disk != plain.entries) {
    fault(input, "ARC-004", "", "the end record counts entries on other disks", plain.end_record);
  }
  if (load<std::uint32_t>(tail, *found + 4, "zip end record") != 0) {  // two numbers of 16 bits
    fault(input, "ARC-004", "", "the end record names other disks", plain.end_record);
  }
  plain.size = load<std::uint32_t>(tail, *found + 12, "zip end record");
  plain.offset = load<std::uint32_t>(tail, *found + 16, "zip end record");
  Directory directory = read_end64(file, plain.end_record, plain, input);
  if (!fits(directory.offset, directory.size, directory.end_record)) {
    throw Unreadable("zip end record", plain.end_record, "central directory ends after it");
  }
  if (directory.offset + directory.size != directory.end_record) {
    fault(input, "ARC-003", "", "bytes between the central directory and its end record",
          directory.offset + directory.size);
  }
  return directory;
}

void check_name(Input& input, const std::string& name) {
  auto bad = [&](const char* why) { fault(input, "ARC-006", name, why); };
  if (name.empty()) return bad("empty name");
  if (name.front() == '/') bad("absolute path");
  if (name.size() > 1 && name[1] == ':') bad("drive letter");
  if (name.find('\\') != std::string::npos) bad("backslash");
  auto control = [](char c) { return static_cast<std::uint8_t>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(name.begin(), name.end(), control)) bad("control character");
  for (std::size_t at = 0; at <= name.size();) {
    std::size_t end = std::min(name.find('/', at), name.size());
    std::string_view part(name.data() + at, end - at);
    if (part == ".." || part == ".") bad("'.' or '..' as a path component");
    if (part.empty() && end != name.size() && end != 0) bad("empty path component");
    at = end + 1;
  }
}

// Without the flag a name is of code page 437 by the specification, of UTF-8 for some readers and
// of the locale's encoding for others; with it, it must be UTF-8 (APPNOTE appendix D).
void check_encoding(const Entry& entry, Input& input) {
  bool ascii = std::all_of(entry.name.begin(), entry.name.end(),
                           [](char c) { return static_cast<std::uint8_t>(c) < 0x80; });
  if (ascii) return;
  if (!(entry.flags & flag_utf8)) {
    fault(input, "ARC-016", entry.name, "is not ASCII, and not marked as UTF-8");
  } else if (!is_utf8(entry.name)) {
    fault(input, "ARC-016", entry.name, "is marked as UTF-8, and is not");
  }
}

// Readers that know the Info-ZIP Unicode Path field (APPNOTE 4.6.9) take the name from there.
void check_unicode_path(Bytes extra, const std::string& name, Input& input) {
  std::optional<Bytes> path = extra_field(extra, extra_unicode_path);
  if (!path) return;
  bool same = path->size() >= 5 &&
              std::equal(path->begin() + 5, path->end(), name.begin(), name.end(),
                         [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); });
  if (!same) fault(input, "ARC-014", name, "Unicode path extra field gives another name");
}

std::vector<Entry> read_central(Bytes bytes, const Directory& directory, Input& input) {
  std::vector<Entry> entries;
  constexpr const char* field = "central directory";
  std::uint64_t at = 0;
  while (fits(at, central_size, bytes.size()) &&
         load<std::uint32_t>(bytes, at, field) == central_signature) {
    Entry entry;
    entry.made_by = load<std::uint16_t>(bytes, at + 4, field);
    entry.version_needed = load<std::uint8_t>(bytes, at + 6, field);
    entry.flags = load<std::uint16_t>(bytes, at + 8, field);
    entry.method = load<std::uint16_t>(bytes, at + 10, field);
    entry.crc = load<std::uint32_t>(bytes, at + 16, field);
    entry.packed = load<std::uint32_t>(bytes, at + 20, field);
    entry.size = load<std::uint32_t>(bytes, at + 24, field);
    std::uint64_t name_size = load<std::uint16_t>(bytes, at + 28, field);
    std::uint64_t extra_size = load<std::uint16_t>(bytes, at + 30, field);
    std::uint64_t comment_size = load<std::uint16_t>(bytes, at + 32, field);
    entry.attributes = load<std::uint32_t>(bytes, at + 38, field);
    entry.header_offset = load<std::uint32_t>(bytes, at + 42, field);
    Bytes name = slice(bytes, at + central_size, name_size, field);
    Bytes extra = slice(bytes, at + central_size + name_size, extra_size, field);
    entry.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
    check_extra(extra, entry.name, input);
    resolve_zip64(extra, {&entry.size, &entry.packed, &entry.header_offset});
    if (auto disk = load<std::uint16_t>(bytes, at + 34, field); disk != 0 && disk != 0xffff) {
      fault(input, "ARC-004", entry.name, "lies on another disk", directory.offset + at);
    }
    check_unicode_path(extra, entry.name, input);
    entries.push_back(std::move(entry));
    at += central_size + name_size + extra_size + comment_size;
  }
  if (at != bytes.size()) {
    fault(input, "ARC-004", "", "the central directory has bytes that are no entry",
          directory.offset + at);
  }
  if (entries.size() != directory.entries) {
    fault(input, "ARC-004", "",
          fmt::format("the end record says {} entries, the directory has {}", directory.entries,
                      entries.size()),
          directory.end_record);
  }
  return entries;
}

void check_version(std::uint8_t needed, const std::string& name, Input& input) {
  if (needed <= newest_version) return;
  fault(input, "ARC-009", name,
        fmt::format("asks for version {}.{} of the format", needed / 10, needed % 10));
}

// Compares the local header with the central one and fills in where the data start.
void check_local(const RandomFile& file, const Directory& directory, Entry& entry, Input& input) {
  constexpr const char* field = "local header";
  if (!fits(entry.header_offset, local_size, directory.offset)) {
    throw Unreadable(field, entry.header_offset, "lies outside the archive's data");
  }
  std::uint64_t guess =
      std::min(directory.offset - entry.header_offset, local_size + entry.name.size() + 64);
  std::vector<std::uint8_t> bytes = file.read(entry.header_offset, guess, field);
  if (load<std::uint32_t>(bytes, 0, field) != local_signature) {
    throw Unreadable(field, entry.header_offset, "has no signature");
  }
  std::uint64_t name_size = load<std::uint16_t>(bytes, 26, field);
  std::uint64_t extra_size = load<std::uint16_t>(bytes, 28, field);
  std::uint64_t whole = local_size + name_size + extra_size;
  if (!fits(entry.header_offset, whole, directory.offset)) {
    throw Unreadable(field, entry.header_offset, "ends after the archive's data");
  }
  if (whole > bytes.size()) bytes = file.read(entry.header_offset, whole, field);
  entry.data_offset = entry.header_offset + whole;

  Entry local;
  local.version_needed = load<std::uint8_t>(bytes, 4, field);
  local.flags = load<std::uint16_t>(bytes, 6, field);
  local.method = load<std::uint16_t>(bytes, 8, field);
  local.crc = load<std::uint32_t>(bytes, 14, field);
  local.packed = load<std::uint32_t>(bytes, 18, field);
  local.size = load<std::uint32_t>(bytes, 22, field);
  local.name.assign(reinterpret_cast<const char*>(bytes.data() + local_size), name_size);
  Bytes extra = slice(bytes, local_size + name_size, extra_size, field);
  check_extra(extra, local.name, input);
  resolve_zip64(extra, {&local.size, &local.packed});
  check_unicode_path(extra, local.name, input);

  auto differ = [&](const char* what) {
    fault(input, "ARC-002", entry.name, fmt::format("{} differs between the two headers", what),
          entry.header_offset);
  };
  if (local.name != entry.name) differ("name");
  if (local.method != entry.method) differ("compression method");
  check_version(std::max(local.version_needed, entry.version_needed), entry.name, input);
  if ((local.flags ^ entry.flags) & (flag_encrypted | flag_descriptor | flag_utf8)) {
    differ("flags");
  }
  // With a data descriptor the sizes and the CRC of the local header may be zero.
  bool later = (local.flags & flag_descriptor) != 0;
  auto same = [&](std::uint64_t here, std::uint64_t there) {
    return here == there || (later && here == 0);
  };
  if (!same(local.crc, entry.crc)) differ("CRC");
  if (!same(local.size, entry.size)) differ("size");
  if (!same(local.packed, entry.packed)) differ("packed size");
}

// Bytes of the data descriptor behind an entry, which may or may not have a signature and 64-bit
// sizes: the form that ends where the next entry starts. Readers that stream believe what it says.
std::uint64_t descriptor_size(const RandomFile& file, const Entry& entry, std::uint64_t next,
                              Input& input) {
  constexpr const char* field = "data descriptor";
  std::uint64_t end = entry.data_offset + entry.packed;
  if (!(entry.flags & flag_descriptor) || next < end) return 0;
  std::uint64_t gap = next - end;
  bool is_signed = gap == 16 || gap == 24;
  if (!is_signed && gap != 12 && gap != 20) return 0;
  auto bytes = file.read(end, gap, field);
  if (is_signed && load<std::uint32_t>(bytes, 0, field) != descriptor_signature) return 0;
  std::uint64_t at = is_signed ? 4 : 0;
  bool wide = gap >= 20;
  auto size = [&](std::uint64_t place) {
    return wide ? load<std::uint64_t>(bytes, place, field)
                : std::uint64_t{load<std::uint32_t>(bytes, place, field)};
  };
  bool same = load<std::uint32_t>(bytes, at, field) == entry.crc && size(at + 4) == entry.packed &&
              size(at + (wide ? 12 : 8)) == entry.size;
  if (!same) fault(input, "ARC-002", entry.name, "its data descriptor differs", end);
  return gap;
}

// Every byte before the central directory belongs to exactly one entry.
void check_tiling(const RandomFile& file, const Directory& directory,
                  const std::vector<Entry>& entries, Input& input) {
  std::vector<const Entry*> order;
  for (const Entry& entry : entries) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    return a->header_offset < b->header_offset;
  });
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Entry& entry = *order[i];
    if (entry.header_offset > at) {
      fault(input, "ARC-003", entry.name, "bytes before it belong to no entry", at);
    } else if (entry.header_offset < at) {
      fault(input, "ARC-012", entry.name, "overlaps the entry before it", entry.header_offset);
    }
    std::uint64_t next = i + 1 < order.size() ? order[i + 1]->header_offset : directory.offset;
    at = std::max(at, entry.data_offset + entry.packed + descriptor_size(file, entry, next, input));
  }
  if (at < directory.offset) {
    fault(input, "ARC-003", "", "bytes between the last entry and the central directory", at);
  } else if (at > directory.offset) {
    fault(input, "ARC-012", "", "the last entry overlaps the central directory", at);
  }
}

// Also the ratio that deflate cannot exceed (1032:1, zlib's technical note), so that a lie about
// the size is known before anything is inflated.
void check_entry(const Entry& entry, Input& input) {
  check_name(input, entry.name);
  check_encoding(entry, input);
  if (entry.name.ends_with('/') && entry.size != 0) {
    fault(input, "ARC-015", entry.name, "a folder with content");
  }
  if (entry.flags & (flag_encrypted | flag_strong)) {
    fault(input, "ARC-009", entry.name, "encrypted");
  }
  if (entry.method != 0 && entry.method != 8) {
    fault(input, "ARC-009", entry.name, fmt::format("compression method {}", entry.method));
  }
  bool made_on_unix = (entry.made_by >> 8) == 3;
  std::uint32_t file_type = (entry.attributes >> 16) & 0170000;
  if (made_on_unix && file_type != 0 && file_type != 0100000 && file_type != 0040000) {
    fault(input, "ARC-007", entry.name,
          file_type == 0120000 ? "a symbolic link" : "neither a file nor a folder");
  }
  bool stored_lie = entry.method == 0 && entry.size != entry.packed;
  bool deflate_lie = entry.method == 8 && entry.size > entry.packed * 1032 + 1032;
  bool bomb = entry.size > big && entry.size > entry.packed * unlikely;
  if (bomb && !stored_lie && !deflate_lie) {
    fault(input, "ARC-013", entry.name,
          fmt::format("{} packed bytes become {} bytes", entry.packed, entry.size));
  }
  if (stored_lie || deflate_lie) {
    fault(input, "ARC-010", entry.name,
          fmt::format("{} packed bytes cannot be {} bytes", entry.packed, entry.size));
  }
}

struct Folding {
  std::uint32_t first, last, step;
  std::int32_t difference;
};

constexpr Folding foldings[] = {
#include "input/casefold.inc"
};

std::uint32_t folded_case(std::uint32_t code) {
  if (code < 0x80) return code >= 'A' && code <= 'Z' ? code - 'A' + 'a' : code;
  auto after = std::upper_bound(
      std::begin(foldings), std::end(foldings), code,
      [](std::uint32_t value, const Folding& folding) { return value < folding.first; });
  if (after == std::begin(foldings)) return code;
  const Folding& folding = *(after - 1);
  bool inside = code <= folding.last && (code - folding.first) % folding.step == 0;
  return inside ? code + static_cast<std::uint32_t>(folding.difference) : code;
}

// One name as file systems that ignore case see it: its characters, and bytes that are none above
// all characters.
std::u32string folded(std::string_view name) {
  std::u32string out;
  while (!name.empty()) {
    std::optional<Decoded> next = decode_utf8(name);
    std::uint32_t byte = static_cast<std::uint8_t>(name[0]);
    out += static_cast<char32_t>(next ? folded_case(next->code) : 0x110000 + byte);
    name.remove_prefix(next ? next->length : 1);
  }
  return out;
}

void check_collisions(const std::vector<Entry>& entries, Input& input) {
  std::unordered_map<std::u32string, const std::string*> seen;
  for (const Entry& entry : entries) {
    auto [place, fresh] = seen.emplace(folded(entry.name), &entry.name);
    if (fresh) continue;
    bool same = *place->second == entry.name;
    fault(input, same ? "ARC-001" : "ARC-008", entry.name,
          same ? "this name stands more than once"
               : fmt::format("differs only in case from {}", *place->second));
  }
}

// A name that is a file and, as the folder of another, a folder.
void check_folders(const std::vector<Entry>& entries, Input& input) {
  std::unordered_set<std::string_view> folders;
  for (const Entry& entry : entries) {
    std::string_view name = entry.name;
    for (std::size_t at = name.find('/'); at != std::string_view::npos;
         at = name.find('/', at + 1)) {
      folders.insert(name.substr(0, at));
    }
  }
  for (const Entry& entry : entries) {
    if (folders.contains(entry.name)) {
      fault(input, "ARC-015", entry.name, "is the folder of other entries as well");
    }
  }
}

// Bombs of many members, each too small to be one by itself.
void check_sum(const std::vector<Entry>& entries, Input& input) {
  std::uint64_t sum = 0;
  auto unlikely_ratio = [](const Entry& entry) {
    return entry.size <= big && entry.size > entry.packed * unlikely;
  };
  for (const Entry& entry : entries) sum += unlikely_ratio(entry) ? entry.size : 0;
  if (sum <= big) return;
  for (const Entry& entry : entries) {
    if (!unlikely_ratio(entry)) continue;
    fault(input, "ARC-013", entry.name,
          fmt::format("one of the members that unpack to {} bytes in all", sum));
  }
}

}  // namespace

void read_archive(const RandomFile& file, Input& input) {
  input.size = file.size();
  Directory directory = find_directory(file, input);
  if (directory.size > max_directory) {
    throw Unreadable("central directory", directory.offset, "is larger than 256 MiB");
  }
  auto bytes = file.read(directory.offset, directory.size, "central directory");
  input.identity = sha256_hex(bytes);
  std::vector<Entry> entries = read_central(bytes, directory, input);
  for (Entry& entry : entries) {
    check_entry(entry, input);
    check_local(file, directory, entry, input);
  }
  check_collisions(entries, input);
  check_folders(entries, input);
  check_sum(entries, input);
  check_tiling(file, directory, entries, input);
  for (Entry& entry : entries) {
    if (!entry.name.empty() && entry.name.back() == '/') continue;
    if (!fits(entry.data_offset, entry.packed, directory.offset)) {
      throw Unreadable("packed size", entry.header_offset, "data end after the archive's data");
    }
    input.members.push_back({std::move(entry.name), entry.size, entry.packed, entry.header_offset,
                             entry.data_offset, entry.crc, entry.method});
  }
}

std::vector<std::uint8_t> read_member(const RandomFile& file, const Member& member,
                                      std::uint64_t limit) {
  if (member.size > limit) {
    throw Unreadable("size", std::nullopt, fmt::format("is over {} bytes", limit));
  }
  std::vector<std::uint8_t> out;
  StreamResult result = stream_member(file, member, [&](Bytes bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
    return true;
  });
  if (result.size_differs || result.crc_differs) {
    throw Unreadable("data", member.data_offset, "size or CRC differs from what the archive says");
  }
  return out;
}

}  // namespace wheelvet
