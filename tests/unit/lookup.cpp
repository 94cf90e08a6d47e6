// Finding a definition in one object, as glibc's do_lookup_x does it.
#include "link/lookup.h"

#include <doctest/doctest.h>

#include "support/made_object.h"

using namespace wheelvet;
using namespace wheelvet::test;

namespace {

constexpr std::uint16_t hidden = 0x8000;

WantedVersion want(const std::string& name, std::string_view file = "lib.so") {
  return {name, sysv_hash(name), false, file};
}

// The index of the definition that an object gives for a name; 0 for none.
std::size_t found(const ElfFacts& elf, std::string_view name,
                  const std::optional<WantedVersion>& version = std::nullopt, bool plt = false) {
  VersionNames versions(elf);
  return find_definition(elf, versions, LookupName(name, plt), version).value_or(0);
}

// f@@V2 is the default, f@V1 is not; g@V1 is hidden by its bit and has no default.
MadeObject versioned() {
  MadeObject object;
  object.versioned = true;
  object.definitions = {definition("lib.so", 1, true), definition("V1", 2), definition("V2", 3),
                        definition("V3", 4)};
  object.symbols = {{.name = "f", .version = 2 | hidden},
                    {.name = "f", .version = 3},
                    {.name = "g", .version = 4 | hidden},
                    {.name = "base", .version = VER_NDX_GLOBAL},
                    {.name = "old", .version = 2}};
  return object;
}

}  // namespace

TEST_CASE("a defined global is found by either hash table, another name is not") {
  for (Hash hash : {Hash::gnu, Hash::sysv, Hash::both}) {
    MadeObject object;
    object.hash = hash;
    object.symbols = {{.name = "wanted", .defined = false}, {.name = "f"}, {.name = "g"}};
    ElfFacts elf = object.facts();
    CHECK(found(elf, "f") == 2);
    CHECK(found(elf, "g") == 3);
    CHECK(found(elf, "h") == 0);
    CHECK(found(elf, "") == 0);
    CHECK(found(elf, "wanted") == 0);
  }
}

TEST_CASE("without a hash table nothing is found") {
  MadeObject object;
  object.hash = Hash::none;
  object.symbols = {{.name = "f"}};
  CHECK(found(object.facts(), "f") == 0);
}

TEST_CASE(
    "a name that the hash table does not reach does not exist, whatever the symbol table says") {
  for (Hash hash : {Hash::gnu, Hash::sysv}) {
    MadeObject object;
    object.hash = hash;
    object.symbols = {{.name = "f"}, {.name = "g"}};
    object.unreached = 1;
    ElfFacts elf = object.facts();
    CHECK(found(elf, "f") == 1);
    CHECK(found(elf, "g") == 0);
    CHECK(find_by_name(elf, "g") == 2);  // but an explanation may name it
  }
}

TEST_CASE("where both tables exist the GNU one decides alone") {
  MadeObject object;
  object.hash = Hash::both;
  object.symbols = {{.name = "f"}};
  ElfFacts elf = object.facts();
  std::memset(elf.symbols.gnu_hash.data() + 16, 0, 8);  // a filter that lets nothing through
  CHECK(found(elf, "f") == 0);
  elf.symbols.gnu_hash.clear();
  CHECK(found(elf, "f") == 1);
}

TEST_CASE(
    "a hidden or internal first match passes over the whole object, a protected one does not") {
  for (int kind : {STV_HIDDEN, STV_INTERNAL}) {
    auto visibility = static_cast<std::uint8_t>(kind);
    MadeObject object;
    object.symbols = {{.name = "f", .visibility = visibility}, {.name = "f"}};
    CHECK(found(object.facts(), "f") == 0);
  }
  MadeObject object;
  object.symbols = {{.name = "f", .visibility = STV_PROTECTED}};
  CHECK(found(object.facts(), "f") == 1);
}

