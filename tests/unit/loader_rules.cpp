// Rules of the loader that need a machine, a program or other loads, on facts made by hand. The
// real loader is asked about each by tests/oracle/rules.py.
#include <doctest/doctest.h>
#include <elf.h>

#include "link/process.h"
#include "support/fixtures.h"
#include "support/made_object.h"

using namespace wheelvet;
using namespace wheelvet::test;

using Texts = std::vector<std::string>;

namespace {

MadeSymbol defines(const std::string& name, std::uint8_t relocations = used_by_none) {
  return {.name = name, .relocations = relocations};
}
MadeSymbol wants(const std::string& name, std::uint8_t relocations = used_by_plt) {
  return {.name = name, .defined = false, .relocations = relocations};
}

ElfFacts object(const std::string& soname, std::vector<MadeSymbol> symbols, Texts needed = {}) {
  MadeObject made;
  made.symbols = std::move(symbols);
  ElfFacts elf = made.facts();
  elf.soname = soname;
  elf.needed = std::move(needed);
  elf.rpath = "$ORIGIN/lib";
  elf.stack_flags = PF_R | PF_W;
  return elf;
}

// A process on a machine, in which files are opened one after the other.
struct Process {
  Stage stage;
  Link link;
  std::optional<LinkContext> context;

  Process() { stage.machine.given = true; }

  ElfFacts& add(const std::string& path, ElfFacts elf) { return stage.add(path, std::move(elf)); }
  void use_program(const std::string& path) { stage.machine.interpreter = path; }

  std::size_t open(const std::string& path, bool global = false, bool lazy = false) {
    if (!context) {
      stage.set();
      context.emplace(stage.scene);
      link.plan = start_process(stage.scene);
      bind(*context, link, 0, true);
    }
    std::size_t load = open_file(stage.scene, link.plan, stage.scene.by_path.at(path), global, "");
    link.plan.loads[load].lazy = lazy;
    bind(*context, link, load, true);
    return load;
  }

  Texts scope(std::size_t load) const {
    Texts out;
    for (std::size_t index : link.plan.loads[load].scope) {
      out.push_back(link.plan.objects[index].name);
    }
    return out;
  }
  std::string found(const std::string& soname) const {
    std::size_t index = loaded_as(stage.scene, link.plan, soname);
    return index == none ? "" : link.plan.objects[index].name;
  }
  // Who serves `symbol` for the object at `path`; the word for an outcome without a provider.
  std::string provider(const std::string& path, const std::string& symbol) const {
    for (const Binding& each : link.bindings) {
      const PlannedObject& importer = link.plan.objects[each.object];
      if (importer.name != path) continue;
      if (elf_of(stage.scene, importer)->symbols.name(each.symbol) != symbol) continue;
      if (each.provider != none) return link.plan.objects[each.provider].name;
      return each.outcome == Outcome::missing ? "missing" : "weak";
    }
    return "not looked up";
  }
  Texts refusals() const {
    Texts out;
    for (const Refusal& each : link.refusals) {
      out.push_back(link.plan.objects[each.object].name + ": " + each.reason);
    }
    return out;
  }
};

const std::string no_room = ": cannot allocate memory in static TLS block";

ElfFacts with_variable(const std::string& soname, std::uint64_t size, std::uint64_t alignment) {
  ElfFacts elf = object(soname, {{.name = "t",
                                  .type = STT_TLS,
                                  .value = 0,
                                  .relocations = used_by_tls | used_by_static_tls}});
  elf.tls_size = size;
  elf.tls_alignment = alignment;
  return elf;
}

}  // namespace

TEST_CASE("capability folders are searched before the folder itself, the best first") {
  for (const Texts& folders : {Texts{"", "glibc-hwcaps/v2", "glibc-hwcaps/v3"},
                               Texts{"", "glibc-hwcaps/v2"}, Texts{"", "tls"}, Texts{""}}) {
    Process it;
    it.stage.machine.capabilities = {"glibc-hwcaps/v3", "glibc-hwcaps/v2"};
    it.add("root.so", object("root.so", {}, {"libleaf.so"}));
    for (const std::string& folder : folders) {
      it.add("lib/" + folder + (folder.empty() ? "" : "/") + "libleaf.so",
             object("libleaf.so", {}));
    }
    it.open("root.so");
    bool any = folders.back().starts_with("glibc");
    CHECK(it.found("libleaf.so") ==
          "lib/" + (any ? folders.back() + "/" : std::string()) + "libleaf.so");
  }
}

