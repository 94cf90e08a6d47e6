#include <doctest/doctest.h>
#include <elf.h>

#include <algorithm>

#include "diff/device_changes.h"
#include "diff/export_changes.h"
#include "diff/library_changes.h"
#include "diff/library_pairs.h"
#include "diff/package_changes.h"
#include "support/made_object.h"

using namespace wheelvet;
using wheelvet::test::definition;
using wheelvet::test::MadeObject;
using wheelvet::test::needed_version;

namespace {

FileFacts library(const std::string& path, MadeObject made, const std::string& soname = {}) {
  FileFacts file;
  file.member = file.path = path;
  file.elf = made.facts();
  file.elf.soname = soname;
  file.elf.stack_flags = PF_R | PF_W;
  return file;
}

FileFacts with_names(const std::string& path, const std::vector<std::string>& names) {
  MadeObject made;
  for (const std::string& name : names) made.symbols.push_back({.name = name});
  return library(path, made);
}

InputFacts input(std::vector<FileFacts> files) {
  InputFacts out;
  out.files = std::move(files);
  return out;
}

std::vector<Change> exports(const InputFacts& before, const InputFacts& now,
                            const std::set<std::string, std::less<>>& used = {}) {
  return export_changes(pair_libraries(before, now), used, !used.empty(), 2);
}

const Change* find(const std::vector<Change>& changes, std::string_view kind) {
  auto found = std::find_if(changes.begin(), changes.end(),
                            [&](const Change& change) { return change.kind == kind; });
  return found == changes.end() ? nullptr : &*found;
}

constexpr const char* check_int = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib";
constexpr const char* check_unsigned = "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_jb";

}  // namespace

TEST_CASE("a change of parameters is one change, not one name gone and one added") {
  std::vector<Change> changes = exports(input({with_names("a/libx.so", {check_int, "kept"})}),
                                        input({with_names("a/libx.so", {check_unsigned, "kept"})}));
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].kind == "parameters");
  CHECK(changes[0].severity == Severity::error);
  REQUIRE(changes[0].names.size() == 1);
  CHECK(changes[0].names[0].difference == "argument 4: int before, unsigned int now");
  CHECK(changes[0].names[0].new_symbol == check_unsigned);
}

TEST_CASE("an overload that stays is not taken for what a lost one became") {
  // f(int) goes, f(long) stays: gone. f(char) is new: then f(int) became f(char).
  std::vector<Change> gone = exports(input({with_names("libx.so", {"_Z1fi", "_Z1fl"})}),
                                     input({with_names("libx.so", {"_Z1fl"})}));
  REQUIRE(gone.size() == 1);
  CHECK(gone[0].kind == "exports-gone");
  std::vector<Change> changed = exports(input({with_names("libx.so", {"_Z1fi", "_Z1fl"})}),
                                        input({with_names("libx.so", {"_Z1fl", "_Z1fc"})}));
  REQUIRE(changed.size() == 1);
  CHECK(changed[0].kind == "parameters");
}

TEST_CASE("each form is matched with the one that differs least, and once") {
  std::vector<Change> changes = exports(input({with_names("libx.so", {"_Z1fiii", "_Z1fl"})}),
                                        input({with_names("libx.so", {"_Z1fiij", "_Z1fm"})}));
  const Change* change = find(changes, "parameters");
  REQUIRE(change);
  REQUIRE(change->names.size() == 2);
  for (const NameChange& name : change->names) {
    CHECK(name.new_symbol == (name.symbol == "_Z1fl" ? "_Z1fm" : "_Z1fiij"));
  }
  CHECK_FALSE(find(changes, "exports-added"));
}

TEST_CASE("another spelling of std::string is folded apart from changed parameters") {
  std::vector<Change> changes =
      exports(input({with_names("libx.so", {"_ZN1A1gERKSs"})}),
              input({with_names(
                  "libx.so", {"_ZN1A1gERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"})}));
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].kind == "string-abi");
}

TEST_CASE("a name that another library exports now has moved") {
  std::vector<Change> changes =
      exports(input({with_names("a/libx.so", {"f", "g"}), with_names("a/liby.so", {"h"})}),
              input({with_names("a/libx.so", {"g"}), with_names("a/liby.so", {"h", "f"})}));
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].kind == "exports-moved");
  CHECK(changes[0].severity == Severity::warning);
  CHECK(changes[0].names[0].new_library == "a/liby.so");
}

TEST_CASE("an inline name that is gone is no error, a strong one is") {
  MadeObject both, neither;
  both.symbols = {{.name = "_ZN1A1fEv", .binding = STB_WEAK}, {.name = "_ZN1A1gEv"}};
  std::vector<Change> changes =
      exports(input({library("libx.so", both)}), input({library("libx.so", neither)}));
  REQUIRE(changes.size() == 2);
  for (const Change& change : changes) {
    bool weak = change.names[0].symbol == "_ZN1A1fEv";
    CHECK(change.severity == (weak ? Severity::warning : Severity::error));
  }
}

