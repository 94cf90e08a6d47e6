// Tags, versions and dependencies of a wheel against the objects in it. Every case is one wheel
// with one thing wrong, and beside it the wheel where that is right.
#include <doctest/doctest.h>
#include <elf.h>

#include <algorithm>

#include "checks/checks.h"
#include "checks/platform_floor.h"
#include "facts/metadata.h"
#include "support/fixtures.h"
#include "support/made_object.h"

using namespace wheelvet;
using namespace wheelvet::test;

namespace {

using Lines = std::vector<std::string>;
using Check = std::vector<Finding> (*)(const Run&);

// A wheel by its file name, with objects made by hand.
struct Wheel {
  Stage stage;
  std::string python = "3.12";

  explicit Wheel(const std::string& file_name) {
    stage.inputs[0].kind = InputKind::wheel;
    stage.inputs[0].label = file_name;
    WheelName named = read_wheel_name(file_name);
    stage.add_package(named.name, named.version).tags = named.tags;
  }
  ElfFacts& object(const std::string& path, std::vector<MadeSymbol> symbols = {},
                   Lines needed = {}) {
    MadeObject made;
    made.symbols = std::move(symbols);
    ElfFacts& elf = stage.add(path, made.facts());
    elf.needed = std::move(needed);
    elf.stack_flags = PF_R | PF_W;
    return elf;
  }
  ElfFacts& module(const std::string& path, std::vector<MadeSymbol> symbols = {},
                   Lines needed = {}) {
    symbols.push_back({"PyInit_" + std::string(module_name(path))});
    return object(path, std::move(symbols), std::move(needed));
  }
  PackageFacts& package() { return stage.facts.inputs[0].packages[0]; }

  std::vector<Finding> findings(Check check) {
    const Scene& scene = stage.set(python);
    Links links;
    return check(Run{stage.inputs, stage.facts, scene, links});
  }
  // "severity id" of every finding.
  Lines judged(Check check) {
    Lines out;
    for (const Finding& finding : findings(check)) {
      out.push_back(std::string(to_string(finding.severity)) + " " + finding.id);
    }
    return out;
  }
  Lines evidence(Check check) {
    Lines out;
    for (const Finding& finding : findings(check)) {
      out.insert(out.end(), finding.evidence.begin(), finding.evidence.end());
    }
    return out;
  }
};

MadeSymbol import(const std::string& name, std::uint8_t binding = STB_GLOBAL) {
  MadeSymbol symbol{name};
  symbol.defined = false;
  symbol.binding = binding;
  symbol.relocations = used_by_plt;
  return symbol;
}

const std::string linux_tag = "-cp312-cp312-manylinux_2_28_x86_64.whl";

}  // namespace

TEST_CASE("TAG-001: native code under a tag for any platform") {
  Wheel library("a-1-py3-none-any.whl");
  library.object("a/libx.so");
  CHECK(library.judged(check_labels) == Lines{"note TAG-001"});
  Wheel with_module("a-1-py3-none-any.whl");
  with_module.object("a/libx.so");
  with_module.module("a/m.so");
  CHECK(with_module.judged(check_labels) == Lines{"warning TAG-001"});
  Wheel tagged("a-1" + linux_tag);
  tagged.module("a/m.so");
  CHECK(tagged.judged(check_labels).empty());
}

TEST_CASE("TAG-002: a linux tag is told with the floors that it does not name") {
  Wheel wheel("a-1-cp312-cp312-linux_x86_64.whl");
  wheel.module("a/m.so").version_needs = {
      {"libc.so.6", {needed_version("GLIBC_2.4", 2), needed_version("GLIBC_2.34", 3)}}};
  CHECK(wheel.judged(check_labels) == Lines{"note TAG-002"});
  CHECK(wheel.evidence(check_labels) == Lines{"its objects need GLIBC 2.34"});
}

