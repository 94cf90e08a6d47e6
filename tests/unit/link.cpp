// Load plans and bindings, on scenes built by tests/scenes.cmake and on facts changed by hand. The
// real loader is asked the same questions by tests/oracle/loader.py.
#include "link/link.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "link/process.h"
#include "support/fixtures.h"
#include "support/made_object.h"

using namespace wheelvet;
using namespace wheelvet::test;

using Texts = std::vector<std::string>;

namespace {

// One root loaded as a Python module is: RTLD_NOW | RTLD_LOCAL.
struct Loaded {
  Stage stage;
  Link link;

  explicit Loaded(const std::string& folder, const std::string& root = "libroot.so") {
    stage.add_folder(folder);
    load(root);
  }
  explicit Loaded(Stage&& made, const std::string& root = "libroot.so") : stage(std::move(made)) {
    load(root);
  }

  void load(const std::string& root) {
    const Scene& scene = stage.set();
    link.plan = start_process(scene);
    std::size_t first = open_file(scene, link.plan, scene.by_path.at(root), false, "");
    LinkContext context(scene);
    bind(context, link, first, true);
  }

  // Objects after the interpreter's, in load order.
  // The interpreter and what every process holds come before the root.
  static constexpr std::size_t before = 4;
  Texts order() const {
    Texts out;
    for (std::size_t i = before; i < link.plan.objects.size(); ++i)
      out.push_back(link.plan.objects[i].name);
    return out;
  }
  const PlannedObject& object(const std::string& name) const {
    for (const PlannedObject& each : link.plan.objects) {
      if (each.name == name) return each;
    }
    throw std::runtime_error("not in the plan: " + name);
  }
  const Binding& binding(const std::string& symbol) const {
    for (const Binding& each : link.bindings) {
      if (elf_of(stage.scene, link.plan.objects[each.object])->symbols.name(each.symbol) == symbol)
        return each;
    }
    throw std::runtime_error("no binding: " + symbol);
  }
  bool has_binding(const std::string& symbol) const {
    try {
      binding(symbol);
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  }
  std::string provider(const std::string& symbol) const {
    std::size_t index = binding(symbol).provider;
    return index == none ? "" : link.plan.objects[index].name;
  }
  Outcome outcome(const std::string& symbol) const { return binding(symbol).outcome; }
};

Symbol symbol_named(const ElfFacts& elf, std::string_view name) {
  for (std::size_t i = 1; i < elf.symbols.count; ++i) {
    if (elf.symbols.name(i) == name) return elf.symbols.at(i);
  }
  throw std::runtime_error("no such symbol");
}

std::size_t index_of(const ElfFacts& elf, std::string_view name) {
  for (std::size_t i = 1; i < elf.symbols.count; ++i) {
    if (elf.symbols.name(i) == name) return i;
  }
  throw std::runtime_error("no such symbol");
}

}  // namespace

TEST_CASE("an RPATH serves the grandchildren of whoever has it") {
  Loaded it("rpath_grandchild");
  CHECK(it.order() == Texts{"libroot.so", "lib/libmid.so", "lib/libleaf.so"});
  CHECK(it.object("lib/libmid.so").found == Found::rpath);
  CHECK(it.object("lib/libleaf.so").found == Found::rpath);
  CHECK(it.provider("leaf") == "lib/libleaf.so");
}

TEST_CASE("a RUNPATH serves its owner's needs only") {
  Loaded it("runpath_grandchild");
  CHECK(it.order() == Texts{"libroot.so", "lib/libmid.so", "libleaf.so"});
  CHECK(it.object("lib/libmid.so").found == Found::runpath);
  CHECK(it.object("libleaf.so").found == Found::absent);
  CHECK(it.object("libleaf.so").file == none);
}

TEST_CASE("a RUNPATH of the requester switches the inherited RPATH off") {
  Loaded it("runpath_switches_off");
  CHECK(it.object("libleaf.so").found == Found::absent);
  CHECK(it.object("libleaf.so").looked_in == Texts{"lib/nowhere"});
}

TEST_CASE("a RUNPATH between the RPATH's owner and the requester does not break the chain") {
  Loaded it("runpath_in_between");
  CHECK(it.object("lib/liblow.so").found == Found::runpath);
  CHECK(it.object("lib/libleaf.so").found == Found::rpath);
}

TEST_CASE("'..' leads out of a folder that is there and nowhere out of one that is not") {
  CHECK(Loaded("parent_of_there").object("lib/libleaf.so").found == Found::rpath);
  CHECK(Loaded("parent_of_missing").object("libleaf.so").found == Found::absent);
}

TEST_CASE("libraries are mapped breadth first, and the first folder of a path wins") {
  Loaded it("breadth_first");
  CHECK(it.order() == Texts{"libroot.so", "lib/libb1.so", "lib/libb2.so", "lib/libc1.so"});
  CHECK(it.link.plan.loads.back().scope == std::vector<std::size_t>{4, 5, 6, 7});
  CHECK(it.object("lib/libb2.so").looked_in == Texts{"none", "lib"});
}

TEST_CASE("an object of the wanted soname that is loaded wins over any search") {
  Loaded it("loaded_soname_wins");
  CHECK(it.order() == Texts{"libroot.so", "one/libdup.so", "two/libuser.so"});
  CHECK(it.outcome("late") == Outcome::missing);
}

TEST_CASE("a file is known by the soname inside it and by the name it was asked for") {
  Loaded it("soname_of_another_file");
  CHECK(it.order() == Texts{"libroot.so", "lib/libfile.so", "lib/libuser.so"});
  CHECK(it.provider("leaf") == "lib/libfile.so");
  CHECK(loaded_as(it.stage.scene, it.link.plan, "libfile.so") == 5);
  CHECK(loaded_as(it.stage.scene, it.link.plan, "libleaf.so") == 5);
  CHECK(loaded_as(it.stage.scene, it.link.plan, "libnone.so") == none);
}

TEST_CASE("a library that is nowhere is kept in the plan and the load goes on") {
  Loaded it("missing_library");
  CHECK(it.order() == Texts{"libroot.so", "libgone.so", "lib/libpresent.so"});
  CHECK(it.object("libgone.so").found == Found::absent);
  CHECK(it.provider("present") == "lib/libpresent.so");
  // Its owner is not there, so the name is not called missing.
  CHECK(it.outcome("gone") == Outcome::undecided);
  CHECK(it.binding("gone").owner == "libgone.so");
}

TEST_CASE("names that no loaded object exports are missing, in the root and below it") {
  Loaded it("missing_symbol");
  CHECK(it.outcome("absent_root") == Outcome::missing);
  CHECK(it.outcome("absent_deep") == Outcome::missing);
  CHECK(it.provider("deep") == "lib/libdeep.so");
  CHECK(Loaded("missing_data").outcome("absent_data") == Outcome::missing);
}

TEST_CASE("a weak undefined name may stay without a definition") {
  Loaded it("weak_undefined");
  CHECK(it.outcome("absent") == Outcome::weak);
}

TEST_CASE("a symbol that no relocation refers to is not needed") {
  Loaded it("unused_undefined");
  const ElfFacts& elf = it.stage.file("libroot.so").elf;
  Symbol symbol = symbol_named(elf, "absent_but_unused");
  CHECK(symbol.binding == STB_GLOBAL);
  CHECK(symbol.relocations == used_by_none);
  CHECK_FALSE(it.has_binding("absent_but_unused"));
}

TEST_CASE("an undefined name of hidden visibility is not looked up") {
  Stage stage;
  stage.add_folder("missing_data");
  ElfFacts& elf = stage.file("libroot.so").elf;
  std::size_t at = index_of(elf, "absent_data") * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_other);
  elf.symbols.symbols[at] = STV_HIDDEN;
  Loaded it(std::move(stage));
  CHECK_FALSE(it.has_binding("absent_data"));
}

