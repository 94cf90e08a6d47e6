// ELF files that are cut off, mutated or made to hurt: facts or a Problem with a reason, in bounded
// time.
#include <doctest/doctest.h>

#include <ctime>
#include <random>

#include "facts/elf_facts.h"
#include "facts/elf_layout.h"
#include "facts/spool.h"
#include "link/lookup.h"
#include "support/fixtures.h"

using namespace wheelvet;
using namespace wheelvet::test;

namespace {

using File = std::vector<std::uint8_t>;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
constexpr double allowed_seconds = 10;
#else
constexpr double allowed_seconds = 1;
#endif

// What reading gave: facts or a Problem.
struct Outcome_ {
  std::optional<ElfFacts> facts;
  std::optional<Problem> problem;
};

template <class Call>
Outcome_ outcome_of(Call&& call) {
  Outcome_ out;
  std::clock_t start = std::clock();  // processor time: other work on the machine is no fault
  try {
    out.facts = call();
  } catch (const Unreadable& error) {
    out.problem = error.problem();
    if (error.problem().reason.empty()) FAIL_CHECK("a Problem without a reason");
  }
  double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (took > allowed_seconds) FAIL_CHECK("took ", took, " s");
  return out;
}

// Only what its first bytes call an ELF file is read as one.
void check_kind(FileKind kind) {
  if (kind != FileKind::elf) throw Unreadable("ELF header", 0, "not an ELF file");
}

Outcome_ read_whole(const File& file) {
  return outcome_of([&] {
    check_kind(classify(Bytes(file).first(std::min<std::size_t>(file.size(), 4096)), file.size()));
    return read_elf(view_of(Bytes(file)));
  });
}

// As a wheel's member: a stream of chunks of odd sizes, again with what was missed.
Outcome_ read_spooled(const File& file, std::size_t chunk) {
  return outcome_of([&] {
    std::vector<FileRange> wanted;
    for (int pass = 1;; ++pass) {
      Spool spool(file.size(), wanted);
      for (std::size_t at = 0; at < file.size(); at += chunk) {
        if (!spool.feed(Bytes(file).subspan(at, std::min(chunk, file.size() - at)))) break;
      }
      check_kind(file.empty() ? FileKind::empty : spool.kind());
      try {
        return read_elf(spool.view());
      } catch (const Unreadable&) {
        if (spool.missed().empty() || pass == 3) throw;
        wanted.insert(wanted.end(), spool.missed().begin(), spool.missed().end());
      }
    }
  });
}

// Whatever facts came out: every name can be asked for.
void use(const ElfFacts& elf) {
  VersionNames versions(elf);
  for (std::size_t i = 0; i < elf.symbols.count; ++i) {
    Symbol symbol = elf.symbols.at(i);
    find_definition(elf, versions, LookupName(symbol.name), versions.of(symbol.version));
  }
  find_definition(elf, versions, LookupName("no such name"), std::nullopt);
}

bool same(const Outcome_& a, const Outcome_& b) {
  if (a.facts.has_value() != b.facts.has_value()) return false;
  if (!a.facts) return true;
  return a.facts->needed == b.facts->needed &&
         a.facts->symbols.symbols == b.facts->symbols.symbols &&
         a.facts->symbols.strings == b.facts->symbols.strings &&
         a.facts->symbols.relocations == b.facts->symbols.relocations;
}

Outcome_ read_all_ways(const File& file, std::size_t chunk) {
  Outcome_ whole = read_whole(file);
  Outcome_ spooled = read_spooled(file, chunk);
  if (whole.facts) use(*whole.facts);
  if (!same(whole, spooled))
    FAIL_CHECK("a spool of chunks of ", chunk, " bytes gives something else");
  return whole;
}

}  // namespace