TEST_CASE("TAG-003: objects for another machine than the tag's") {
  Wheel swapped("a-1" + linux_tag);
  swapped.module("a/m.so").machine = EM_AARCH64;
  CHECK(swapped.judged(check_labels) == Lines{"error TAG-003"});
  Wheel both("a-1" + linux_tag);  // the same module for either
  both.module("a/m.cpython-312-x86_64-linux-gnu.so");
  both.module("a/m.cpython-312-aarch64-linux-gnu.so").machine = EM_AARCH64;
  CHECK(both.judged(check_labels) == Lines{"note TAG-003"});
  Wheel lone("a-1" + linux_tag);  // a module that has no counterpart
  lone.module("a/m.so");
  lone.module("a/n.so").machine = EM_AARCH64;
  CHECK(lone.judged(check_labels) == Lines{"error TAG-003"});
  Wheel narrow("a-1" + linux_tag);
  narrow.stage.add_kind("a/m.so", FileKind::other_class);
  CHECK(narrow.judged(check_labels) == Lines{"error TAG-003"});
  Wheel library("a-1" + linux_tag);
  library.module("a/m.so");
  library.object("a/libx.so").machine = EM_AARCH64;
  CHECK(library.judged(check_labels) == Lines{"note TAG-003"});
  Wheel right("a-1-cp312-cp312-manylinux_2_28_aarch64.whl");
  right.module("a/m.so").machine = EM_AARCH64;
  CHECK(right.judged(check_labels).empty());
}

TEST_CASE("TAG-004: objects for the other C library") {
  Wheel musl("a-1-cp312-cp312-musllinux_1_2_x86_64.whl");
  musl.module("a/m.so", {}, {"libc.so.6"});
  CHECK(musl.judged(check_labels) == Lines{"warning TAG-004"});
  Wheel glibc("a-1" + linux_tag);
  glibc.module("a/m.so", {}, {"libc.musl-x86_64.so.1"});
  CHECK(glibc.judged(check_labels) == Lines{"warning TAG-004"});
  Wheel right("a-1-cp312-cp312-musllinux_1_2_x86_64.whl");
  right.module("a/m.so", {}, {"libc.musl-x86_64.so.1"});
  CHECK(right.judged(check_labels).empty());
}

TEST_CASE("PY-002: modules for one CPython under a tag for more") {
  const std::string suffix = ".cpython-310-x86_64-linux-gnu.so";
  for (const char* tag : {"-cp310-abi3-", "-py3-none-"}) {
    Wheel wheel("a-1" + std::string(tag) + "manylinux_2_28_x86_64.whl");
    wheel.module("a/m" + suffix);
    CHECK(wheel.judged(check_labels).empty());  // PY-001 speaks
    wheel.python = "3.10";
    CHECK(wheel.judged(check_labels) == Lines{"warning PY-002"});
    wheel.module("a/m.cpython-311-x86_64-linux-gnu.so");
    CHECK(wheel.judged(check_labels) == Lines{"note PY-002"});
    wheel.module("a/m.abi3.so");  // another name of the same module serves the others
    CHECK(wheel.judged(check_labels).empty());
  }
  Wheel exact("a-1-cp310-cp310-manylinux_2_28_x86_64.whl");
  exact.python = "3.10";
  exact.module("a/m" + suffix);
  CHECK(exact.judged(check_labels).empty());
}

TEST_CASE("PY-003: modules that need libpython") {
  Wheel wheel("a-1" + linux_tag);
  wheel.module("a/m.so", {}, {"libpython3.12.so.1.0"});
  CHECK(wheel.judged(check_labels) == Lines{"warning PY-003"});
  Wheel library("a-1" + linux_tag);  // something that embeds an interpreter
  library.object("a/libx.so", {}, {"libpython3.12.so.1.0"});
  CHECK(library.judged(check_labels).empty());
}

