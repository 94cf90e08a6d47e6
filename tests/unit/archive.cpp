// The zip directory: a wheel is accepted only if every installer would extract the same bytes. For
// each rule one archive with that one thing wrong; good archives of every legal form break none.
#include "input/archive.h"

#include <doctest/doctest.h>

#include <set>

#include "rules/rules.h"
#include "support/temporary_file.h"
#include "support/zip_writer.h"

using namespace wheelvet;
using namespace wheelvet::test;

namespace {

using Rules_ = std::set<std::string>;

const Buffer text = "Some text that deflates, deflates, deflates, deflates and deflates.";

struct Read {
  Input input;
  std::optional<Problem> problem;
  std::vector<StreamResult> streams;

  Rules_ rules() const {
    Rules_ out;
    for (const ArchiveFault& fault : input.faults) out.insert(fault.rule);
    return out;
  }
  bool any_stream(bool StreamResult::*what) const {
    for (const StreamResult& stream : streams) {
      if (stream.*what) return true;
    }
    return false;
  }
};

Read read(const Buffer& bytes) {
  TemporaryFile file(bytes);
  RandomFile archive(file.path());
  Read out;
  try {
    read_archive(archive, out.input);
    for (const Member& member : out.input.members) {
      out.streams.push_back(stream_member(archive, member, [](Bytes) { return true; }));
    }
  } catch (const Unreadable& error) {
    out.problem = error.problem();
    CHECK_FALSE(error.problem().reason.empty());
  }
  return out;
}

Zip two_entries() {
  Zip zip;
  zip.entries = {entry("a/one.txt", text), entry("a/two.txt", text + text, false)};
  return zip;
}

// The one rule that an archive breaks; empty for none, "Problem" when it cannot be read.
std::string broken(const Zip& zip) {
  Read result = read(zip.bytes());
  if (result.problem) return "Problem: " + result.problem->reason;
  std::string all;
  for (const std::string& rule : result.rules()) all += (all.empty() ? "" : " ") + rule;
  return all;
}

}  // namespace

TEST_CASE("a good archive breaks no rule and gives every member's bytes") {
  Zip zip = two_entries();
  zip.entries.push_back(entry("empty", "", false));
  zip.entries.push_back(entry("folder/", "", false));
  zip.entries.back().central.attributes = 0040755u << 16;
  zip.entries.push_back(streamed_entry("s/plain", text, true, false));
  zip.entries.push_back(streamed_entry("s/bare", text, false, false));
  zip.entries.push_back(streamed_entry("s/wide", text, true, true));
  zip.entries.push_back(streamed_entry("s/wide_bare", text, false, true));
  zip.entries.push_back(forced_zip64_entry("z/forced", text));
  Entry central64 = entry("z/central", text);
  central64.central.extra =
      extra_field(0x5455, "12345") + zip64_extra({central64.local.size, central64.local.packed});
  central64.central.size = central64.central.packed = 0xffffffffu;
  zip.entries.push_back(central64);
  Entry named = entry("ünïcode", text);
  named.local.flags = named.central.flags = 0x800;
  Buffer same_name;
  put<std::uint8_t>(same_name, 1);
  put(same_name, crc_of("ünïcode"));
  named.central.extra = extra_field(0x7075, same_name + "ünïcode");
  named.central.comment = "a comment";
  zip.entries.push_back(named);
  zip.comment = "archive comment";
  for (bool zip64 : {false, true}) {
    zip.zip64 = zip64;
    Read result = read(zip.bytes());
    REQUIRE_FALSE(result.problem);
    CHECK(result.input.faults.empty());
    for (const ArchiveFault& fault : result.input.faults) {
      MESSAGE(fault.rule, " ", fault.member, " ", fault.detail);
    }
    CHECK(result.input.members.size() == zip.entries.size() - 1);  // folders are no members
    CHECK(result.input.identity.size() == 64);
    CHECK_FALSE(result.any_stream(&StreamResult::size_differs));
    CHECK_FALSE(result.any_stream(&StreamResult::crc_differs));
  }
}

TEST_CASE("an archive without entries is read, and breaks no rule") { CHECK(broken(Zip{}) == ""); }

