// What Python source opens and imports before a root is loaded; findings on libraries that are
// opened at run time, owned twice or used by nobody.
#include "link/opener.h"

#include <doctest/doctest.h>

#include "checks/alternatives.h"
#include "checks/checks.h"
#include "checks/explain.h"
#include "facts/dlopen_note.h"
#include "link/link.h"
#include "support/fixtures.h"
#include "support/made_object.h"

using namespace wheelvet;
using namespace wheelvet::test;

namespace {

using Texts = std::vector<std::string>;

// One package "pkg" with libraries made by hand and Python files told by what was read of them.
struct Package {
  Stage stage;
  Links links;

  Package() {
    stage.facts.inputs[0].python_read = true;
    stage.add_package("pkg", "1");
  }
  ElfFacts& library(const std::string& path, Texts needed = {}, bool module = false) {
    MadeObject made;
    if (module) made.symbols = {{.name = "PyInit_" + std::string(module_name(path))}};
    ElfFacts& elf = stage.add(path, made.facts());
    if (!module) elf.soname = path.substr(path.rfind('/') + 1);
    elf.needed = std::move(needed);
    return elf;
  }
  void python(const std::string& path, std::vector<PythonOpens> opens, Texts imports = {}) {
    stage.facts.inputs[0].python.push_back({path, std::move(imports), std::move(opens)});
  }
  const LinkedRoot& root(const std::string& path, bool alone = false) {
    const Scene& scene = stage.set();
    stage.scene.exact = alone;
    LinkOptions options;
    options.alone = alone;
    links = link_scene(scene, options);
    for (const LinkedRoot& each : links.roots) {
      if (scene.files[each.file].facts->path == path) return each;
    }
    throw std::runtime_error("no such root: " + path);
  }
  Report report() {
    const Scene& scene = stage.set();
    links = link_scene(scene, {});
    Run run{stage.inputs, stage.facts, scene, links};
    std::vector<RootView> roots = view_roots(run);
    return explain(run, roots, run_checks(run, roots), false);
  }
  Texts ids(const Report& of) const {
    Texts out;
    for (const Finding& each : of.findings) out.push_back(each.id);
    return out;
  }
};

PythonOpens opens(const std::string& pattern, bool conditional = false) {
  PythonOpens out;
  out.pattern = pattern;
  out.conditional = conditional;
  out.line = 7;
  return out;
}

bool has(const Texts& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

TEST_CASE("a star of a pattern is any text, folders too") {
  CHECK(fits_pattern("pkg/lib*.so", "pkg/lib/x.so"));
  CHECK(fits_pattern("*", "anything"));
  CHECK(fits_pattern("a*b*c", "aXbYbZc"));
  CHECK_FALSE(fits_pattern("a*b", "a*bc"));
  CHECK_FALSE(fits_pattern("", "a"));
  CHECK(fits_pattern("", ""));
}

TEST_CASE("the call that opens a library is named, one that happens for sure first") {
  Package it;
  it.library("pkg/libfoo.so");
  it.library("pkg/libbar.so");
  it.python("pkg/a.py", {opens("pkg/libfoo*.so", true), opens("*.so"), opens("pkg/lib*.so")});
  it.python("pkg/b.py", {opens("pkg/libfoo.so")});
  it.stage.set();
  std::optional<Opener> opener =
      opener_of(it.stage.scene, it.stage.scene.by_path.at("pkg/libfoo.so"));
  REQUIRE(opener);
  CHECK(opener->place == "pkg/b.py:7");
  CHECK_FALSE(opener->conditional);
  // A pattern that fits every library says nothing of this one.
  CHECK_FALSE(opener_of(it.stage.scene, it.stage.scene.by_path.at("pkg/libbar.so")));
}

TEST_CASE("imports before a module are those of the packages above it and what they import") {
  Package it;
  it.library("pkg/sub/_C.so", {}, true);
  it.python("pkg/__init__.py", {}, {"pkg.tools", "json"});
  it.python("pkg/tools.py", {}, {"torch"});
  it.python("pkg/other.py", {}, {"numpy"});
  it.stage.set();
  std::set<std::string> before =
      imports_before(it.stage.scene, it.stage.scene.by_path.at("pkg/sub/_C.so"));
  CHECK(before.contains("torch"));
  CHECK(before.contains("json"));
  CHECK_FALSE(before.contains("numpy"));
}

TEST_CASE("a library that no path reaches is opened first when the source opens it") {
  Package it;
  it.library("pkg/_C.so", {"libfoo.so"}, true);
  it.library("pkg/lib/libfoo.so");
  CHECK(it.root("pkg/_C.so").first.empty());  // nothing opens it
  it.python("pkg/__init__.py", {opens("pkg/lib/libfoo.so")});
  const LinkedRoot& root = it.root("pkg/_C.so");
  REQUIRE(root.first.size() == 1);
  CHECK(root.first[0].by == "pkg/__init__.py:7");
  CHECK_FALSE(fails(it.stage.scene, root, it.links));
  CHECK(fails(it.stage.scene, it.root("pkg/_C.so", true), it.links));  // dlopen alone
}

TEST_CASE("what is opened first and fails is gone again, and the root says so") {
  Package it;
  it.library("pkg/_C.so", {"libfoo.so"}, true);
  it.library("pkg/lib/libfoo.so", {"libnobodys.so.9"});
  it.python("pkg/__init__.py", {opens("pkg/lib/libfoo.so")});
  Report report = it.report();
  CHECK(report.verdict == Status::fails);
  bool said = false;
  for (const Finding& each : report.findings) {
    said = said || each.title == "libfoo.so, which is opened before, does not load itself";
  }
  CHECK(said);
}

TEST_CASE("an error of a library that nothing is known to open is a warning, else an error") {
  for (bool opened : {false, true}) {
    CAPTURE(opened);
    Package it;
    it.library("pkg/_C.so", {}, true);
    it.library("pkg/libplugin.so", {"libnobodys.so.9"});
    if (opened) it.python("pkg/__init__.py", {opens("pkg/libplugin.so")});
    Report report = it.report();
    CHECK((report.verdict == Status::fails) == opened);
    CHECK(has(it.ids(report), opened ? "LIB-001" : "LIB-010"));
    CHECK(has(it.ids(report), "PKG-002") != opened);
  }
}

TEST_CASE("alternatives that fail each for its own reason are one answer") {
  Package it;
  it.library("pkg/_C.so", {}, true);
  it.library("pkg/libkernel_cu11.so", {"libnobodys.so.11"});
  it.library("pkg/libkernel_cu12.so", {"libnobodys.so.12"});
  Report report = it.report();
  CHECK(report.verdict == Status::fails);
  CHECK(has(it.ids(report), "LIB-009"));
  CHECK_FALSE(has(it.ids(report), "LIB-001"));
  // With one that loads, the others are notes.
  it.library("pkg/libkernel_cu13.so");
  report = it.report();
  CHECK(report.verdict == Status::loads);
  CHECK_FALSE(has(it.ids(report), "LIB-009"));
}

TEST_CASE("NVRTC's builtins are missed when they are on no path, and not when they are beside it") {
  for (bool beside : {false, true}) {
    CAPTURE(beside);
    Package it;
    it.library("pkg/_C.so", {"libnvrtc.so.12"}, true).rpath = "$ORIGIN/lib";
    it.library("pkg/lib/libnvrtc.so.12").runpath = "$ORIGIN";
    it.library(beside ? "pkg/lib/libnvrtc-builtins.so.12.8" : "pkg/far/libnvrtc-builtins.so.12.8");
    CHECK(has(it.ids(it.report()), "DLO-001") != beside);
  }
}

TEST_CASE("a .note.dlopen is read, and one that is no JSON list says nothing") {
  std::vector<DlopenWish> wishes = read_dlopen_note(
      R"([{"soname":["liba.so.1","liba.so.0"],"feature":"x","priority":"required"},{"soname":["libb.so"]},7])");
  REQUIRE(wishes.size() == 2);
  CHECK(wishes[0].sonames == Texts{"liba.so.1", "liba.so.0"});
  CHECK(wishes[0].priority == "required");
  CHECK(wishes[1].priority == "recommended");
  CHECK(read_dlopen_note("{").empty());
  CHECK(read_dlopen_note("").empty());
  CHECK(read_dlopen_note(R"({"soname":["x"]})").empty());

  for (const char* priority : {"required", "recommended", "suggested"}) {
    CAPTURE(priority);
    Package it;
    it.library("pkg/_C.so", {}, true).dlopen_notes = {
        std::string(R"([{"soname":["libnobodys.so.9"],"priority":")") + priority + "\"}]"};
    Report report = it.report();
    bool told = has(it.ids(report), "DLO-001");
    CHECK(told == (std::string(priority) != "suggested"));
  }
}

TEST_CASE("a path that two packages install is told with both owners") {
  Package it;
  it.library("shared/libx.so");
  Stage& stage = it.stage;
  stage.inputs.push_back({});
  stage.inputs[1].target = true;
  stage.facts.inputs.push_back({});
  stage.facts.inputs[1].input = 1;
  stage.facts.inputs[1].packages.push_back({});
  stage.facts.inputs[1].packages[0].name = "other";
  stage.facts.inputs[1].packages[0].version = "2";
  FileFacts& file = stage.facts.inputs[1].files.emplace_back();
  file.member = file.path = "shared/libx.so";
  file.elf = MadeObject{}.facts();
  Report report = it.report();
  REQUIRE(has(it.ids(report), "PKG-001"));
  for (const Finding& each : report.findings) {
    if (each.id != "PKG-001") continue;
    CHECK(each.title == "pkg 1 and other 2 install the same files");
    CHECK(each.objects == Texts{"shared/libx.so"});
  }
}