TEST_CASE("LD_LIBRARY_PATH stands between RPATH and RUNPATH") {
  for (bool runpath : {false, true}) {
    Process it;
    it.stage.machine.library_path = {"/path"};
    ElfFacts& root = it.add("root.so", object("root.so", {}, {"libleaf.so"}));
    if (runpath) std::swap(root.rpath, root.runpath);
    it.add("lib/libleaf.so", object("libleaf.so", {}));
    it.add("/path/libleaf.so", object("libleaf.so", {}));
    it.open("root.so");
    CHECK(it.found("libleaf.so") == (runpath ? "/path/libleaf.so" : "lib/libleaf.so"));
  }
}

TEST_CASE("a folder of the needed name ends the search") {
  Process it;
  it.add("root.so", object("root.so", {}, {"libleaf.so"})).rpath = "$ORIGIN/one:$ORIGIN/two";
  it.add("one/libleaf.so/inside.so", object("inside.so", {}));
  it.add("two/libleaf.so", object("libleaf.so", {}));
  it.open("root.so");
  CHECK(it.link.plan.objects.back().found == Found::absent);
}

TEST_CASE("the program's RPATH serves what is opened, unless that has a RUNPATH") {
  for (bool runpath : {false, true}) {
    Process it;
    it.add("/bin/program", object("", {}));
    it.use_program("/bin/program");
    it.add("/bin/lib/libleaf.so", object("libleaf.so", {}));
    ElfFacts& root = it.add("root.so", object("root.so", {}, {"libleaf.so"}));
    root.rpath.reset();
    if (runpath) root.runpath = "$ORIGIN/nowhere";
    it.open("root.so");
    CHECK(it.found("libleaf.so") == (runpath ? "libleaf.so" : "/bin/lib/libleaf.so"));
  }
}

TEST_CASE("what AUXILIARY names stands before its owner, its needs behind everything") {
  Process it;
  it.add("root.so", object("root.so", {}, {"libside.so", "libowner.so"}));
  it.add("lib/libside.so", object("libside.so", {}));
  ElfFacts& owner = it.add("lib/libowner.so", object("libowner.so", {}, {"libdep.so"}));
  owner.auxiliaries = {"libimp.so", "libgone.so"};
  owner.rpath = "$ORIGIN";
  it.add("lib/libimp.so", object("libimp.so", {}, {"libp.so"})).rpath = "$ORIGIN";
  it.add("lib/libp.so", object("libp.so", {}));
  it.add("lib/libdep.so", object("libdep.so", {}));
  std::size_t load = it.open("root.so");
  CHECK(it.scope(load) == Texts{"root.so", "lib/libside.so", "lib/libimp.so", "lib/libowner.so",
                                "lib/libdep.so", "lib/libp.so"});
}

TEST_CASE("what AUXILIARY names and stands further back moves forward, what stands before stays") {
  for (bool before : {false, true}) {
    Process it;
    Texts needed = before ? Texts{"libimp.so", "libowner.so"} : Texts{"libowner.so", "libimp.so"};
    it.add("root.so", object("root.so", {}, {needed[0], needed[1], "libside.so"}));
    ElfFacts& owner = it.add("lib/libowner.so", object("libowner.so", {}));
    owner.auxiliaries = {"libimp.so"};
    owner.rpath = "$ORIGIN";
    it.add("lib/libimp.so", object("libimp.so", {}));
    it.add("lib/libside.so", object("libside.so", {}));
    CHECK(it.scope(it.open("root.so")) ==
          Texts{"root.so", "lib/libimp.so", "lib/libowner.so", "lib/libside.so"});
  }
}

TEST_CASE("what FILTER names must be there") {
  Process it;
  it.add("root.so", object("root.so", {})).filters = {"libgone.so"};
  std::size_t load = it.open("root.so");
  CHECK(load_failed(it.stage.scene, it.link, load));
}

