// What read_elf says of well-formed libraries, and that a slice says the same.
#include "facts/elf_facts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "facts/elf_layout.h"
#include "facts/elf_stub.h"
#include "facts/file_kind.h"
#include "facts/slice.h"
#include "support/fixtures.h"

using namespace wheelvet;
using namespace wheelvet::test;

using Texts = std::vector<std::string>;

namespace {

std::map<std::string, Symbol> by_name(const ElfFacts& elf) {
  std::map<std::string, Symbol> out;
  for (std::size_t i = 1; i < elf.symbols.count; ++i) {
    Symbol symbol = elf.symbols.at(i);
    out.emplace(std::string(symbol.name), symbol);
  }
  return out;
}

std::vector<std::uint8_t> slice_of(const std::vector<std::uint8_t>& bytes) {
  FileView view = view_of(Bytes(bytes));
  return write_slice(read_elf(view));
}

void check_equal(const ElfFacts& a, const ElfFacts& b) {
  CHECK(a.machine == b.machine);
  CHECK(a.type == b.type);
  CHECK(a.osabi == b.osabi);
  CHECK(a.abi_version == b.abi_version);
  CHECK(a.file_size == b.file_size);
  CHECK(a.soname == b.soname);
  CHECK(a.needed == b.needed);
  CHECK(a.rpath == b.rpath);
  CHECK(a.runpath == b.runpath);
  CHECK(a.flags == b.flags);
  CHECK(a.flags_1 == b.flags_1);
  CHECK(a.symbolic == b.symbolic);
  CHECK(a.build_id == b.build_id);
  CHECK(a.stack_flags == b.stack_flags);
  CHECK(a.tls_size == b.tls_size);
  CHECK(a.tls_alignment == b.tls_alignment);
  CHECK(a.writable_code == b.writable_code);
  CHECK(a.dlopen_notes == b.dlopen_notes);
  REQUIRE(a.symbols.count == b.symbols.count);
  CHECK(a.symbols.symbols == b.symbols.symbols);
  CHECK(a.symbols.versions == b.symbols.versions);
  CHECK(a.symbols.gnu_hash == b.symbols.gnu_hash);
  CHECK(a.symbols.sysv_hash == b.symbols.sysv_hash);
  CHECK(a.symbols.relocations == b.symbols.relocations);
  for (std::size_t i = 0; i < a.symbols.count; ++i) {
    if (a.symbols.name(i) != b.symbols.name(i)) FAIL("symbol ", i, " has another name");
  }
  REQUIRE(a.version_needs.size() == b.version_needs.size());
  for (std::size_t i = 0; i < a.version_needs.size(); ++i) {
    CHECK(a.version_needs[i].file == b.version_needs[i].file);
    REQUIRE(a.version_needs[i].versions.size() == b.version_needs[i].versions.size());
    for (std::size_t k = 0; k < a.version_needs[i].versions.size(); ++k) {
      const NeededVersion &x = a.version_needs[i].versions[k], &y = b.version_needs[i].versions[k];
      CHECK(x.name == y.name);
      CHECK(x.hash == y.hash);
      CHECK(x.index == y.index);
      CHECK(x.weak == y.weak);
    }
  }
  REQUIRE(a.version_definitions.size() == b.version_definitions.size());
  for (std::size_t i = 0; i < a.version_definitions.size(); ++i) {
    CHECK(a.version_definitions[i].name == b.version_definitions[i].name);
    CHECK(a.version_definitions[i].hash == b.version_definitions[i].hash);
    CHECK(a.version_definitions[i].index == b.version_definitions[i].index);
    CHECK(a.version_definitions[i].base == b.version_definitions[i].base);
  }
}

// The first libraries of the system that are regular files, small and large, with what makes them
// differ.
std::vector<std::filesystem::path> system_libraries() {
  std::vector<std::filesystem::path> out;
  for (const char* folder : {"/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu"}) {
    for (const char* name : {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1",
                             "libz.so.1", "libpthread.so.0", "libcrypto.so.3", "libexpat.so.1",
                             "libffi.so.8", "ld-linux-x86-64.so.2", "libtinfo.so.6"}) {
      std::filesystem::path path = std::filesystem::path(folder) / name;
      if (std::filesystem::is_regular_file(path)) out.push_back(path);
    }
  }
  return out;
}

// Names with their versions, and needs, as readelf prints them.
std::multiset<std::string> readelf_lines(const std::string& path) {
  std::multiset<std::string> out;
  std::string command = "readelf -W -d --dyn-syms '" + path + "' 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  char line[8192];
  while (std::fgets(line, sizeof line, pipe)) {
    std::string text(line);
    if (text.find("(NEEDED)") != std::string::npos || text.find("(SONAME)") != std::string::npos) {
      out.insert(text.substr(text.find('(')));
    }
    // "  Num: Value Size Type Bind Vis Ndx Name@Version"; the section's number is not kept in a
    // slice.
    if (text.find(" GLOBAL ") != std::string::npos || text.find(" WEAK ") != std::string::npos) {
      // A slice has few section headers, and readelf marks numbers beyond them.
      if (std::size_t at = text.find("bad section index["); at != std::string::npos) {
        text.replace(at, 18, " ");
        text.erase(text.find(']'), 1);
      }
      out.insert(text.substr(text.find(':')));
    }
    if (text.find("arning") != std::string::npos || text.find("rror:") != std::string::npos)
      out.insert(text);
  }
  ::pclose(pipe);
  return out;
}

}  // namespace