TEST_CASE("a definition anywhere in the root's closure serves any object of it") {
  Loaded it("found_in_sibling_closure");
  CHECK(it.provider("p") == "lib/libp.so");
  CHECK(Loaded("sysv_hash_only").provider("leaf") == "lib/libleaf.so");
  CHECK(Loaded("thread_local").provider("t") == "lib/libt.so");
}

TEST_CASE("a cycle of needs is loaded once") {
  Loaded it("cycle");
  CHECK(it.order() == Texts{"libroot.so", "libb.so", "liba.so"});
  CHECK(it.provider("a") == "liba.so");
  CHECK(it.provider("b") == "libb.so");
}

TEST_CASE("an RTLD_LOCAL library outside the closure does not count, an RTLD_GLOBAL one does") {
  for (bool global : {false, true}) {
    CAPTURE(global);
    Stage stage;
    stage.add_folder("global_or_local");
    const Scene& scene = stage.set();
    Link link;
    link.plan = start_process(scene);
    open_file(scene, link.plan, scene.by_path.at("libprovider.so"), global, "");
    std::size_t user = open_file(scene, link.plan, scene.by_path.at("libuser.so"), false, "");
    LinkContext context(scene);
    bind(context, link, user, true);
    REQUIRE(link.bindings.size() == 1);
    CHECK(link.bindings[0].outcome == (global ? Outcome::bound : Outcome::missing));
  }
}

