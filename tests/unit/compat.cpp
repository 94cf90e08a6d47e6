// Releases of torch as inputs, and requirements on them.
#include <doctest/doctest.h>

#include "compat/pins.h"
#include "history/name_forms.h"
#include "history/release.h"
#include "link/link.h"
#include "link/try_releases.h"
#include "support/fixtures.h"
#include "support/made_object.h"
#include "wheelvet/problem.h"

using namespace wheelvet;
using namespace wheelvet::test;

namespace {

constexpr const char* check_of_2_9 =
    "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib";            // 2.1.0 to 2.9.1
constexpr const char* stream = "_ZN3c104cuda20getCurrentCUDAStreamEa";  // in all releases

// A module that needs libc10_cuda.so and imports these names.
struct Module {
  Stage stage;

  explicit Module(const std::vector<std::string>& imports) {
    MadeObject object;
    for (const std::string& name : imports) {
      object.symbols.push_back({name, false});
      object.symbols.back().relocations = used_by_plt;
    }
    object.symbols.push_back({"PyInit_ops"});
    ElfFacts& elf = stage.add("pkg/ops.abi3.so", object.facts());
    elf.needed = {"libc10_cuda.so", "libc10.so"};
    elf.stack_flags = PF_R | PF_W;
  }

  // How the module fares with a release: "loads", "fails" or "undecided".
  std::string with(const std::string& release) {
    stage.rules = load_rules();
    stage.inputs[0].members = {{"pkg/ops.abi3.so"}};
    AskedHistory asked = ask_history(stage.inputs, stage.facts);
    ReleaseBuild build = find_release(asked.history, *read_release_name(release), asked.machine);
    Staging staging{stage.inputs, stage.facts, stage.rules, stage.machine, "3.12", {}};
    return with_release(staging, asked, build, [&] {
      Scene scene = set_scene(stage.inputs, stage.facts, stage.rules, stage.machine, "3.12");
      Links links = link_scene(scene, {});
      if (fails(scene, links.roots.front(), links)) return std::string("fails");
      for (const Binding& binding : links.roots.front().link.bindings) {
        if (binding.outcome == Outcome::undecided) return std::string("undecided");
      }
      return std::string("loads");
    });
  }
};

std::string refusal(const std::string& text) {
  try {
    std::optional<ReleaseName> name = read_release_name(text);
    if (!name) return "no release";
    find_release(load_history(), *name, "x86_64");
    return "taken";
  } catch (const WrongUsage& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a release is asked for by one version, and by nothing else") {
  CHECK(refusal("torch==2.10.0") == "taken");
  CHECK(refusal("Torch == 2.10") == "taken");
  CHECK(refusal("torch==2.9.1+cu130") == "taken");
  CHECK(refusal("torchvision==0.24.1") == "no release");
  CHECK(refusal("torch-2.10.0.whl") == "no release");
  CHECK(refusal("torch>=2.10").find("name one release") != std::string::npos);
  CHECK(refusal("torch==2.10.*").find("name one release") != std::string::npos);
}

TEST_CASE("a release that the history lacks is refused with the nearest ones") {
  std::string said = refusal("torch==2.9.7");
  CHECK(said.find("nearest: 2.9.1, 2.9.0") != std::string::npos);
  CHECK(said.find("give the wheel") != std::string::npos);
}

TEST_CASE("a covered name is there or missing by the release") {
  Module module({check_of_2_9, stream});
  CHECK(module.with("torch==2.9.1") == "loads");
  CHECK(module.with("torch==2.10.0") == "fails");
  CHECK(Module({stream}).with("torch==2.10.0") == "loads");
}

TEST_CASE("a name that the history does not keep is undecided, never missing") {
  // gloo is part of libtorch_cpu.so and not kept.
  CHECK(Module({"_ZN4gloo7Context3fooEv"}).with("torch==2.10.0") == "undecided");
}

TEST_CASE("a name that belongs to another library is none of torch's") {
  CHECK(Module({"PyNoSuchFunction"}).with("torch==2.10.0") == "fails");
}

TEST_CASE("of a build that was not read libc10 holds, and CUDA's libraries are undecided") {
  const char* error =
      "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_"
      "traitsIcESaIcEEE";
  CHECK(Module({error}).with("torch==2.9.1+cu130") == "loads");
  CHECK(Module({error}).with("torch==2.6.0+cu126") == "fails");
  CHECK(Module({stream}).with("torch==2.9.1+cu130") == "undecided");
  CHECK(Module({stream}).with("torch==2.9.1+cu128") == "loads");  // the build that was read
}

TEST_CASE("all releases are tried in one go, and the stage is as before") {
  Module module({check_of_2_9});
  module.stage.set();
  AskedHistory asked = ask_history(module.stage.inputs, module.stage.facts);
  Staging staging{module.stage.inputs,
                  module.stage.facts,
                  module.stage.rules,
                  module.stage.machine,
                  "3.12",
                  {}};
  // What is known to be missed saves trials, and changes no answer.
  for (const MissedNames& missed :
       {MissedNames(1), MissedNames{{check_of_2_9}}, MissedNames{{check_of_2_9}, {}}}) {
    std::vector<std::uint32_t> loads;
    for (const ReleaseTrial& trial : try_releases(staging, asked, missed)) {
      if (trial.loads.contains("pkg/ops.abi3.so")) loads.push_back(trial.release.build);
    }
    CHECK(release_range(asked.history, loads) == "2.1.0 to 2.9.1");
  }
  CHECK(module.stage.inputs.size() == 1);
  CHECK(module.stage.facts.inputs.size() == 1);
}

TEST_CASE("a release takes the place of the torch that is there") {
  Module module({check_of_2_9});
  module.stage.set();
  Input& torch = module.stage.inputs.emplace_back();
  torch.members = {{"torch/lib/libc10_cuda.so"}};
  InputFacts& facts = module.stage.facts.inputs.emplace_back();
  facts.input = 1;
  facts.packages.emplace_back().name = "torch";
  facts.packages.back().version = "2.10.0";
  CHECK(module.with("torch==2.9.1") == "loads");
}

TEST_CASE("a specifier admits a release as PEP 440 says") {
  auto admits = [](const char* specifier, const char* release) {
    return admits_release(specifier, release).value();
  };
  CHECK(admits("", "2.9.1"));
  CHECK(admits(">=2.8,<2.10", "2.9.1"));
  CHECK_FALSE(admits(">=2.8,<2.10", "2.10.0"));
  CHECK(admits("==2.8.0", "2.8.0"));
  CHECK(admits("==2.8", "2.8.0"));
  CHECK_FALSE(admits("==2.8", "2.8.1"));
  CHECK(admits("==2.8.*", "2.8.1"));
  CHECK_FALSE(admits("!=2.8.*", "2.8.1"));
  CHECK(admits("~=2.8.0", "2.8.1"));
  CHECK_FALSE(admits("~=2.8.0", "2.9.0"));
  CHECK(admits("~=2.8", "2.15.0"));
  CHECK(admits(">2.8.0rc1", "2.8.0"));
  CHECK_FALSE(admits("<2.8.0rc1", "2.8.0"));
  CHECK(admits("<2.8.0.post1", "2.8.0"));
  CHECK_FALSE(admits(">=2.10", "2.9.1"));
  CHECK_FALSE(admits_release("nonsense", "2.9.1"));
}

TEST_CASE("the requirement of a package is found whatever way it is written") {
  std::vector<std::string> all = {"numpy", "torch >=2.8 ; extra == 'gpu'", "Torch (==2.8.0)",
                                  "torch<3"};
  std::optional<std::string> found = requirement_on(all, "torch");
  REQUIRE(found);
  CHECK(*found == "Torch (==2.8.0)");
  CHECK(specifier_of(*found) == "==2.8.0");
  CHECK(specifier_of("torch>=2.8,<2.10 ; python_version > '3.9'") == ">=2.8,<2.10");
  CHECK(specifier_of("torch").empty());
  CHECK_FALSE(requirement_on({"torchvision==1"}, "torch"));
}

TEST_CASE("a pin admits the releases that fit and no other") {
  std::vector<std::string> all = {"2.8.0", "2.9.0", "2.9.1", "2.10.0", "2.15.0"};
  CHECK(specifier_for(all, {false, true, true, false, false}, false) == ">=2.9.0,<2.10.0");
  CHECK(specifier_for(all, {false, true, false, false, false}, false) == "==2.9.0");
  CHECK(specifier_for(all, {true, false, true, false, false}, false) == ">=2.8.0,!=2.9.0,<2.10.0");
  CHECK(specifier_for(all, {false, false, false, true, true}, false) == ">=2.10.0,<2.16");
  CHECK(specifier_for(all, {false, false, false, true, true}, true) == ">=2.10.0");
  CHECK(specifier_for(all, {false, false, false, false, true}, true) == ">=2.15.0");
  CHECK(specifier_for(all, {false, false, false, false, false}, true).empty());
  std::vector<bool> fits = {false, true, true, false, false};
  std::string written = specifier_for(all, fits, false);
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(admits_release(written, all[i]) == fits[i]);
}