TEST_CASE("names, needs, paths and versions of a fixture are what it was built with") {
  ElfFacts elf = facts_of(fixture("small/libsmall.so"));
  CHECK(elf.soname == "libsmall.so.1");
  CHECK(elf.needed == Texts{"libversioned.so", "libother.so"});
  CHECK(elf.runpath == "$ORIGIN/lib:$ORIGIN/../lib");
  CHECK_FALSE(elf.rpath);
  CHECK(elf.build_id.size() == 40);
  CHECK(elf.tls_size == 4);
  CHECK(elf.stack_flags);
  CHECK_FALSE(elf.writable_code);
  CHECK(elf.oddities.empty());
  REQUIRE(elf.version_needs.size() == 1);
  CHECK(elf.version_needs[0].file == "libversioned.so");
  std::set<std::string> wanted, defined;
  for (const NeededVersion& version : elf.version_needs[0].versions) wanted.insert(version.name);
  for (const VersionDefinition& each : elf.version_definitions) {
    defined.insert(each.name + (each.base ? " (base)" : ""));
    CHECK(each.hash == sysv_hash(each.name));
  }
  CHECK(wanted == std::set<std::string>{"V1", "V2"});
  CHECK(defined == std::set<std::string>{"libsmall.so.1 (base)", "S1", "S2"});
  ElfFacts old = facts_of(fixture("scenes/rpath_grandchild/libroot.so"));
  CHECK(old.rpath == "$ORIGIN/lib");
  CHECK_FALSE(old.runpath);
}

TEST_CASE("relocations say how each symbol is used") {
  auto symbols = by_name(facts_of(fixture("small/libsmall.so")));
  CHECK(symbols.at("one").relocations == used_by_plt);
  CHECK(symbols.at("two").relocations == used_by_plt);
  CHECK(symbols.at("data").relocations == used_by_data);
  CHECK(symbols.at("other_tls").relocations == used_by_tls);
  CHECK((symbols.at("maybe").relocations & used_by_data) != 0);
  CHECK(symbols.at("maybe").binding == STB_WEAK);
  CHECK(symbols.at("d").relocations == used_by_none);
  CHECK(symbols.at("one").section == SHN_UNDEF);
  CHECK(symbols.at("a").section != SHN_UNDEF);
}

TEST_CASE("a library that exports nothing has its imports counted by their relocations") {
  // The GNU hash of such a library begins behind the last symbol or at the first; only relocations
  // tell.
  ElfFacts elf = facts_of(fixture("scenes/missing_data/libroot.so"));
  CHECK(by_name(elf).contains("absent_data"));
  ElfFacts alone = facts_of(fixture("stand_alone/libimports_only.so"));
  CHECK(by_name(alone).contains("absent_a"));
  CHECK(by_name(alone).contains("absent_b"));
}

TEST_CASE("a slice gives the facts of its original, for fixtures and system libraries") {
  std::vector<std::filesystem::path> files = system_libraries();
  CHECK(files.size() > 3);
  files.push_back(WHEELVET_ELF_FIXTURES "/small/libsmall.so");
  files.push_back(WHEELVET_ELF_FIXTURES "/scenes/unused_undefined/libroot.so");
  files.push_back(WHEELVET_ELF_FIXTURES "/scenes/sysv_hash_only/libroot.so");
  for (const auto& path : files) {
    CAPTURE(path.string());
    std::vector<std::uint8_t> original = bytes_of(path);
    std::vector<std::uint8_t> sliced = slice_of(original);
    ElfFacts facts = facts_of(sliced);
    CHECK(facts.from_stub);
    check_equal(facts_of(original), facts);
    CHECK(slice_of(original) == sliced);  // the same bytes every time
    CHECK(sliced.size() < original.size() + 4096);
  }
}