TEST_CASE("the identity of an archive is that of its directory") {
  Zip zip = two_entries();
  std::string first = read(zip.bytes()).input.identity;
  zip.comment = "x";
  CHECK(read(zip.bytes()).input.identity == first);
  zip.entries[0].central.comment = "x";
  CHECK(read(zip.bytes()).input.identity != first);
}

TEST_CASE("ARC-001: a name stands more than once") {
  Zip zip = two_entries();
  zip.entries.push_back(entry("a/one.txt", "other"));
  CHECK(broken(zip) == "ARC-001");
}

TEST_CASE("ARC-002: local and central headers differ") {
  auto differing = [](auto&& change) {
    Zip zip = two_entries();
    change(zip.entries[0].local);
    return broken(zip);
  };
  CHECK(differing([](Header& h) { h.name = "a/0ne.txt"; }) == "ARC-002");
  CHECK(differing([](Header& h) { h.name = "a/longer name.txt"; }) == "ARC-002");
  CHECK(differing([](Header& h) { h.method = 0; }) == "ARC-002");
  CHECK(differing([](Header& h) { h.crc ^= 1; }) == "ARC-002");
  CHECK(differing([](Header& h) { h.size += 1; }) == "ARC-002");
  CHECK(differing([](Header& h) { h.packed += 1; }) == "ARC-002");
  CHECK(differing([](Header& h) { h.crc = h.size = h.packed = 0; }) == "ARC-002");  // no descriptor
  CHECK(differing([](Header& h) { h.flags = 8; }) == "ARC-002");
  CHECK(differing([](Header& h) {
          h.extra = zip64_extra({h.size + 1u, h.packed});
          h.size = h.packed = 0xffffffffu;
        }) == "ARC-002");
}

TEST_CASE("ARC-003: bytes that belong to no entry, wherever they are") {
  for (Buffer Zip::*place : {&Zip::before, &Zip::between, &Zip::after, &Zip::before_end}) {
    Zip zip = two_entries();
    zip.*place = "stray";
    CHECK(broken(zip) == "ARC-003");
  }
  Zip zip = two_entries();
  zip.zip64 = true;
  zip.before_locator = "stray";
  CHECK(broken(zip) == "ARC-003");
  // An entry that the directory does not list.
  zip = two_entries();
  zip.entries.insert(zip.entries.begin() + 1, entry("hidden", text));
  zip.entries[1].in_directory = false;
  CHECK(broken(zip) == "ARC-003");
  // A descriptor that nothing announces.
  zip = two_entries();
  zip.entries[0].descriptor = streamed_entry("", text, true, false).descriptor;
  CHECK(broken(zip) == "ARC-003");
}

TEST_CASE("ARC-004: the end record and the directory disagree") {
  Zip zip = two_entries();
  zip.lie = [](Ends& ends) { ends.entries += 1; };
  CHECK(broken(zip) == "ARC-004");
  zip.lie = [](Ends& ends) { ends.entries = ends.entries_on_disk = 1; };
  CHECK(broken(zip) == "ARC-004");
  zip.lie = [](Ends& ends) { ends.entries_on_disk = 1; };
  CHECK(broken(zip) == "ARC-004");
  // The directory goes on with something that is no entry.
  zip = two_entries();
  zip.before_end = "12345";
  zip.lie = [](Ends& ends) { ends.size += 5; };
  CHECK(broken(zip) == "ARC-004");
  // A second end record inside the comment of the first.
  zip = two_entries();
  Buffer inner = Zip{}.bytes();
  zip.comment = inner;
  CHECK(broken(zip).find("ARC-004") != std::string::npos);
}

TEST_CASE("ARC-005: the zip64 end record and the plain one differ") {
  Zip zip = two_entries();
  zip.zip64 = true;
  zip.lie = [](Ends& ends) { ends.entries = ends.entries_on_disk = 1; };
  CHECK(broken(zip) == "ARC-005");
  zip.lie = [](Ends& ends) { ends.size -= 1; };
  CHECK(broken(zip) == "ARC-005");
  zip.lie = [](Ends& ends) { ends.offset += 1; };
  CHECK(broken(zip) == "ARC-005");
  zip.lie = [](Ends& ends) {  // the marks that send readers to the zip64 record are no lie
    ends.entries = ends.entries_on_disk = 0xffff;
    ends.size = ends.offset = 0xffffffffu;
  };
  CHECK(broken(zip) == "");
}