TEST_CASE("local definitions do not count, weak and unique ones do") {
  auto with_binding = [](std::uint8_t binding) {
    MadeObject object;
    object.symbols = {{.name = "f", .binding = binding}};
    return found(object.facts(), "f");
  };
  CHECK(with_binding(STB_LOCAL) == 0);
  CHECK(with_binding(STB_WEAK) == 1);
  CHECK(with_binding(STB_GNU_UNIQUE) == 1);
}

TEST_CASE(
    "sections and files cannot be looked up; a value of 0 is none except for thread-local data") {
  auto with = [](std::uint8_t type, std::uint64_t value) {
    MadeObject object;
    object.symbols = {{.name = "f", .type = type, .value = value}};
    return found(object.facts(), "f");
  };
  for (int type : {STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_COMMON, STT_TLS, STT_GNU_IFUNC}) {
    CHECK(with(static_cast<std::uint8_t>(type), 0x1000) == 1);
  }
  CHECK(with(STT_SECTION, 0x1000) == 0);
  CHECK(with(STT_FILE, 0x1000) == 0);
  CHECK(with(STT_FUNC, 0) == 0);
  CHECK(with(STT_TLS, 0) == 1);
}

TEST_CASE("a versioned reference takes its own version, default or not") {
  ElfFacts elf = versioned().facts();
  CHECK(found(elf, "f", want("V1")) == 1);
  CHECK(found(elf, "f", want("V2")) == 2);
  CHECK(found(elf, "f", want("V3")) == 0);
  CHECK(found(elf, "g", want("V3")) == 3);
  CHECK(found(elf, "old", want("V2")) == 0);
}

TEST_CASE("a versioned reference takes a definition of the base version") {
  ElfFacts elf = versioned().facts();
  CHECK(found(elf, "base", want("V1")) == 4);
  WantedVersion strict = want("V1");
  strict.hidden = true;
  CHECK(found(elf, "base", strict) == 0);
}

TEST_CASE("equal hashes of different version names are not the same version") {
  ElfFacts elf = versioned().facts();
  WantedVersion wrong = want("V1");
  std::string other = "W1";
  wrong.name = other;
  CHECK(found(elf, "f", wrong) == 0);
}

TEST_CASE(
    "an unversioned reference takes the first version even if hidden, else the only default") {
  ElfFacts elf = versioned().facts();
  CHECK(found(elf, "f") == 1);  // index 2 comes first in the chain: taken although hidden
  CHECK(found(elf, "g") == 0);  // index above 2 and hidden: no default
  CHECK(found(elf, "base") == 4);
  MadeObject object = versioned();
  object.symbols = {{.name = "f", .version = 3 | hidden}, {.name = "f", .version = 4}};
  CHECK(found(object.facts(), "f") == 2);
  object.symbols = {{.name = "f", .version = 3},
                    {.name = "f", .version = 4}};  // two defaults: none
  CHECK(found(object.facts(), "f") == 0);
}

TEST_CASE("the version table counts only beside needs or definitions") {
  MadeObject object;
  object.versioned = true;
  object.symbols = {{.name = "f", .version = 5 | hidden}};
  CHECK(found(object.facts(), "f") == 1);
  CHECK(found(object.facts(), "f", want("V1")) == 1);
  object.needs = {{"libc.so.6", {needed_version("GLIBC_2.2.5", 7)}}};
  CHECK(found(object.facts(), "f") == 0);
  // Needs without definitions, as everything linked to libc has: a plain export serves any version.
  object.symbols = {{.name = "f", .version = VER_NDX_GLOBAL}};
  CHECK(found(object.facts(), "f", want("V1")) == 1);
}

TEST_CASE("an object without version definitions serves versioned references") {
  MadeObject object;
  object.symbols = {{.name = "f"}};
  CHECK(found(object.facts(), "f", want("V1")) == 1);
}

