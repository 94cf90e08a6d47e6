// What the loader goes by and what it does not look at, on a library in which one field is changed
// (glibc sources named in analyzer/facts; asked of the loader by tests/oracle/mutants.py).
#include <doctest/doctest.h>

#include <cstring>

#include "facts/elf_facts.h"
#include "facts/elf_layout.h"
#include "support/fixtures.h"

using namespace wheelvet;
using namespace wheelvet::test;

namespace {

struct Changed {
  std::vector<std::uint8_t> file;
  ElfLayout layout = read_layout(view_of(Bytes(file)));
  FileRange dynamic = *dynamic_range(layout);

  explicit Changed(const char* name = "small/libsmall.so") : file(fixture(name)) {}

  template <class Change>
  void entry(std::int64_t tag, Change&& change) {
    for (std::uint64_t at = dynamic.offset; at < dynamic.end(); at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      std::memcpy(&entry, file.data() + at, sizeof entry);
      if (entry.d_tag != tag) continue;
      change(entry);
      std::memcpy(file.data() + at, &entry, sizeof entry);
      return;
    }
    FAIL("no such entry");
  }

  // Where the table lies in the file.
  std::uint64_t table(std::int64_t tag) const {
    std::vector<Elf64_Dyn> entries = read_dynamic(Bytes(file).subspan(dynamic.offset));
    return at_address(layout, *dynamic_value(entries, tag))->offset;
  }

  template <class Change>
  void segment(std::size_t index, Change&& change) {
    std::uint8_t* at = file.data() + layout.header.e_phoff + index * sizeof(Elf64_Phdr);
    Elf64_Phdr segment;
    std::memcpy(&segment, at, sizeof segment);
    change(segment);
    std::memcpy(at, &segment, sizeof segment);
  }

  // The last PT_LOAD holds the data, and the dynamic section.
  std::size_t last_load() const {
    std::size_t last = 0;
    for (std::size_t i = 0; i < layout.segments.size(); ++i) {
      if (layout.segments[i].p_type == PT_LOAD) last = i;
    }
    return last;
  }

  ElfFacts facts() const { return read_elf(view_of(Bytes(file))); }
  std::string problem() const {
    try {
      facts();
    } catch (const Unreadable& error) {
      return error.problem().field;
    }
    return {};
  }
};

bool anything_called(const ElfFacts& facts) {
  const std::vector<std::uint8_t>& uses = facts.symbols.relocations;
  return std::any_of(uses.begin(), uses.end(), [](std::uint8_t use) { return use & used_by_plt; });
}

}  // namespace

TEST_CASE("DT_JMPREL counts where DT_PLTREL is, and not without it") {
  Changed changed;
  CHECK(anything_called(changed.facts()));
  changed.entry(DT_PLTREL, [](Elf64_Dyn& entry) { entry.d_tag = 0x10014; });
  CHECK_FALSE(anything_called(changed.facts()));
}

TEST_CASE("a relocation that the size of its table cuts off is done") {
  Changed changed;
  changed.entry(DT_PLTRELSZ, [](Elf64_Dyn& entry) { entry.d_un.d_val = 1; });
  CHECK(anything_called(changed.facts()));
  changed.entry(DT_PLTRELSZ, [](Elf64_Dyn& entry) { entry.d_un.d_val = 0; });
  CHECK_FALSE(anything_called(changed.facts()));
}

TEST_CASE("a name goes on behind DT_STRSZ") {
  Changed changed;
  ElfFacts whole = changed.facts();
  std::size_t size = whole.symbols.strings.size();
  changed.entry(DT_STRSZ, [&](Elf64_Dyn& entry) { entry.d_un.d_val = size - 3; });
  ElfFacts cut = changed.facts();
  CHECK(cut.symbols.strings == whole.symbols.strings);
  CHECK(cut.needed == whole.needed);
  CHECK(cut.runpath == whole.runpath);
}

TEST_CASE("a segment whose pages go where something else may lie is left open") {
  Changed changed;
  CHECK(changed.problem().empty());
  changed.segment(changed.last_load() - 1, [](Elf64_Phdr& load) { load.p_vaddr += 0x40000000; });
  CHECK(changed.problem() == "PT_LOAD");
}

TEST_CASE("a segment that no process can address is refused") {
  Changed changed;
  changed.segment(changed.last_load() - 1, [](Elf64_Phdr& load) { load.p_vaddr += 1ull << 48; });
  CHECK(changed.facts().rejection == "failed to map segment from shared object");
}

TEST_CASE("more memory than a machine is sure to have is left open") {
  Changed changed;
  std::size_t last = changed.last_load();
  changed.segment(last, [](Elf64_Phdr& load) { load.p_memsz += 1ull << 30; });
  CHECK(changed.problem().empty());
  changed.segment(last, [](Elf64_Phdr& load) { load.p_memsz += 1ull << 33; });
  CHECK(changed.problem() == "p_memsz");
}

TEST_CASE("a relocation that writes over the dynamic section is left open") {
  Changed changed;
  std::uint64_t at = changed.table(DT_RELA);
  for (const Elf64_Phdr& segment : changed.layout.segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    std::uint64_t before = segment.p_vaddr - 8, last_word = segment.p_vaddr - 7;
    std::memcpy(changed.file.data() + at, &before, 8);
    CHECK(changed.problem().empty());
    std::memcpy(changed.file.data() + at, &last_word, 8);
    CHECK(changed.problem() == "r_offset");
  }
}

TEST_CASE(
    "a dynamic section on pages of no access, or that is relocated on read-only ones, is fatal") {
  Changed changed;
  std::size_t last = changed.last_load();
  changed.segment(last, [](Elf64_Phdr& load) { load.p_flags = 0; });
  CHECK(changed.facts().rejection == "its dynamic section may not be read");
  changed.segment(last, [](Elf64_Phdr& load) { load.p_flags = PF_R; });
  CHECK(changed.facts().rejection == "its dynamic section may not be written");
}

TEST_CASE("the name of symbol 0 is not looked at, and that of a definition is") {
  Changed changed;
  std::uint64_t symbols = changed.table(DT_SYMTAB);
  std::uint32_t huge = 0x7fffffff;
  std::memcpy(changed.file.data() + symbols, &huge, 4);
  CHECK(changed.facts().symbols.name(0).empty());
  std::memcpy(changed.file.data() + symbols + sizeof(Elf64_Sym), &huge, 4);
  CHECK(changed.problem() == "st_name");
}

TEST_CASE("the symbol of a relocation that DT_RELACOUNT counts is not looked at") {
  Changed changed("stand_alone/libimports_only.so");
  std::uint32_t huge = 0x7fffffff;
  std::memcpy(changed.file.data() + changed.table(DT_RELA) + offsetof(Elf64_Rela, r_info) + 4,
              &huge, 4);
  CHECK(changed.problem().empty());
  changed.entry(DT_RELACOUNT, [](Elf64_Dyn& entry) { entry.d_un.d_val = 0; });
  CHECK(changed.problem() == "relocation");
}

TEST_CASE("a segment over another's pages with other bytes of the file is left open") {
  Changed changed;
  std::size_t last = changed.last_load();
  REQUIRE(changed.layout.segments[last - 1].p_type == PT_LOAD);
  CHECK(changed.problem().empty());
  std::uint64_t data = changed.layout.segments[last].p_vaddr;
  changed.segment(last - 1,
                  [&](Elf64_Phdr& segment) { segment.p_memsz = data + 1 - segment.p_vaddr; });
  CHECK(changed.problem() == "PT_LOAD");
}