TEST_CASE("ARC-006: unsafe names") {
  for (const char* name : {"/absolute", "a/../b", "..", "../up", "a/./b", "a\\b", "c:/x", "a\nb",
                           "a\x1b[2J", "a\x7f", "a//b", "./a"}) {
    Zip zip = two_entries();
    zip.entries.push_back(entry(name, text));
    CAPTURE(name);
    CHECK(broken(zip) == "ARC-006");
  }
  Zip zip = two_entries();
  zip.entries.push_back(entry("", text));
  CHECK(broken(zip) == "ARC-006");
  zip = two_entries();
  zip.entries.push_back(entry(std::string("a\0b", 3), text));
  CHECK(broken(zip) == "ARC-006");
  for (const char* name : {"a..b", "...", "a/..b", "a b", "ü", "b/", "x.data/purelib/a"}) {
    zip = two_entries();
    bool folder = std::string_view(name).ends_with('/');
    zip.entries.push_back(entry(name, folder ? "" : text));
    zip.entries.back().local.flags = zip.entries.back().central.flags = 0x800;
    CAPTURE(name);
    CHECK(broken(zip) == "");
  }
}

TEST_CASE("ARC-007: links and devices") {
  for (std::uint32_t type : {0120777u, 0010644u, 0020644u, 0060644u, 0140755u}) {
    Zip zip = two_entries();
    zip.entries[0].central.attributes = type << 16;
    CHECK(broken(zip) == "ARC-007");
  }
  Zip zip = two_entries();
  zip.entries[0].central.attributes = 0;  // no mode at all is usual
  CHECK(broken(zip) == "");
}

TEST_CASE("ARC-008: names that differ only in case") {
  Zip zip = two_entries();
  zip.entries.push_back(entry("A/One.txt", text));
  CHECK(broken(zip) == "ARC-008");
}

TEST_CASE("ARC-009: encrypted members and unusual methods") {
  for (std::uint16_t flag : {std::uint16_t{1}, std::uint16_t{0x41}}) {
    Zip zip = two_entries();
    zip.entries[0].local.flags = zip.entries[0].central.flags = flag;
    CHECK(broken(zip) == "ARC-009");
  }
  Zip zip = two_entries();
  zip.entries[0].local.method = zip.entries[0].central.method = 12;
  TemporaryFile file(zip.bytes());
  RandomFile archive(file.path());
  Input input;
  read_archive(archive, input);
  REQUIRE(input.faults.size() == 1);
  CHECK(input.faults[0].rule == "ARC-009");
  CHECK_THROWS_AS(stream_member(archive, input.members[0], [](Bytes) { return true; }), Unreadable);
}

TEST_CASE("ARC-010: sizes that cannot be are known before anything is inflated") {
  Zip zip = two_entries();  // stored, but larger than its data
  zip.entries[1].local.size = zip.entries[1].central.size = 1000;
  CHECK(broken(zip) == "ARC-010");
  zip = two_entries();  // more than deflate can do
  zip.entries[0].local.size = zip.entries[0].central.size = 4000000000u;
  CHECK(broken(zip) == "ARC-010");
}

TEST_CASE("ARC-013: a member that unpacks to far more than any library does") {
  std::string noise;  // packs to its own size, so that the lie stays below what deflate can do
  for (std::uint32_t i = 0, state = 1; i < 100000; ++i) {
    state = state * 1664525 + 1013904223;
    noise += static_cast<char>(state >> 24);
  }
  Zip zip = two_entries();
  zip.entries[0] = entry("a/one.txt", noise);
  zip.entries[0].local.size = zip.entries[0].central.size = 90000000;
  CHECK(broken(zip) == "ARC-013");
  zip.entries[0].local.size = zip.entries[0].central.size = 60000000;  // small enough to be read
  CHECK(broken(zip) == "");
}

TEST_CASE("ARC-012: entries that overlap") {
  Zip zip = two_entries();  // two names for the same bytes
  zip.entries[1] = zip.entries[0];
  zip.entries[1].local.name = zip.entries[1].central.name = "a/three.txt";
  zip.entries[1].in_body = false;
  zip.entries[1].central.offset = 0;
  Rules_ rules = read(zip.bytes()).rules();
  CHECK(rules.contains("ARC-012"));
  // The first one's data reach into the second one's header.
  zip = two_entries();
  zip.entries[0] = entry("a/one.txt", text, false);
  for (Header* header : {&zip.entries[0].local, &zip.entries[0].central}) {
    header->packed += 10;
    header->size += 10;
  }
  CHECK(broken(zip) == "ARC-012");
}