TEST_CASE("readelf sees in a slice what it sees in the original") {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("wheelvet_slice_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  for (const std::filesystem::path& path :
       {std::filesystem::path(WHEELVET_ELF_FIXTURES "/small/libsmall.so"),
        system_libraries().front(), system_libraries().at(2)}) {
    CAPTURE(path.string());
    std::filesystem::path copy = folder / path.filename();
    std::vector<std::uint8_t> sliced = slice_of(bytes_of(path));
    std::ofstream(copy, std::ios::binary)
        .write(reinterpret_cast<const char*>(sliced.data()),
               static_cast<std::streamsize>(sliced.size()));
    std::multiset<std::string> there = readelf_lines(path), here = readelf_lines(copy);
    CHECK(there.size() > 5);
    std::vector<std::string> differing;
    std::set_symmetric_difference(there.begin(), there.end(), here.begin(), here.end(),
                                  std::back_inserter(differing));
    for (const std::string& line : differing) FAIL_CHECK(line);
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("a stub note is read as it was written, and cut off it is a Problem") {
  StubNote note;
  note.original_size = 123456789012;
  note.segments.resize(2);
  note.segments[1].p_type = PT_LOAD;
  note.relocations = {0, 1, 2, 4};
  std::vector<std::uint8_t> bytes = write_stub_note(note);
  StubNote back = read_stub_note(bytes);
  CHECK(back.original_size == note.original_size);
  CHECK(back.segments.size() == 2);
  CHECK(back.segments[1].p_type == PT_LOAD);
  CHECK(back.relocations == note.relocations);
  for (std::size_t length = 0; length < 16 + 2 * sizeof(Elf64_Phdr); ++length) {
    CHECK_THROWS_AS(read_stub_note(Bytes(bytes).first(length)), Unreadable);
  }
  bytes[0] = 99;
  CHECK_THROWS_AS(read_stub_note(bytes), Unreadable);
}

TEST_CASE("what a file is when it is no ELF is told from its first bytes") {
  auto kind = [](std::string text) {
    return classify(Bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()),
                    text.size());
  };
  CHECK(kind("") == FileKind::empty);
  CHECK(kind("/* GNU ld script */ INPUT(libx.so.1)") == FileKind::linker_script);
  CHECK(kind("INPUT ( libx.so )") == FileKind::linker_script);
  CHECK(kind("version https://git-lfs.github.com/spec/v1\noid sha256:00\n") ==
        FileKind::git_lfs_pointer);
  CHECK(kind("\n<!DOCTYPE html><html>") == FileKind::html_page);
  CHECK(kind("<html>") == FileKind::html_page);
  CHECK(kind("!<arch>\nx") == FileKind::static_archive);
  CHECK(kind("MZ\x90") == FileKind::windows);
  CHECK(kind("\xcf\xfa\xed\xfe") == FileKind::mach_o);
  CHECK(kind("hello") == FileKind::text);
  CHECK(kind(std::string("\0\1\2", 3)) == FileKind::unknown);
  std::vector<std::uint8_t> elf = fixture("small/libsmall.so");
  auto changed = [&](std::size_t at, std::uint8_t value) {
    std::vector<std::uint8_t> copy = elf;
    copy[at] = value;
    return classify(Bytes(copy).first(64), copy.size());
  };
  CHECK(changed(EI_CLASS, ELFCLASS64) == FileKind::elf);
  CHECK(changed(EI_CLASS, ELFCLASS32) == FileKind::other_class);
  CHECK(changed(EI_DATA, ELFDATA2MSB) == FileKind::other_endian);
  CHECK(changed(offsetof(Elf64_Ehdr, e_machine), EM_RISCV) == FileKind::other_machine);
  CHECK(changed(offsetof(Elf64_Ehdr, e_type), ET_REL) == FileKind::object_file);
  for (int i = 0; i <= static_cast<int>(FileKind::unknown); ++i) {
    CHECK_FALSE(to_string(static_cast<FileKind>(i)).empty());
  }
}

TEST_CASE("the processor level that an object asks for is read from its property note, stubs too") {
  ElfFacts facts = facts_of(fixture("small/libsmall.so"));
  CHECK(facts.isa_needed == 0);
  facts.isa_needed = 7;
  CHECK(facts_of(write_slice(facts)).isa_needed == 7);
}