TEST_CASE(
    "a definition loaded before wins over one's own, but for DT_SYMBOLIC and protected ones") {
  Process it;
  it.add("first.so", object("first.so", {defines("f")}));
  it.add("plain.so", object("plain.so", {defines("f", used_by_data)}));
  it.add("symbolic.so", object("symbolic.so", {defines("f", used_by_data)})).symbolic = true;
  MadeSymbol guarded = defines("f", used_by_data);
  guarded.visibility = STV_PROTECTED;
  it.add("protected.so", object("protected.so", {guarded}));
  guarded.visibility = STV_HIDDEN;
  it.add("hidden.so", object("hidden.so", {guarded}));
  it.open("first.so", true);
  for (const char* path : {"plain.so", "symbolic.so", "protected.so", "hidden.so"}) it.open(path);
  CHECK(it.provider("plain.so", "f") == "first.so");
  CHECK(it.provider("symbolic.so", "f") == "symbolic.so");
  CHECK(it.provider("protected.so", "f") == "protected.so");
  CHECK(it.provider("hidden.so", "f") == "not looked up");
}

TEST_CASE("a unique symbol is that of whoever was asked first, RTLD_LOCAL or not") {
  MadeSymbol unique = {
      .name = "u", .binding = STB_GNU_UNIQUE, .type = STT_OBJECT, .relocations = used_by_data};
  Process it;
  it.add("first.so", object("first.so", {unique}));
  it.add("second.so", object("second.so", {unique}));
  it.add("without.so", object("without.so", {wants("u", used_by_data)}));
  for (const char* path : {"first.so", "second.so", "without.so"}) it.open(path);
  CHECK(it.provider("second.so", "u") == "first.so");
  CHECK(it.provider("without.so", "u") == "missing");
}

TEST_CASE("a copy relocation of the program skips the program, everything else finds its copy") {
  MadeSymbol copied = {.name = "data", .type = STT_OBJECT, .relocations = used_by_copy};
  Process it;
  it.add("/bin/program", object("", {copied}, {"libdata.so"}));
  it.use_program("/bin/program");
  it.add("/bin/lib/libdata.so", object("libdata.so", {defines("data", used_by_data)}));
  it.add("root.so", object("root.so", {wants("data", used_by_data)}));
  it.open("root.so");
  CHECK(it.provider("/bin/program", "data") == "/bin/lib/libdata.so");
  CHECK(it.provider("/bin/lib/libdata.so", "data") == "/bin/program");
  CHECK(it.provider("root.so", "data") == "/bin/program");
}

TEST_CASE("bound lazily what is only called may be missing, unless the object is bound at once") {
  Process it;
  it.add("called.so", object("called.so", {wants("f")}));
  it.add("taken.so", object("taken.so", {wants("f", used_by_plt | used_by_data)}));
  it.add("now.so", object("now.so", {wants("f")})).flags = DF_BIND_NOW;
  it.add("now1.so", object("now1.so", {wants("f")})).flags_1 = DF_1_NOW;
  for (const char* path : {"called.so", "taken.so", "now.so", "now1.so"})
    it.open(path, false, true);
  CHECK(it.provider("called.so", "f") == "weak");
  for (const char* path : {"taken.so", "now.so", "now1.so"})
    CHECK(it.provider(path, "f") == "missing");
}

TEST_CASE("NOOPEN refuses dlopen, by name and as a need; at the start it has no meaning") {
  Process it;
  it.add("/bin/program", object("", {}, {"libno.so"}));
  it.use_program("/bin/program");
  it.add("/bin/lib/libno.so", object("libno.so", {})).flags_1 = DF_1_NOOPEN;
  it.add("lib/libnever.so", object("libnever.so", {})).flags_1 = DF_1_NOOPEN;
  it.add("root.so", object("root.so", {}, {"libnever.so"}));
  it.open("root.so");
  CHECK(it.refusals() == Texts{"lib/libnever.so: shared object cannot be dlopen()ed"});
}

TEST_CASE("a stack to be executable is refused from 2.41 on, by flag and by a missing header") {
  for (const char* glibc : {"2.40", "2.41", "2.43"}) {
    Process it;
    it.stage.machine.glibc = glibc;
    it.add("flag.so", object("flag.so", {})).stack_flags = PF_R | PF_W | PF_X;
    it.add("none.so", object("none.so", {})).stack_flags.reset();
    it.add("plain.so", object("plain.so", {}));
    for (const char* path : {"flag.so", "none.so", "plain.so"}) it.open(path);
    CHECK(it.refusals().size() == (glibc == std::string("2.40") ? 0 : 2));
  }
}