TEST_CASE("TAG-005: CUDA labels in name and version") {
  struct Case {
    const char *name, *needed;
    bool right;
  };
  for (const Case& each : {Case{"a_cu12-1", "libcudart.so.12", true},
                           {"a_cu12-1", "libcudart.so.13", false},
                           {"a-1+cu130", "libcublas.so.13", true},
                           {"a-1+cu130", "libcublas.so.12", false},
                           {"a-1+cu118", "libcudart.so.11.0", true},
                           {"a_cuda12x-1", "libnvrtc.so.13", false},
                           {"a-1+cpu", "libcudart.so.12", false},
                           {"a-1+cpu", "libm.so.6", true},
                           {"a-1+cu12torch2.8", "libcudart.so.13", true},  // no label of ours
                           {"a-1+cu130", "libcusparse.so.12", true},       // in both releases
                           {"a_cu12-1", "libnccl.so.2", true},
                           {"a_custom-1", "libcudart.so.13", true}}) {
    CAPTURE(each.name);
    CAPTURE(each.needed);
    Wheel wheel(each.name + linux_tag);
    wheel.module("a/m.so", {}, {each.needed});
    CHECK(wheel.judged(check_labels) == (each.right ? Lines{} : Lines{"warning TAG-005"}));
  }
  Wheel several("a_cu12-1" + linux_tag);  // builds for more than one release in one wheel
  several.object("a/lib12.so", {}, {"libcudart.so.12"});
  several.object("a/lib13.so", {}, {"libcudart.so.13"});
  CHECK(several.judged(check_labels).empty());
}

TEST_CASE("TAG-006: the string ABI that a version names") {
  const char* fresh =
      "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
  const char* old = "_ZN3c105ErrorC2ENS_14SourceLocationESs";
  auto judged = [](const std::string& version, std::vector<MadeSymbol> symbols) {
    Wheel wheel("a-" + version + linux_tag);
    wheel.module("a/m.so", std::move(symbols));
    return wheel.judged(check_labels);
  };
  CHECK(judged("1+cxx11abiTRUE", {import(fresh)}).empty());
  CHECK(judged("1+cxx11abiTRUE", {import(old)}) == Lines{"warning TAG-006"});
  CHECK(judged("1+cxx11abiFALSE", {import(old)}).empty());
  CHECK(judged("1+cxx11abiFALSE", {import(fresh)}) == Lines{"warning TAG-006"});
  CHECK(judged("1", {import(old)}).empty());
  // Names that say nothing: of other libraries, with "Ss" in an identifier, without a string.
  CHECK(judged("1+cxx11abiTRUE", {import("_ZN5other1fESs"), import("_ZN2at5ClassC1Ev"),
                                  import("_ZN3c104cuda9SetDeviceEa")})
            .empty());
}

TEST_CASE("TAG-007: a version labelled for another torch than the one beside it") {
  auto judged = [](const std::string& version, const std::string& torch) {
    Wheel wheel("a-" + version + linux_tag);
    wheel.module("a/m.so");
    wheel.stage.add_package("torch", torch);
    // Two packages in one input: the files belong to the first.
    wheel.package().top_level = {"a"};
    return wheel.judged(check_labels);
  };
  CHECK(judged("1+cu12torch2.8cxx11abiTRUE", "2.10.0") == Lines{"warning TAG-007"});
  CHECK(judged("1+cu12torch2.8cxx11abiTRUE", "2.8.0").empty());
  CHECK(judged("1+torch2.1", "2.10.0") == Lines{"warning TAG-007"});
  CHECK(judged("1+torch2.10", "2.10.0").empty());
  CHECK(judged("1", "2.10.0").empty());
}