TEST_CASE("names that only a Python module exports are nobody's") {
  std::vector<Change> changes = exports(input({with_names("p/_C.so", {"PyInit__C", "helper"})}),
                                        input({with_names("p/_C.so", {"PyInit__C"})}));
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].severity == Severity::note);
}

TEST_CASE("a name under another version breaks who wants the old one, a further version nobody") {
  auto versioned = [](const std::vector<std::string>& versions, std::uint16_t of_name) {
    MadeObject made;
    made.versioned = true;
    made.symbols = {{.name = "f", .version = of_name}};
    made.definitions = {definition("libx.so", 1, true)};
    for (const std::string& version : versions) {
      made.definitions.push_back(
          definition(version, static_cast<std::uint16_t>(made.definitions.size() + 1)));
    }
    return input({library("libx.so", made)});
  };
  CHECK(exports(versioned({"V1"}, 2), versioned({"V1", "V2"}, 2)).empty());
  std::vector<Change> changes = exports(versioned({"V1"}, 2), versioned({"V2"}, 2));
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].kind == "symbol-version");
  CHECK(changes[0].names[0].version == "V1");
  CHECK(changes[0].names[0].new_version == "V2");
  Rules rules;
  std::vector<Change> others =
      library_changes(pair_libraries(versioned({"V1"}, 2), versioned({"V2"}, 2)), rules);
  REQUIRE(find(others, "versions-removed"));
  CHECK(find(others, "versions-removed")->severity == Severity::error);
}

TEST_CASE("data that grew and a function that became data are told") {
  MadeObject before, now;
  before.symbols = {{.name = "was_function"}, {.name = "kept", .type = STT_OBJECT}};
  now.symbols = {{.name = "was_function", .type = STT_OBJECT},
                 {.name = "kept", .type = STT_OBJECT}};
  FileFacts old_file = library("libx.so", before), new_file = library("libx.so", now);
  auto entries = reinterpret_cast<Elf64_Sym*>(new_file.elf.symbols.symbols.data());
  entries[2].st_size = 16;
  std::vector<Change> changes = exports(input({old_file}), input({new_file}));
  REQUIRE(find(changes, "symbol-type"));
  CHECK(find(changes, "symbol-type")->severity == Severity::error);
  REQUIRE(find(changes, "data-size"));
  CHECK(find(changes, "data-size")->names[0].difference == "0 bytes before, 16 now");
}

TEST_CASE("what users import comes first, then what the other libraries of OLD import") {
  MadeObject caller;
  caller.symbols = {{.name = "wanted_inside", .defined = false}};
  InputFacts before = input(
      {with_names("libx.so", {"a", "wanted_inside", "used_by_user"}), library("liby.so", caller)});
  InputFacts now = input({with_names("libx.so", {}), library("liby.so", caller)});
  std::vector<Change> changes = exports(before, now, {"used_by_user"});
  REQUIRE(changes.size() == 1);
  std::vector<std::string> order;
  for (const NameChange& name : changes[0].names) order.push_back(name.symbol);
  CHECK(order == std::vector<std::string>{"used_by_user", "wanted_inside", "a"});
  CHECK(changes[0].names[0].used);
}

TEST_CASE("libraries are paired by path, soname, bundled name, module and file name") {
  auto paired = [](FileFacts before, FileFacts now) {
    // A further library on each side, so that the only one is not paired for being that.
    std::vector<LibraryPair> pairs = pair_libraries(input({before, with_names("z/libz1.so", {})}),
                                                    input({now, with_names("z/libz1.so", {})}));
    return pairs.front().before && pairs.front().now ? pairs.front().by : std::string();
  };
  CHECK(paired(with_names("a/libx.so", {}), with_names("a/libx.so", {})) == "path");
  CHECK(paired(library("a/libx.so", {}, "libx.so.1"), library("b/liby.so", {}, "libx.so.1")) ==
        "soname");
  CHECK(paired(with_names("p.libs/libgf-1a2b3c4d.so.1", {}),
               with_names("p.libs/libgf-5e6f7a8b.so.1", {})) == "bundled name");
  CHECK(paired(with_names("p/m.cpython-311-x86_64-linux-gnu.so", {"PyInit_m"}),
               with_names("p/m.cpython-312-x86_64-linux-gnu.so", {"PyInit_m"})) == "module");
  CHECK(paired(with_names("nvidia/cublas/lib/libcublas.so.12", {}),
               with_names("nvidia/cu13/lib/libcublas.so.13", {})) == "file name");
  CHECK(paired(with_names("a/libone.so", {}), with_names("a/libtwo.so", {})).empty());
}