TEST_CASE("up to 2.40 a library that lost the versions asked of it ends the process") {
  for (const char* glibc : {"2.40", "2.41"}) {
    for (const char* file : {"libv.so", "libother.so"}) {
      CAPTURE(glibc);
      CAPTURE(file);
      MadeObject user;
      user.versioned = true;
      user.symbols = {{.name = "one", .defined = false, .version = 2, .relocations = used_by_plt}};
      user.needs = {{file, {needed_version("V1", 2)}}};
      Process it;
      it.stage.machine.glibc = glibc;
      ElfFacts& root = it.add("root.so", user.facts());
      root.needed = {"libv.so", "libother.so"};
      root.rpath = "$ORIGIN/lib";
      root.stack_flags = PF_R | PF_W;
      it.add("lib/libv.so", object("libv.so", {defines("one")}));
      it.add("lib/libother.so", object("libother.so", {}));
      it.open("root.so");
      bool dies = glibc == std::string("2.40") && file == std::string("libv.so");
      CHECK(it.refusals().size() == (dies ? 1 : 0));
    }
  }
}

TEST_CASE("static TLS has room for 1664 bytes and what the rounding to 64 adds") {
  struct Want {
    std::uint64_t at_start, size, alignment;
    bool fits;
  };
  // 16 bytes at the start leave 1664 + 48.
  for (Want want : {Want{16, 1712, 1, true}, Want{16, 1713, 1, false}, Want{64, 1664, 1, true},
                    Want{64, 1665, 1, false}, Want{16, 8, 64, true}, Want{16, 8, 128, false}}) {
    CAPTURE(want.size);
    CAPTURE(want.alignment);
    Process it;
    it.stage.machine.glibc = "2.36";
    ElfFacts& program = it.add("/bin/program", object("", {}));
    program.tls_size = want.at_start;
    program.tls_alignment = 8;
    it.use_program("/bin/program");
    it.add("root.so", with_variable("root.so", want.size, want.alignment));
    it.open("root.so");
    CHECK(it.refusals() == (want.fits ? Texts{} : Texts{"root.so" + no_room}));
  }
}

TEST_CASE("where the rounding is not known nothing is refused within it") {
  for (std::uint64_t size : {1727u, 1728u}) {
    Process it;
    it.stage.machine.glibc = "2.41";
    it.add("/bin/program", object("", {}));
    it.use_program("/bin/program");
    it.add("root.so", with_variable("root.so", size, 1));
    it.open("root.so");
    CHECK(it.refusals().empty() == (size == 1727));
  }
}

TEST_CASE("the module that defines a variable is charged once, and what the start holds never") {
  Process it;
  it.stage.machine.glibc = "2.36";
  ElfFacts& program =
      it.add("/bin/program", object("", {{.name = "big", .type = STT_TLS, .value = 0}}));
  program.tls_size = 100000;
  program.tls_alignment = 64;
  it.use_program("/bin/program");
  std::uint8_t offset = used_by_tls | used_by_static_tls;
  ElfFacts owner = with_variable("libowner.so", 1000, 1);
  owner.symbols.relocations.assign(owner.symbols.relocations.size(), used_by_none);
  it.add("lib/libowner.so", owner);
  it.add("one.so", object("one.so", {wants("t", offset), wants("big", offset)}, {"libowner.so"}));
  it.add("two.so", object("two.so", {wants("t", offset)}, {"libowner.so"}));
  it.add("rest.so", with_variable("rest.so", 600, 1));
  it.add("more.so", with_variable("more.so", 600, 1));
  for (const char* path : {"one.so", "two.so", "rest.so"}) it.open(path);
  CHECK(it.refusals() == Texts{});
  it.open("more.so");
  CHECK(it.refusals() == Texts{"more.so" + no_room});
}

TEST_CASE("a variable that is bound at home without a lookup takes room too") {
  for (int visibility : {STV_DEFAULT, STV_HIDDEN}) {
    Process it;
    it.stage.machine.glibc = "2.36";
    ElfFacts elf = with_variable("root.so", 5000, 1);
    elf.symbols.symbols[sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_other)] =
        static_cast<std::uint8_t>(visibility);
    it.add("root.so", elf);
    it.open("root.so");
    CHECK(it.refusals() == Texts{"root.so" + no_room});
  }
}

TEST_CASE("a variable reached through a call needs no static TLS") {
  Process it;
  it.stage.machine.glibc = "2.36";
  ElfFacts elf = with_variable("root.so", 100000, 1);
  for (std::uint8_t& use : elf.symbols.relocations) use = use ? used_by_tls : used_by_none;
  it.add("root.so", elf);
  it.open("root.so");
  CHECK(it.refusals().empty());
}