TEST_CASE("ABI-002: names outside the stable ABI of the release that the tag names") {
  auto wheel = [](const std::string& tag, const MadeSymbol& symbol) {
    Wheel made("a-1-" + tag + "-manylinux_2_28_x86_64.whl");
    made.module("a/m.abi3.so", {symbol});
    return made;
  };
  // In the stable ABI from the start, or since the release of the tag.
  CHECK(wheel("cp38-abi3", import("PyLong_FromLong")).judged(check_stable_abi).empty());
  CHECK(wheel("cp312-abi3", import("PyObject_Vectorcall")).judged(check_stable_abi).empty());
  CHECK(wheel("cp38-abi3", import("_Py_Dealloc")).judged(check_stable_abi).empty());
  // Added later, but some interpreters that the tag admits do not export it at all.
  Wheel newer = wheel("cp37-abi3", import("PyType_GetModuleByDef"));
  CHECK(newer.judged(check_stable_abi) == Lines{"warning ABI-002"});
  CHECK(newer.evidence(check_stable_abi)[0].find("not exported by 3.7, 3.8") != std::string::npos);
  // Added later, but exported by all of them by accident.
  CHECK(wheel("cp38-abi3", import("PyObject_GetBuffer")).judged(check_stable_abi) ==
        Lines{"note ABI-002"});
  // Never in it; gone in a later release.
  CHECK(wheel("cp38-abi3", import("_PyThreadState_UncheckedGet")).judged(check_stable_abi) ==
        Lines{"warning ABI-002"});
  // What no relocation refers to, what is weak and what promises no abi3 is not judged.
  MadeSymbol unused = import("_PyThreadState_UncheckedGet");
  unused.relocations = used_by_none;
  CHECK(wheel("cp38-abi3", unused).judged(check_stable_abi).empty());
  CHECK(wheel("cp38-abi3", import("_PyThreadState_UncheckedGet", STB_WEAK))
            .judged(check_stable_abi)
            .empty());
  CHECK(wheel("cp38-cp38", import("_PyThreadState_UncheckedGet")).judged(check_stable_abi).empty());
}

TEST_CASE("OBJ-001 to OBJ-003: stacks and segments") {
  Wheel wheel("a-1" + linux_tag);
  ElfFacts& elf = wheel.object("a/libx.so");
  CHECK(wheel.judged(check_objects).empty());
  elf.stack_flags = PF_R | PF_W | PF_X;
  CHECK(wheel.judged(check_objects) == Lines{"warning OBJ-001"});
  elf.stack_flags.reset();  // glibc's default is executable on x86-64 only
  CHECK(wheel.judged(check_objects) == Lines{"warning OBJ-001"});
  elf.machine = EM_AARCH64;
  CHECK(wheel.judged(check_objects).empty());
  elf.writable_code = true;
  CHECK(wheel.judged(check_objects) == Lines{"warning OBJ-002"});
  elf.writable_code = false;
  elf.text_relocations = true;
  CHECK(wheel.judged(check_objects) == Lines{"warning OBJ-003"});
}

TEST_CASE("OBJ-004 to OBJ-006: search paths") {
  struct Case {
    const char* path;
    Lines judged;
  };
  for (const Case& each : {Case{"$ORIGIN", {}},
                           {"${ORIGIN}/../b.libs", {}},
                           {"$ORIGIN/../../nvidia/cu13/lib", {}},
                           {"", {}},  // ignored as a whole
                           {"/usr/local/cuda/lib64", {"note OBJ-004"}},
                           {"$ORIGIN:/tmp/build/lib", {"warning OBJ-004"}},
                           {"/tmpfs/x", {"note OBJ-004"}},
                           {"lib", {"note OBJ-005"}},
                           {"$ORIGIN:", {"note OBJ-005"}},
                           {":$ORIGIN", {"note OBJ-005"}},
                           {"$ORIGIN/../../../..", {"note OBJ-006"}},
                           {"$ORIGIN/../../../lib/../..", {"note OBJ-006"}}}) {
    CAPTURE(each.path);
    Wheel wheel("a-1" + linux_tag);
    wheel.object("a/b/libx.so").runpath = each.path;
    CHECK(wheel.judged(check_objects) == each.judged);
    Wheel older("a-1" + linux_tag);
    older.object("a/b/libx.so").rpath = each.path;
    CHECK(older.judged(check_objects) == each.judged);
  }
}