TEST_CASE("every prefix of a library is a Problem that names a reason, whole or spooled") {
  File file = fixture("small/libsmall.so");
  CHECK(read_all_ways(file, 61).facts);
  ElfLayout layout = read_layout(view_of(Bytes(file)));
  // Behind the last PT_LOAD and the headers stand section headers, which the loader does not read.
  std::uint64_t needed = 0;
  for (const Elf64_Phdr& segment : layout.segments) {
    if (segment.p_type == PT_LOAD) needed = std::max(needed, segment.p_offset + segment.p_filesz);
  }
  CHECK(needed > 0x2000);
  for (std::size_t length = 0; length < file.size(); ++length) {
    File prefix(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length));
    Outcome_ outcome = read_all_ways(prefix, 1 + length % 977);
    if (length < needed && !outcome.problem) FAIL_CHECK("a prefix of ", length, " bytes was read");
    if (length >= needed && !outcome.facts)
      FAIL_CHECK("sections were needed at ", length, " bytes");
  }
}

TEST_CASE("a member that is shorter than its archive says is a Problem") {
  File file = fixture("small/libsmall.so");
  for (std::size_t length : {0u, 1u, 63u, 64u, 4096u, 5000u}) {
    Spool spool(file.size());
    spool.feed(Bytes(file).first(std::min<std::size_t>(length, file.size())));
    CHECK_THROWS_AS(read_elf(spool.view()), Unreadable);
  }
}

TEST_CASE("single bytes changed in headers and tables give facts or a Problem") {
  std::mt19937 random(20240601);
  for (const char* name : {"small/libsmall.so", "scenes/version_old_form/lib/libversioned.so",
                           "scenes/sysv_hash_only/libroot.so"}) {
    CAPTURE(name);
    File file = fixture(name);
    ElfLayout layout = read_layout(view_of(Bytes(file)));
    FileRange dynamic = *dynamic_range(layout);
    std::vector<FileRange> places = {{0, 64}, program_headers(layout.header, file.size()), dynamic};
    Bytes dynamic_bytes = Bytes(file).subspan(dynamic.offset, dynamic.size);
    for (const FileRange& range : table_ranges(layout, read_dynamic(dynamic_bytes)))
      places.push_back(range);
    std::vector<std::size_t> offsets;
    for (const FileRange& range : places) {
      // Tables of unknown size reach to the next one; their first 2 kB hold all there is here.
      std::uint64_t end = std::min<std::uint64_t>(range.end(), range.offset + 2048);
      for (std::uint64_t at = range.offset; at < end; ++at) offsets.push_back(at);
    }
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    std::size_t read = 0, refused = 0;
    for (std::size_t at : offsets) {
      const std::uint8_t original = file[at];
      for (std::uint8_t value : {std::uint8_t(0), std::uint8_t(0xff), std::uint8_t(original ^ 0x80),
                                 std::uint8_t(original + 1), std::uint8_t(random())}) {
        file[at] = value;
        Outcome_ outcome = read_all_ways(file, 1 + random() % 4000);
        ++(outcome.facts ? read : refused);
      }
      file[at] = original;
    }
    CHECK(read > 500);
    CHECK(refused > 100);
  }
}

TEST_CASE("several words changed at once give facts or a Problem") {
  std::mt19937_64 random(20240602);
  const File file = fixture("small/libsmall.so");
  FileRange dynamic = *dynamic_range(read_layout(view_of(Bytes(file))));
  const std::uint64_t interesting[] = {
      0,          1,          8,          0xff,       0x1000,     file.size(), file.size() - 1,
      0x7fffffff, 0x80000000, 0xffffffff, 1ull << 32, 1ull << 63, ~0ull,       ~0ull - 7};
  for (int round = 0; round < 4000; ++round) {
    File copy = file;
    for (int change = 0; change < 3; ++change) {
      std::size_t at = random() % 3 == 0   ? random() % (file.size() - 8)
                       : random() % 2 == 0 ? dynamic.offset + random() % (dynamic.size - 8) / 8 * 8
                                           : random() % 0x400;
      std::uint64_t value = interesting[random() % std::size(interesting)];
      std::memcpy(copy.data() + at, &value, 8);
    }
    read_all_ways(copy, 1 + random() % 4000);
  }
}

namespace {

// A small file of the tester's own making: headers, one PT_LOAD over everything, a dynamic section,
// and whatever is appended. Addresses are offsets.
struct Crafted {
  File bytes;
  std::vector<Elf64_Phdr> more;  // program headers besides PT_LOAD and PT_DYNAMIC
  std::vector<Elf64_Dyn> dynamic;