TEST_CASE("an undefined entry with a value serves data references only") {
  MadeObject object;  // as in executables that take the address of an imported function
  object.symbols = {{.name = "f"}};
  ElfFacts elf = object.facts();
  std::uint16_t undefined = SHN_UNDEF;
  std::memcpy(elf.symbols.symbols.data() + sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_shndx),
              &undefined, 2);
  CHECK(found(elf, "f", std::nullopt, false) == 1);
  CHECK(found(elf, "f", std::nullopt, true) == 0);
}

TEST_CASE("a chain of a SysV table that goes round ends") {
  MadeObject object;
  object.hash = Hash::sysv;
  object.symbols = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
  ElfFacts elf = object.facts();
  std::uint32_t back = 1;
  std::memcpy(elf.symbols.sysv_hash.data() + 8 + 4 * (1 + 3), &back, 4);  // c leads to a
  CHECK(found(elf, "c") == 3);
  CHECK(found(elf, "d") == 0);
  std::memcpy(elf.symbols.sysv_hash.data() + 8 + 4 * (1 + 1), &back, 4);  // a leads to itself
  CHECK(found(elf, "b") == 0);
}

TEST_CASE("hash tables with any word wrong are walked without leaving them") {
  for (Hash hash : {Hash::gnu, Hash::sysv}) {
    MadeObject object = versioned();
    object.hash = hash;
    ElfFacts good = object.facts();
    std::vector<std::uint8_t> SymbolTable::*table =
        hash == Hash::gnu ? &SymbolTable::gnu_hash : &SymbolTable::sysv_hash;
    std::size_t size = (good.symbols.*table).size();
    for (std::size_t at = 0; at + 4 <= size; at += 4) {
      for (std::uint32_t word :
           {0u, 1u, 2u, 3u, 5u, 6u, 7u, 31u, 64u, 0x7fffffffu, 0x80000000u, ~0u}) {
        ElfFacts bad = good;
        std::memcpy((bad.symbols.*table).data() + at, &word, 4);
        for (const char* name : {"f", "g", "base", "none"}) {
          CHECK(found(bad, name) < bad.symbols.count);
          CHECK(found(bad, name, want("V1")) < bad.symbols.count);
        }
      }
    }
    for (std::size_t length = 0; length < size; ++length) {
      ElfFacts cut = good;
      (cut.symbols.*table).resize(length);
      CHECK(found(cut, "base") < cut.symbols.count);
    }
  }
}

TEST_CASE("the version of an import is its index's, and nothing for local and global ones") {
  MadeObject object = versioned();
  object.needs = {
      {"libc.so.6", {needed_version("GLIBC_2.2.5", 5), needed_version("GLIBC_2.34", 6 | hidden)}}};
  ElfFacts elf = object.facts();
  VersionNames versions(elf);
  CHECK(versions.any());
  CHECK_FALSE(versions.of(VER_NDX_LOCAL));
  CHECK_FALSE(versions.of(VER_NDX_GLOBAL));
  CHECK_FALSE(versions.of(100));
  REQUIRE(versions.of(5));
  CHECK(versions.of(5)->name == "GLIBC_2.2.5");
  CHECK(versions.of(5)->file == "libc.so.6");
  CHECK_FALSE(versions.of(5)->hidden);
  REQUIRE(versions.of(6));
  CHECK(versions.of(6)->hidden);
  REQUIRE(versions.of(2 | hidden));
  CHECK(versions.of(2 | hidden)->name == "V1");
  CHECK_FALSE(VersionNames(ElfFacts{}).any());
}

TEST_CASE("the hashes are those of the gABI and of GNU") {
  CHECK(sysv_hash("") == 0);
  CHECK(sysv_hash("GLIBC_2.2.5") == 0x09691a75);
  CHECK(sysv_hash("\xff") == 0xff);
  CHECK(gnu_hash("") == 0x1505);
  CHECK(gnu_hash("printf") == 0x156b2bb8);
  CHECK(gnu_hash("\xff") == 5381u * 33 + 0xff);
}