TEST_CASE("a library loaded locally becomes global when it is opened again with RTLD_GLOBAL") {
  Stage stage;
  stage.add_folder("global_or_local");
  const Scene& scene = stage.set();
  LoadPlan plan = start_process(scene);
  std::size_t file = scene.by_path.at("libprovider.so");
  open_file(scene, plan, file, false, "");
  std::size_t objects = plan.objects.size();
  std::size_t global = start_process(scene).global_scope.size();
  CHECK(plan.global_scope.size() == global);
  open_file(scene, plan, file, true, "");
  CHECK(plan.objects.size() == objects);
  CHECK(plan.global_scope.size() > global);
}

TEST_CASE(
    "$ORIGIN is the folder of the name as opened, so that a linked copy has other neighbours") {
  Stage stage;
  stage.add_folder("rpath_grandchild");
  stage.add("elsewhere/libroot.so", stage.file("libroot.so").elf);
  Loaded it(std::move(stage), "elsewhere/libroot.so");
  CHECK(it.object("libmid.so").found == Found::absent);
  CHECK(it.object("libmid.so").looked_in == Texts{"elsewhere/lib"});
}

TEST_CASE("a file of another class or machine is passed over, any other bad file ends the search") {
  for (FileKind kind : {FileKind::other_class, FileKind::other_machine}) {
    Stage stage;
    stage.add_folder("breadth_first");
    stage.file("lib/libb2.so").kind = kind;
    Loaded it(std::move(stage));
    CHECK(it.object("other/libb2.so").found == Found::rpath);
  }
  for (FileKind kind : {FileKind::text, FileKind::empty, FileKind::other_endian,
                        FileKind::object_file, FileKind::linker_script}) {
    Stage stage;
    stage.add_folder("breadth_first");
    stage.file("lib/libb2.so").kind = kind;
    Loaded it(std::move(stage));
    CHECK(it.object("lib/libb2.so").found == Found::rpath);
    CHECK(elf_of(it.stage.scene, it.object("lib/libb2.so")) == nullptr);
  }
}

TEST_CASE("a version that the loaded library defines is found") {
  Loaded it("version_found");
  CHECK(it.link.mismatches.empty());
  CHECK(it.outcome("one") == Outcome::bound);
  CHECK(it.binding("one").version == "V1");
  CHECK(it.binding("two").version == "V2");
}