  std::uint64_t append(const void* data, std::size_t size) {
    bytes.resize((bytes.size() + 7) / 8 * 8);
    std::uint64_t at = start() + bytes.size();
    const auto* from = static_cast<const std::uint8_t*>(data);
    bytes.insert(bytes.end(), from, from + size);
    return at;
  }
  std::uint64_t start() const { return 64 + 56 * 2; }
  void entry(std::int64_t tag, std::uint64_t value) {
    Elf64_Dyn dyn{};
    dyn.d_tag = tag;
    dyn.d_un.d_val = value;
    dynamic.push_back(dyn);
  }
  // With `more`, the program headers move to the end.
  File file() {
    entry(DT_NULL, 0);
    std::uint64_t dynamic_at = append(dynamic.data(), dynamic.size() * sizeof(Elf64_Dyn));
    std::vector<Elf64_Phdr> headers(2);
    headers.insert(headers.end(), more.begin(), more.end());
    std::uint64_t headers_at =
        more.empty() ? 64 : append(headers.data(), headers.size() * sizeof(Elf64_Phdr));
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_phoff = headers_at;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<std::uint16_t>(headers.size());
    File out(start() + bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) out[start() + i] = bytes[i];
    headers[0].p_type = PT_LOAD;
    headers[0].p_filesz = headers[0].p_memsz = out.size();
    headers[1].p_type = PT_DYNAMIC;
    headers[1].p_offset = headers[1].p_vaddr = dynamic_at;
    headers[1].p_filesz = headers[1].p_memsz = dynamic.size() * sizeof(Elf64_Dyn);
    std::memcpy(out.data(), &header, sizeof header);
    std::memcpy(out.data() + headers_at, headers.data(), headers.size() * sizeof(Elf64_Phdr));
    return out;
  }
};

}  // namespace

TEST_CASE("tens of thousands of needs that share one long name do not multiply it in memory") {
  Crafted crafted;
  std::string name(1u << 20, 'x');
  crafted.entry(DT_STRTAB, crafted.append(name.c_str(), name.size() + 1));
  crafted.entry(DT_STRSZ, name.size() + 1);
  for (int i = 0; i < 50000; ++i) crafted.entry(DT_NEEDED, 0);
  CHECK(read_whole(crafted.file()).problem);  // 50 GB otherwise
}

TEST_CASE("tens of thousands of versions that share one long name do not multiply it in memory") {
  Crafted crafted;
  std::string name(1u << 20, 'x');
  crafted.entry(DT_STRTAB, crafted.append(name.c_str(), name.size() + 1));
  crafted.entry(DT_STRSZ, name.size() + 1);
  std::vector<std::uint8_t> needs;
  Elf64_Verneed need{};
  need.vn_version = VER_NEED_CURRENT;
  need.vn_aux = sizeof need;
  auto put = [&](const auto& record) {
    const auto* from = reinterpret_cast<const std::uint8_t*>(&record);
    needs.insert(needs.end(), from, from + sizeof record);
  };
  put(need);
  for (int i = 0; i < 30000; ++i) {
    Elf64_Vernaux aux{};
    aux.vna_next = i + 1 == 30000 ? 0 : sizeof aux;
    put(aux);
  }
  crafted.entry(DT_VERNEED, crafted.append(needs.data(), needs.size()));
  CHECK(read_whole(crafted.file()).problem);  // 30 GB otherwise
}

TEST_CASE("thousands of note segments over the same bytes are not read thousands of times") {
  Crafted crafted;
  crafted.entry(DT_STRSZ, 0);
  std::vector<std::uint8_t> note(16u << 20, 'x');
  Elf64_Nhdr head{4, static_cast<std::uint32_t>(note.size() - 16), 0x407c0c0a};
  std::memcpy(note.data(), &head, sizeof head);
  std::memcpy(note.data() + sizeof head, "FDO", 4);
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = crafted.append(note.data(), note.size());
  segment.p_filesz = note.size();
  crafted.more.assign(60000, segment);
  Outcome_ outcome = read_whole(crafted.file());  // 1 TB otherwise
  CHECK((outcome.facts || outcome.problem));
}