TEST_CASE("ARC-014: an extra field renames a member, in either header") {
  Buffer other;
  put<std::uint8_t>(other, 1);
  put(other, crc_of("a/one.txt"));
  other += "a/two2.txt";
  for (Header Entry::*side : {&Entry::local, &Entry::central}) {
    Zip zip = two_entries();
    (zip.entries[0].*side).extra = extra_field(0x7075, other);
    CHECK(broken(zip) == "ARC-014");
  }
}

TEST_CASE("ARC-008: case beyond ASCII, as file systems fold it") {
  auto both = [](const char* one, const char* other) {
    Zip zip;
    for (const char* name : {one, other}) {
      zip.entries.push_back(entry(name, text));
      zip.entries.back().local.flags = zip.entries.back().central.flags = 0x800;
    }
    return broken(zip);
  };
  CHECK(both("grün", "GRÜN") == "ARC-008");
  CHECK(both("файл", "ФАЙЛ") == "ARC-008");
  CHECK(both("ς", "σ") == "ARC-008");       // two small sigmas, one capital
  CHECK(both("k", "\u212a") == "ARC-008");  // the Kelvin sign
  CHECK(both("ǅ", "ǆ") == "ARC-008");
  CHECK(both("ü", "u") == "");
  CHECK(both("東", "京") == "");
}

TEST_CASE("ARC-013: many members that are a bomb together") {
  std::string noise;
  for (std::uint32_t i = 0, state = 1; i < 1000; ++i) {
    state = state * 1664525 + 1013904223;
    noise += static_cast<char>(state >> 24);
  }
  auto bomb = [&](int count) {
    Zip zip;
    for (int i = 0; i < count; ++i) {
      zip.entries.push_back(entry("x" + std::to_string(i), noise));
      zip.entries.back().local.size = zip.entries.back().central.size = 500000;
    }
    return broken(zip);
  };
  CHECK(bomb(100) == "");  // 50 MB
  CHECK(bomb(200) == "ARC-013");
}

TEST_CASE("ARC-015: a name that is a file and a folder") {
  Zip zip = two_entries();
  zip.entries.push_back(entry("a", text));
  CHECK(broken(zip) == "ARC-015");
  zip = two_entries();
  zip.entries.push_back(entry("b", text));
  zip.entries.push_back(entry("b/", "", false));
  CHECK(broken(zip) == "ARC-015");
  zip = two_entries();
  zip.entries.push_back(entry("b/", text));
  CHECK(broken(zip) == "ARC-015");
  zip = two_entries();
  zip.entries.push_back(entry("a/", "", false));
  CHECK(broken(zip) == "");
}

TEST_CASE("ARC-016: names whose encoding is not told") {
  Zip zip = two_entries();
  zip.entries.push_back(entry("ü", text));
  CHECK(broken(zip) == "ARC-016");
  zip.entries.back().local.flags = zip.entries.back().central.flags = 0x800;
  CHECK(broken(zip) == "");
  zip.entries.back().local.name = zip.entries.back().central.name = "\xfc";
  CHECK(broken(zip) == "ARC-016");
  zip = two_entries();  // one header says UTF-8, the other does not
  zip.entries[0].local.flags = 0x800;
  CHECK(broken(zip) == "ARC-002");
}

TEST_CASE("ARC-017: extra fields that cannot be read one way") {
  Buffer longer = extra_field(0x5455, "12345");
  longer[2] = 50;
  Buffer twice = zip64_extra({1, 2}) + zip64_extra({3, 4});
  for (const Buffer& extra : {longer, twice}) {
    for (Header Entry::*side : {&Entry::local, &Entry::central}) {
      Zip zip = two_entries();
      (zip.entries[0].*side).extra = extra;
      CHECK(broken(zip) == "ARC-017");
    }
  }
  Zip zip = two_entries();  // padding of under four bytes is no field
  zip.entries[0].local.extra = Buffer("\0\0\0", 3);
  CHECK(broken(zip) == "");
}