TEST_CASE("OBJ-007: an exported copy of libstdc++") {
  std::vector<MadeSymbol> strong, weak;
  for (const auto& [name, bits] : export_table("libstdcxx")->names) {
    if (!name.starts_with("_ZNSt") || strong.size() == 20) continue;
    strong.push_back({std::string(name)});
    weak.push_back({std::string(name)});
    weak.back().binding = STB_WEAK;
  }
  REQUIRE(strong.size() == 20);
  auto judged = [](std::vector<MadeSymbol> symbols) {
    Wheel wheel("a-1" + linux_tag);
    wheel.object("a/libx.so", std::move(symbols));
    return wheel.judged(check_objects);
  };
  CHECK(judged(strong) == Lines{"note OBJ-007"});
  CHECK(judged(weak).empty());  // instances of templates, as every C++ object has
  CHECK(judged({strong[0]}).empty());
}

TEST_CASE("DEP-001 and DEP-002: declared packages and needed libraries") {
  auto judged = [](Lines requirements, Lines needed) {
    Wheel wheel("a-1" + linux_tag);
    wheel.module("a/m.so", {}, std::move(needed));
    wheel.package().requirements = std::move(requirements);
    return wheel.judged(check_dependencies);
  };
  CHECK(judged({}, {"libcudart.so.12"}) == Lines{"note DEP-001"});
  CHECK(judged({"nvidia-cuda-runtime-cu12>=12"}, {"libcudart.so.12"}).empty());
  CHECK(judged({"torch"}, {"libcudart.so.12", "libc10.so"}).empty());
  CHECK(judged({}, {"libc10.so"}) == Lines{"note DEP-001"});
  CHECK(judged({}, {"libcuda.so.1", "libm.so.6", "libunknown.so.1"}).empty());
  CHECK(judged({"nvidia-nccl-cu12"}, {"libm.so.6"}) == Lines{"note DEP-002"});
  CHECK(judged({"nvidia-nccl-cu12"}, {"libnccl.so.2"}).empty());
  CHECK(judged({"nvidia-nccl-cu12; extra == 'x'", "nvidia-ml-py", "numpy"}, {}).empty());
}

TEST_CASE("the platform floor is the lowest policy that holds every version and library") {
  Rules rules = load_rules();
  auto floor = [&](Lines versions, Lines needed, std::uint16_t machine = EM_X86_64) {
    InputFacts input;
    std::vector<FileFacts>& files = input.files;
    files.resize(2);
    files[0].path = "a/m.so";
    files[1].path = "a.libs/libown.so.1";
    for (FileFacts& file : files) file.elf.machine = machine;
    files[0].elf.needed = std::move(needed);
    files[0].elf.version_needs = {{"libc.so.6", {}}};
    for (const std::string& name : versions) {
      files[0].elf.version_needs[0].versions.push_back(needed_version(name, 2));
    }
    return lowest_policy(rules, input);
  };
  CHECK(floor({"GLIBC_2.2.5"}, {"libc.so.6"}) == "manylinux_2_5");
  CHECK(floor({"GLIBC_2.14"}, {}) == "manylinux_2_17");
  CHECK(floor({"GLIBC_2.28", "GLIBCXX_3.4.22"}, {"libown.so.1"}) == "manylinux_2_28");
  CHECK(floor({"GLIBCXX_3.4.25"}, {}) == "manylinux_2_31");
  CHECK(floor({"CXXABI_TM_1"}, {}) == "manylinux_2_17");
  CHECK(floor({"GLIBC_ABI_DT_RELR"}, {}) == "manylinux_2_36");
  CHECK(floor({"GLIBC_2.17"}, {}, EM_AARCH64) == "manylinux_2_17");
  CHECK(floor({"GLIBC_PRIVATE"}, {}) == "");
  CHECK(floor({}, {"libcudart.so.12"}) == "");
  CHECK(lowest_policy(rules, InputFacts{}) == "");
}

TEST_CASE("a static executable fits every policy") {
  InputFacts input;
  FileFacts& program = input.programs.emplace_back();
  program.kind = FileKind::not_dynamic;
  program.elf.machine = EM_X86_64;
  CHECK(lowest_policy(load_rules(), input) == "manylinux_2_5");
}