TEST_CASE("version records that overlap and chains that crawl end in bounded time") {
  Crafted crafted;
  crafted.entry(DT_STRTAB, crafted.append("\0", 1));
  crafted.entry(DT_STRSZ, 1);
  // Every byte offset is a record whose next is one byte on: as far as that goes.
  std::vector<std::uint8_t> ones(1u << 20, 1);
  std::uint64_t at = crafted.append(ones.data(), ones.size());
  crafted.entry(DT_VERNEED, at);
  crafted.entry(DT_VERDEF, at);
  CHECK(read_whole(crafted.file()).problem);
}

TEST_CASE("of two dynamic sections the last counts, and a table twice is an oddity") {
  Crafted crafted;
  const char strings[] = "\0one.so\0two.so";
  crafted.entry(DT_STRTAB, crafted.append(strings, sizeof strings));
  crafted.entry(DT_STRSZ, 4);
  crafted.entry(DT_STRSZ, sizeof strings);
  crafted.entry(DT_NEEDED, 1);
  crafted.entry(DT_NEEDED, 8);
  crafted.entry(DT_SONAME, 1);
  crafted.entry(DT_SONAME, 8);
  Outcome_ outcome = read_whole(crafted.file());
  REQUIRE(outcome.facts);
  CHECK(outcome.facts->needed == std::vector<std::string>{"one.so", "two.so"});
  CHECK(outcome.facts->soname == "two.so");
  CHECK(outcome.facts->oddities.size() == 2);

  Crafted second;
  second.entry(DT_STRTAB, second.append(strings, sizeof strings));
  second.entry(DT_STRSZ, sizeof strings);
  second.entry(DT_NEEDED, 1);
  Elf64_Dyn other[4] = {{DT_STRTAB, {second.dynamic[0].d_un.d_val}},
                        {DT_STRSZ, {sizeof strings}},
                        {DT_NEEDED, {8}},
                        {DT_NULL, {0}}};
  Elf64_Phdr segment{};
  segment.p_type = PT_DYNAMIC;
  segment.p_vaddr = segment.p_offset = second.append(other, sizeof other);
  segment.p_filesz = segment.p_memsz = sizeof other;
  second.more = {segment};
  outcome = read_whole(second.file());
  REQUIRE(outcome.facts);
  CHECK(outcome.facts->needed == std::vector<std::string>{"two.so"});
}

TEST_CASE("PT_DYNAMIC counts by its address, and an offset that says otherwise is an oddity") {
  Crafted crafted;
  const char strings[] = "\0one.so\0two.so";
  crafted.entry(DT_STRTAB, crafted.append(strings, sizeof strings));
  crafted.entry(DT_STRSZ, sizeof strings);
  crafted.entry(DT_NEEDED, 1);
  File file = crafted.file();
  std::uint64_t elsewhere = 64;
  std::memcpy(file.data() + 64 + 56 + offsetof(Elf64_Phdr, p_offset), &elsewhere, 8);
  Outcome_ outcome = read_whole(file);
  REQUIRE(outcome.facts);
  CHECK(outcome.facts->needed == std::vector<std::string>{"one.so"});
  CHECK(outcome.facts->oddities.size() == 1);
}

TEST_CASE("names at the edges of the string table") {
  const char strings[] = {'\0', 'a', '\0', 'b'};  // the last one does not end
  for (const auto& [at, good] :
       {std::pair{1u, true}, {3u, true}, {4u, true}, {5u, false}, {0xffffffffu, false}}) {
    unsigned offset = at;  // clang 14 captures no structured binding
    Crafted crafted;
    crafted.entry(DT_STRTAB, crafted.append(strings, sizeof strings));
    crafted.entry(DT_STRSZ, sizeof strings);
    crafted.entry(DT_NEEDED, offset);
    CAPTURE(offset);
    CHECK(read_whole(crafted.file()).facts.has_value() == good);
  }
}