TEST_CASE("a version that it does not define is a mismatch, with the library and the version") {
  Loaded it("version_missing");
  REQUIRE(it.link.mismatches.size() == 1);
  CHECK(it.link.mismatches[0].version == "V2");
  CHECK(it.link.mismatches[0].file == "libversioned.so");
  CHECK(it.link.plan.objects[it.link.mismatches[0].provider].name == "lib/libversioned.so");
  CHECK(it.outcome("one") == Outcome::bound);
  CHECK(it.outcome("two") == Outcome::missing);
}

TEST_CASE("a version need marked weak is no mismatch") {
  Stage stage;
  stage.add_folder("version_weak");
  for (VersionNeed& need : stage.file("libroot.so").elf.version_needs) {
    for (NeededVersion& version : need.versions) {
      if (version.name == "V2") version.weak = true;  // older linkers do not set VER_FLG_WEAK
    }
  }
  Loaded it(std::move(stage));
  CHECK(it.link.mismatches.empty());
  CHECK(it.outcome("two") == Outcome::weak);
}

TEST_CASE("the wanted version is needed even where the name exists under another one") {
  Loaded it("version_moved");
  CHECK(it.link.mismatches.empty());  // V1 is defined, though empty
  CHECK(it.outcome("one") == Outcome::missing);
}

TEST_CASE("a version that is not the default serves those that ask for it") {
  Loaded it("version_old_form");
  CHECK(it.outcome("one") == Outcome::bound);
}

TEST_CASE(
    "version needs are per file name, and a need of a file that is not loaded is its own "
    "mismatch") {
  Stage stage;
  stage.add_folder("version_found");
  stage.file("libroot.so").elf.version_needs[0].file = "libelsewhere.so";
  Loaded it(std::move(stage));
  REQUIRE(it.link.mismatches.size() == 1);
  CHECK(it.link.mismatches[0].provider == none);
  CHECK(it.link.mismatches[0].file == "libelsewhere.so");
}

TEST_CASE("a provider without version definitions satisfies any need") {
  Stage stage;
  stage.add_folder("version_missing");
  ElfFacts& elf = stage.file("lib/libversioned.so").elf;
  elf.version_definitions.clear();
  elf.symbols.versions.clear();
  Loaded it(std::move(stage));
  CHECK(it.link.mismatches.empty());
  CHECK(it.outcome("one") == Outcome::bound);
}

TEST_CASE(
    "the driver, plain system libraries and declared packages are assumed, others are absent") {
  MadeObject root;
  root.symbols = {{.name = "cuInit", .defined = false, .relocations = used_by_plt},
                  {.name = "cuNoSuchFunction", .defined = false, .relocations = used_by_plt},
                  {.name = "ncclCommInitRank", .defined = false, .relocations = used_by_plt},
                  {.name = "nobody_knows", .defined = false, .relocations = used_by_plt},
                  {.name = "PyModule_Create2", .defined = false, .relocations = used_by_plt},
                  {.name = "PyNo_SuchFunction", .defined = false, .relocations = used_by_plt}};
  for (bool declared : {false, true}) {
    CAPTURE(declared);
    ElfFacts elf = root.facts();
    elf.needed = {"libcuda.so.1", "libnccl.so.2", "libc.so.6", "libnobodys.so.9"};
    Stage stage;
    stage.add("libroot.so", elf);
    if (declared) stage.add_package("a", "1").requirements = {"nvidia-nccl-cu12==2.27.5"};
    Loaded it(std::move(stage));
    CHECK(it.object("libcuda.so.1").found == Found::driver);
    CHECK(it.object("libnccl.so.2").found == (declared ? Found::declared : Found::absent));
    CHECK(it.object("libc.so.6").found == Found::system);
    CHECK(it.object("libnobodys.so.9").found == Found::absent);
    CHECK(it.outcome("cuInit") == Outcome::assumed);
    CHECK(it.outcome("PyModule_Create2") == Outcome::assumed);
    CHECK(it.outcome("PyNo_SuchFunction") == Outcome::missing);
    CHECK(it.outcome("nobody_knows") == Outcome::undecided);
    CHECK(it.binding("nobody_knows").owner == "libnobodys.so.9");
    CHECK(it.outcome("ncclCommInitRank") == (declared ? Outcome::assumed : Outcome::undecided));
  }
}