TEST_CASE("an executable of a wheel counts for its floor as a library does") {
  Rules rules = load_rules();
  InputFacts input;
  FileFacts& program = input.programs.emplace_back();
  program.path = "../../../bin/tool";
  program.elf.machine = EM_X86_64;
  program.elf.version_needs = {{"libc.so.6", {needed_version("GLIBC_2.34", 2)}}};
  CHECK(lowest_policy(rules, input) == "manylinux_2_34");
  Wheel wheel("a-1-py3-none-manylinux_2_28_x86_64.whl");
  wheel.stage.facts.inputs[0].programs = input.programs;
  auto judged = [&] { return wheel.judged([](const Run& run) { return check_floors(run); }); };
  CHECK(judged() == Lines{"warning VER-002"});
  wheel.stage.facts.inputs[0].programs[0].elf.version_needs[0].versions[0].name = "GLIBC_2.28";
  CHECK(judged().empty());
}

TEST_CASE("VER-002: a tag without a policy of its own promises its own glibc (PEP 600)") {
  auto judged = [](const std::string& tag, const std::string& version) {
    Wheel wheel("a-1-cp312-cp312-" + tag + ".whl");
    wheel.module("a/m.so").version_needs = {{"libc.so.6", {needed_version(version, 2)}}};
    return wheel.judged([](const Run& run) { return check_floors(run); });
  };
  CHECK(judged("manylinux_2_25_x86_64", "GLIBC_2.25").empty());
  CHECK(judged("manylinux_2_25_x86_64", "GLIBC_2.26") == Lines{"warning VER-002"});
  CHECK(judged("manylinux_2_24_x86_64", "GLIBC_2.25") == Lines{"warning VER-002"});
  CHECK(judged("manylinux_2_25_x86_64.manylinux2014_x86_64", "GLIBC_2.25") ==
        Lines{"warning VER-002"});
  CHECK(judged("manylinux_2_25_x86_64", "GLIBCXX_3.4.23") == Lines{"warning VER-002"});
}

TEST_CASE("VER-005: names that the policy of the tag keeps private to a library that it allows") {
  for (bool needed : {true, false}) {
    Wheel wheel("a-1-cp312-cp312-manylinux_2_28_x86_64.whl");
    MadeSymbol weak{"_tr_tally", false, VER_NDX_GLOBAL, STB_WEAK};
    wheel.module("a/m.so", {{"_tr_align", false}, weak},
                 needed ? Lines{"libz.so.1"} : Lines{"libown.so"});
    Lines judged = wheel.judged([](const Run& run) { return check_floors(run); });
    std::vector<Finding> findings =
        wheel.findings([](const Run& run) { return check_floors(run); });
    if (needed) CHECK(findings.at(0).evidence == Lines{"_tr_align of libz.so.1"});
    CHECK(judged == (needed ? Lines{"warning VER-005"} : Lines{}));
    CHECK(lowest_policy(load_rules(), wheel.stage.facts.inputs[0]) == "");
  }
}

TEST_CASE("VER-002: versions that are no number are judged as well") {
  Wheel wheel("a-1-cp312-cp312-manylinux_2_28_x86_64.whl");
  ElfFacts& elf = wheel.module("a/m.so");
  auto judged = [&] { return wheel.judged([](const Run& run) { return check_floors(run); }); };
  elf.version_needs = {{"libc.so.6", {needed_version("GLIBC_ABI_DT_RELR", 2)}}};
  CHECK(judged() == Lines{"warning VER-002"});
  elf.version_needs = {{"libstdc++.so.6", {needed_version("CXXABI_TM_1", 2)}}};
  CHECK(judged().empty());
}

TEST_CASE("OBJ-008: an object that asks for more than the baseline processor") {
  for (std::uint32_t bits : {0u, 1u, 3u, 15u}) {
    CAPTURE(bits);
    bool told = bits > 1;
    Wheel wheel("a-1-cp312-cp312-manylinux_2_17_x86_64.whl");
    wheel.module("a/_C.cpython-312-x86_64-linux-gnu.so").isa_needed = bits;
    Lines lines = wheel.judged(check_objects);
    CHECK((std::find(lines.begin(), lines.end(), "warning OBJ-008") != lines.end()) == told);
  }
}