TEST_CASE("ARC-002: a data descriptor that says something else") {
  for (bool wide : {false, true}) {
    for (bool is_signed : {false, true}) {
      Zip zip = two_entries();
      zip.entries[0] = streamed_entry("a/one.txt", text, is_signed, wide);
      CHECK(broken(zip) == "");
      for (std::size_t at : {is_signed ? 4u : 0u, is_signed ? 8u : 4u,
                             is_signed ? (wide ? 16u : 12u) : (wide ? 12u : 8u)}) {
        Zip lying = zip;
        lying.entries[0].descriptor[at] = static_cast<char>(lying.entries[0].descriptor[at] ^ 1);
        CHECK(broken(lying) == "ARC-002");
      }
    }
  }
}

TEST_CASE("every rule of archives in the catalogue has a test of that name") {
  // The cases above, and those of the stream below.
  const Rules_ tested = {"ARC-001", "ARC-002", "ARC-003", "ARC-004", "ARC-005", "ARC-006",
                         "ARC-007", "ARC-008", "ARC-009", "ARC-010", "ARC-011", "ARC-012",
                         "ARC-013", "ARC-014", "ARC-015", "ARC-016", "ARC-017"};
  for (const CatalogEntry& entry : load_catalog()) {
    if (entry.id.starts_with("ARC-")) CHECK(tested.contains(entry.id));
  }
}

TEST_CASE("what has no directory that can be followed is a Problem") {
  Zip zip = two_entries();
  Buffer good = zip.bytes();
  auto problem = [](const Buffer& bytes) { return read(bytes).problem.has_value(); };
  CHECK(problem(""));
  CHECK(problem("PK"));
  CHECK(problem(Buffer(100, '\0')));
  CHECK(problem(good + "x"));
  for (std::size_t length = 0; length < good.size(); ++length)
    CHECK(problem(good.substr(0, length)));
  auto lying = [&](auto&& lie) {
    Zip bad = two_entries();
    bad.lie = lie;
    return problem(bad.bytes());
  };
  CHECK(lying([](Ends& ends) { ends.offset += 10; }));
  CHECK(lying([](Ends& ends) { ends.size = 0xfffffffe; }));
  CHECK(lying([](Ends& ends) { ends.offset = 0xfffffffe; }));
  zip.entries[0].central.offset = 0xfffffff0;
  CHECK(problem(zip.bytes()));
  zip.entries[0].central.offset = 1;
  CHECK(problem(zip.bytes()));
  zip = two_entries();
  zip.zip64 = true;
  for (std::uint64_t lie : {~0ull, 0xffffffffffffff00ull, 1ull << 40}) {
    zip.lie64 = [lie](Ends& ends) { ends.size = lie; };
    CHECK(problem(zip.bytes()));
    zip.lie64 = [lie](Ends& ends) { ends.offset = lie; };
    CHECK(problem(zip.bytes()));
  }
  // Packed sizes of 64 bits that wrap around.
  for (std::uint64_t lie : {~0ull, ~0ull - 100, 1ull << 63}) {
    zip = two_entries();
    zip.entries[0].central.extra = zip64_extra({text.size(), lie});
    zip.entries[0].central.size = zip.entries[0].central.packed = 0xffffffffu;
    CHECK(problem(zip.bytes()));
  }
}

TEST_CASE("ARC-010 and ARC-011: size and CRC are compared while a member is streamed") {
  for (bool deflate : {true, false}) {
    CAPTURE(deflate);
    Zip zip;
    zip.entries = {entry("x", text, deflate)};
    for (Header* header : {&zip.entries[0].local, &zip.entries[0].central}) header->crc ^= 1;
    Read result = read(zip.bytes());
    CHECK(result.any_stream(&StreamResult::crc_differs));
    CHECK_FALSE(result.any_stream(&StreamResult::size_differs));
  }
  for (int lie : {-1, 1}) {
    Zip zip;
    zip.entries = {entry("x", text)};
    for (Header* header : {&zip.entries[0].local, &zip.entries[0].central}) {
      header->size = static_cast<std::uint32_t>(static_cast<int>(header->size) + lie);
    }
    CHECK(read(zip.bytes()).any_stream(&StreamResult::size_differs));
  }
}