TEST_CASE(
    "roots are modules and what nothing needs; a module stays a root when something needs it") {
  Stage stage;
  stage.add_folder("breadth_first");
  MadeObject module;
  module.symbols = {{.name = "PyInit__C"}};
  stage.add("pkg/_C.abi3.so", module.facts());
  ElfFacts user = module.facts();
  user.needed = {"_C.abi3.so"};
  stage.add("pkg/user.so", user);
  const Scene& scene = stage.set();
  Texts roots;
  for (std::size_t file : find_roots(scene)) roots.push_back(scene.files[file].facts->path);
  CHECK(roots == Texts{"libroot.so", "pkg/_C.abi3.so", "pkg/user.so"});
  CHECK(is_module(stage.file("pkg/_C.abi3.so")));
  CHECK_FALSE(is_module(stage.file("pkg/user.so")));
  CHECK_FALSE(is_module(stage.file("libroot.so")));
}

TEST_CASE("a module that needs torch's libraries is loaded after import torch") {
  MadeObject c10;
  c10.symbols = {{.name = "_ZN3c101fEv"}};
  Stage stage;
  stage.inputs.push_back({});
  stage.facts.inputs.push_back({});
  stage.facts.inputs[1].input = 1;
  auto provide = [&](const std::string& path, ElfFacts elf) {
    FileFacts& file = stage.facts.inputs[1].files.emplace_back();
    file.member = file.path = path;
    file.elf = std::move(elf);
  };
  ElfFacts library = c10.facts();
  library.soname = "libc10.so";
  provide("torch/lib/libc10.so", library);
  ElfFacts deps;
  deps.machine = EM_X86_64;
  deps.type = ET_DYN;
  deps.soname = "libtorch_global_deps.so";
  provide("torch/lib/libtorch_global_deps.so", deps);
  ElfFacts python_module;
  python_module.machine = EM_X86_64;
  python_module.type = ET_DYN;
  python_module.needed = {"libc10.so"};
  python_module.rpath = "$ORIGIN/lib";
  provide("torch/_C.cpython-312-x86_64-linux-gnu.so", python_module);
  PackageFacts& torch = stage.facts.inputs[1].packages.emplace_back();
  torch.name = "torch";
  torch.version = "2.10.0";

  MadeObject root;
  root.symbols = {{.name = "_ZN3c101fEv", .defined = false, .relocations = used_by_plt},
                  {.name = "_ZN3c101gEv", .defined = false, .relocations = used_by_plt}};
  ElfFacts elf = root.facts();
  elf.needed = {"libc10.so"};
  stage.add("libroot.so", elf);
  const Scene& scene = stage.set();
  Links links = link_scene(scene, {true, {}});
  REQUIRE(links.roots.size() == 1);
  const LinkedRoot& linked = links.roots[0];
  CHECK(linked.imports == Texts{"torch"});
  REQUIRE(linked.link.plan.loads.size() == 3);
  CHECK(linked.link.plan.loads[0].what == "torch/lib/libtorch_global_deps.so");
  CHECK(linked.link.plan.loads[0].global);
  CHECK(linked.link.plan.loads[1].what == "torch/_C.cpython-312-x86_64-linux-gnu.so");
  // Without any path of its own it finds libc10.so because torch has loaded it.
  std::size_t bound = 0, missing = 0;
  for (const Binding& binding : linked.link.bindings) {
    bound += binding.outcome == Outcome::bound;
    missing += binding.outcome == Outcome::missing;
  }
  CHECK(bound == 1);
  CHECK(missing == 1);
}