TEST_CASE("two candidates are not paired by guess") {
  std::vector<LibraryPair> pairs =
      pair_libraries(input({with_names("a/libx.so.1", {})}),
                     input({with_names("b/libx.so.2", {}), with_names("c/libx.so.3", {})}));
  CHECK(pairs.size() == 3);
}

TEST_CASE("a soname, a raised floor and a new need are told for what they are") {
  MadeObject old_needs, new_needs;
  old_needs.needs = {{"libc.so.6", {needed_version("GLIBC_2.17", 2)}}};
  new_needs.needs = {{"libc.so.6", {needed_version("GLIBC_2.28", 2)}}};
  FileFacts before = library("a/libx.so", old_needs, "libx.so.1");
  FileFacts now = library("a/libx.so", new_needs, "libx.so.2");
  now.elf.needed = {"libother.so.3"};
  Rules rules;
  std::vector<Change> changes =
      library_changes(pair_libraries(input({before}), input({now})), rules);
  for (const char* kind : {"soname", "floor-raised"}) {
    REQUIRE(find(changes, kind));
    CHECK(find(changes, kind)->severity == Severity::error);
  }
  CHECK(find(changes, "floor-raised")->evidence[0] == "GLIBC_2.28, before GLIBC_2.17");
  REQUIRE(find(changes, "needed-added"));
  CHECK(find(changes, "needed-added")->severity == Severity::warning);
  // The other way round nothing breaks but the soname.
  std::vector<Change> back = library_changes(pair_libraries(input({now}), input({before})), rules);
  CHECK(find(back, "floor-lowered"));
  CHECK_FALSE(find(back, "floor-raised"));
}

TEST_CASE("an interpreter that is no longer served is an error, a bounded requirement a warning") {
  auto package = [](const std::string& python, const std::vector<std::string>& requirements) {
    InputFacts out;
    PackageFacts& facts = out.packages.emplace_back();
    facts.name = "package";
    facts.requires_python = python;
    facts.requirements = requirements;
    return out;
  };
  Rules rules;
  std::vector<Change> changes = package_changes(package(">=3.9", {"torch", "six; extra == 'a'"}),
                                                package(">=3.10", {"torch==2.10.0"}), rules);
  REQUIRE(find(changes, "python-floor"));
  CHECK(find(changes, "python-floor")->title == "no longer for Python 3.9");
  REQUIRE(find(changes, "requires-changed"));
  CHECK(find(changes, "requires-changed")->evidence[0] == "torch==2.10.0, before torch");
  CHECK(find(changes, "requires-removed"));
}

namespace {

// One container with an image per architecture: machine code, or PTX for a negative one.
FileFacts with_code(const std::vector<int>& architectures) {
  FileFacts file = library("a/libx.so", {});
  DeviceContainer container;
  for (int arch : architectures) {
    DeviceImage image;
    image.arch = static_cast<std::uint16_t>(std::abs(arch));
    image.kind = arch < 0 ? ImageKind::ptx : ImageKind::cubin;
    image.isa_major = 9;
    file.code.images.push_back(image);
    ++container.images;
  }
  file.code.containers.push_back(container);
  file.code.read = true;
  return file;
}

std::vector<Change> device(const FileFacts& before, const FileFacts& now) {
  InputFacts was = input({before}), is = input({now});
  return device_changes(pair_libraries(was, is), load_device_rules());
}

}  // namespace

TEST_CASE("a GPU that no code runs on any more is an error, one that needs PTX now a warning") {
  std::vector<Change> lost = device(with_code({70, 80, 90}), with_code({80, 90, 120}));
  const Change* change = find(lost, "gpus-lost");
  REQUIRE(change);
  CHECK(change->severity == Severity::error);
  CHECK(change->evidence == std::vector<std::string>{"a/libx.so: sm_70, sm_75"});
  CHECK(find(lost, "gpus-gained")->evidence.front() == "a/libx.so: sm_120, sm_121");
  CHECK(find(lost, "device-code")->evidence.front() == "a/libx.so: sm_70 gone; sm_120 new");
  std::vector<Change> compiled = device(with_code({80, 90, -70}), with_code({80, -70}));
  CHECK_FALSE(find(compiled, "gpus-lost"));
  REQUIRE(find(compiled, "gpus-compiled"));
  CHECK(find(compiled, "gpus-compiled")->evidence.front() == "a/libx.so: sm_90");
}

TEST_CASE(
    "device code that is as it was is no change, and that of a stub without it is not judged") {
  CHECK(device(with_code({80, -90}), with_code({80, -90})).empty());
  FileFacts stub = with_code({80});
  stub.code = {};
  std::vector<Change> changes = device(with_code({80}), stub);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].kind == "device-code-unknown");
}