TEST_CASE("bytes behind the end of the deflate data are a wrong size, even one of them") {
  for (std::size_t count : {1u, 2u, 7u, 8u, 9u, 100u}) {
    Zip zip;
    zip.entries = {entry("x", text)};
    zip.entries[0].data += Buffer(count, 'x');
    for (Header* header : {&zip.entries[0].local, &zip.entries[0].central}) {
      header->packed += static_cast<std::uint32_t>(count);
    }
    CAPTURE(count);
    CHECK(read(zip.bytes()).any_stream(&StreamResult::size_differs));
  }
}

TEST_CASE("deflate data that are cut off or damaged are a Problem or a difference, never silence") {
  Buffer long_text;
  for (int i = 0; i < 200; ++i) long_text += text + std::to_string(i * 7919);
  Zip zip;
  zip.entries = {entry("x", long_text)};
  const Buffer packed = zip.entries[0].data;
  auto noticed = [&](const Buffer& data) {
    zip.entries[0].data = data;
    for (Header* header : {&zip.entries[0].local, &zip.entries[0].central}) {
      header->packed = static_cast<std::uint32_t>(data.size());
    }
    Read result = read(zip.bytes());
    return result.problem || result.any_stream(&StreamResult::size_differs) ||
           result.any_stream(&StreamResult::crc_differs);
  };
  CHECK_FALSE(noticed(packed));
  for (std::size_t length = 0; length < packed.size(); ++length)
    CHECK(noticed(packed.substr(0, length)));
  for (std::size_t at = 0; at < packed.size(); ++at) {
    Buffer damaged = packed;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    CHECK(noticed(damaged));
  }
}

TEST_CASE("a stream never gives more than the member's size and one window") {
  Zip zip;
  zip.entries = {entry("bomb", Buffer(40u << 20, '\0'))};
  for (Header* header : {&zip.entries[0].local, &zip.entries[0].central}) header->size = 100;
  TemporaryFile file(zip.bytes());
  RandomFile archive(file.path());
  Input input;
  read_archive(archive, input);
  std::uint64_t given = 0;
  StreamResult result = stream_member(archive, input.members[0], [&](Bytes bytes) {
    given += bytes.size();
    return true;
  });
  CHECK(result.size_differs);
  CHECK(given <= 100 + (256u << 10));
}

TEST_CASE("a sink that says stop is asked no more, and large members come whole and in order") {
  Buffer large;
  for (int i = 0; large.size() < (3u << 20); ++i) large += std::to_string(i) + " ";
  for (bool deflate : {true, false}) {
    Zip zip;
    zip.entries = {entry("large", large, deflate)};
    TemporaryFile file(zip.bytes());
    RandomFile archive(file.path());
    Input input;
    read_archive(archive, input);
    Buffer got;
    StreamResult whole = stream_member(archive, input.members[0], [&](Bytes bytes) {
      got.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return true;
    });
    CHECK(whole.complete);
    CHECK_FALSE(whole.size_differs);
    CHECK_FALSE(whole.crc_differs);
    CHECK(got == large);
    int calls = 0;
    StreamResult stopped =
        stream_member(archive, input.members[0], [&](Bytes) { return ++calls < 2; });
    CHECK(calls == 2);
    CHECK_FALSE(stopped.complete);
    CHECK_FALSE(stopped.size_differs);
    CHECK(read_member(archive, input.members[0], 4u << 20).size() == large.size());
    CHECK_THROWS_AS(read_member(archive, input.members[0], large.size() - 1), Unreadable);
  }
}

TEST_CASE("an archive that is cut off while it is read is a Problem, not a signal") {
  Zip zip;
  zip.entries = {entry("x", Buffer(1u << 20, 'x') + text, false)};
  TemporaryFile file(zip.bytes());
  RandomFile archive(file.path());
  Input input;
  read_archive(archive, input);
  file.resize(1000);
  CHECK_THROWS_AS(stream_member(archive, input.members[0], [](Bytes) { return true; }), Unreadable);
}

TEST_CASE("only regular files are opened") {
  CHECK_THROWS_AS(RandomFile("/dev/zero"), Unreadable);
  CHECK_THROWS_AS(RandomFile("/"), Unreadable);
  CHECK_THROWS_AS(RandomFile("/nonexistent"), Unreadable);
}