TEST_CASE("every index in a plan lies inside it") {
  for (const char* name : {"rpath_grandchild", "runpath_grandchild", "breadth_first", "cycle",
                           "missing_library", "loaded_soname_wins", "version_missing"}) {
    Loaded it(name);
    const LoadPlan& plan = it.link.plan;
    for (std::size_t i = 0; i < plan.objects.size(); ++i) {
      const PlannedObject& object = plan.objects[i];
      CHECK((object.requested_by == none || object.requested_by < i));
      for (std::size_t needed : object.needed) CHECK(needed < plan.objects.size());
      CHECK((object.file == none || object.file < it.stage.scene.files.size()));
    }
    for (const Load& load : plan.loads) {
      for (std::size_t member : load.scope) CHECK(member < plan.objects.size());
    }
    for (const Binding& binding : it.link.bindings) {
      CHECK(binding.object < plan.objects.size());
      CHECK((binding.provider == none) ==
            (binding.outcome != Outcome::bound && binding.outcome != Outcome::assumed));
    }
  }
}

namespace {

// The root of "cycle", where liba.so is known by what a release exports of the names asked for.
struct BesideRelease {
  Stage stage;
  std::shared_ptr<KnownExports> known = std::make_shared<KnownExports>();

  BesideRelease() {
    stage.add_folder("cycle");
    auto asked = std::make_shared<std::unordered_set<std::string_view>>();
    *asked = {"a", "nobodys"};
    known->asked = asked;
    FileFacts& file = stage.file("liba.so");
    file.known = known;
    file.elf.symbols = {};
  }

  // `before`: a library that is not at hand, opened for all to see.
  Link bound(BindMemory* memory, const std::string& before = "libnccl.so.2") {
    const Scene& scene = stage.set();
    LinkContext context(scene, memory);
    Link link;
    link.plan = start_process(scene);
    open_assumed(scene, link.plan, library_of(*scene.rules, before), "lib/" + before, "");
    link.plan.global_scope.push_back(link.plan.loads.back().root);
    bind(context, link, 0, false);
    std::size_t load = open_file(scene, link.plan, scene.by_path.at("libroot.so"), false, "");
    bind(context, link, load, false);
    return link;
  }
};

bool same(const Link& a, const Link& b) {
  auto texts = [](const Link& link) {
    Texts out = {fmt::format("{} {}", link.bound, link.assumed)};
    for (const Binding& each : link.bindings) {
      out.push_back(fmt::format("{} {} {} {} {}", each.object, each.symbol,
                                static_cast<int>(each.outcome), each.provider, each.owner));
    }
    return out;
  };
  return texts(a) == texts(b);
}

}  // namespace

TEST_CASE("bound from memory is bound anew, until a release has other names of those asked for") {
  BesideRelease it;
  BindMemory memory;
  it.known->exported = {"a"};
  Link with = it.bound(nullptr);
  CHECK(with.bindings.empty());
  CHECK(same(it.bound(&memory), with));
  std::size_t kept = memory.results.size();
  CHECK(same(it.bound(&memory), with));
  CHECK(memory.results.size() == kept);

  it.known->exported = {"a", "nobodys"};  // a name that no file imports
  CHECK(same(it.bound(&memory), with));
  CHECK(memory.results.size() == kept);

  it.known->exported = {};
  Link without = it.bound(nullptr);
  REQUIRE(without.bindings.size() == 1);
  CHECK(without.bindings[0].outcome == Outcome::missing);
  CHECK(same(it.bound(&memory), without));
  CHECK(memory.results.size() == kept + 1);

  it.known->exported = {"a"};
  CHECK(same(it.bound(&memory), with));
}

TEST_CASE("a library before the load that has nothing asked for is no part of what is remembered") {
  BesideRelease it;
  it.known->exported = {"a"};
  BindMemory memory;
  Link alone = it.bound(&memory);
  std::size_t kept = memory.results.size();
  CHECK(same(it.bound(&memory, "libcupti.so.12"), alone));
  CHECK(memory.results.size() == kept + 1);  // of the library's own load
}
