#include "plan_install.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "link/demangle.h"
#include "link/process.h"
#include "machine/read_machine.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_missing = 3;

// The newest release of the history that all these clauses admit.
std::optional<ReleaseBuild> newest_release(const AskedHistory& asked,
                                           const std::vector<const UnmetRequirement*>& wanted) {
  std::vector<ReleaseBuild> releases = releases_of(asked.history, asked.machine);
  for (auto release = releases.rbegin(); release != releases.rend(); ++release) {
    const std::string& version = asked.history.builds[release->build].version;
    bool fits = std::all_of(wanted.begin(), wanted.end(), [&](const UnmetRequirement* each) {
      return admits_version(each->clauses, version).value_or(false);
    });
    if (fits) return *release;
  }
  return std::nullopt;
}

// Names and libraries that a root lacks.
std::vector<std::string> missing_of(const Scene& scene, const LinkedRoot& root) {
  std::vector<std::string> out;
  auto add = [&](std::string text) {
    bool known = std::find(out.begin(), out.end(), text) != out.end();
    if (!known && out.size() < most_missing) out.push_back(std::move(text));
  };
  for (const PlannedObject& object : root.link.plan.objects) {
    if (object.file == none && object.found == Found::absent) add(object.name);
  }
  for (const Binding& binding : root.link.bindings) {
    if (binding.outcome != Outcome::missing) continue;
    const ElfFacts* elf = elf_of(scene, root.link.plan.objects[binding.object]);
    if (elf) add(demangled(elf->symbols.name(binding.symbol)));
  }
  return out;
}

// Modules of the environment that load as it is, by path.
std::set<std::string> sound_modules(const Staging& staging) {
  LinkOptions options = staging.options;
  options.installed = true;
  Scene before = set_scene(staging.inputs, staging.facts, staging.rules, staging.machine,
                           staging.python, true);
  Links links = link_scene(before, options);
  std::set<std::string> out;
  for (const LinkedRoot& root : links.roots) {
    if (!fails(before, root, links)) out.insert(before.files[root.file].facts->path);
  }
  return out;
}

// Of the machine only those files were read that some object asks for; another release may ask for
// more. Puts the former facts back at its end.
class MachineReadAgain {
 public:
  explicit MachineReadAgain(Staging& staging) : staging_(staging) {
    for (std::size_t i = 0; i < staging.inputs.size(); ++i) {
      if (staging.inputs[i].kind == InputKind::machine) at_ = i;
    }
    if (at_ == none) return;
    InputFacts& facts = staging.facts.inputs[at_];
    former_ = std::exchange(facts, InputFacts());
    facts.input = at_;
    facts = read_machine(staging.machine, staging.inputs, staging.facts);
    facts.input = at_;
  }
  ~MachineReadAgain() {
    if (at_ != none) staging_.facts.inputs[at_] = std::move(former_);
  }
  MachineReadAgain(const MachineReadAgain&) = delete;
  MachineReadAgain& operator=(const MachineReadAgain&) = delete;

 private:
  Staging& staging_;
  std::size_t at_ = none;
  InputFacts former_;
};

void simulate_swap(Staging& staging, const AskedHistory& asked, const ReleaseBuild& release,
                   TorchSwap& swap) {
  std::set<std::string> sound = sound_modules(staging);
  LinkOptions options = staging.options;
  options.installed = true;
  with_release(staging, asked, release, [&] {
    MachineReadAgain machine(staging);
    Scene scene =
        set_scene(staging.inputs, staging.facts, staging.rules, staging.machine, staging.python);
    Links links = link_scene(scene, options);
    for (const LinkedRoot& root : links.roots) {
      const SceneFile& file = scene.files[root.file];
      if (!sound.contains(file.facts->path) || !fails(scene, root, links)) continue;
      BrokenModule& broken = swap.broken.emplace_back();
      broken.path = file.facts->path;
      if (file.package != none) {
        const PackageFacts& owner = *scene.packages[file.package].facts;
        broken.package = fmt::format("{} {}", owner.name, owner.version);
      }
      broken.missing = missing_of(scene, root);
    }
    for (UnmetRequirement& unmet : unmet_requirements(scene, staging.inputs)) {
      if (unmet.by == "torch " + swap.taken) swap.further.push_back(std::move(unmet));
    }
  });
}

bool is_replaced(const UnmetRequirement& unmet) {
  return unmet.by_target && !unmet.have.empty() && !unmet.have_target;
}

}  // namespace

InstallPlan plan_install(Staging& staging, const Scene& scene, std::optional<AskedHistory>& asked) {
  InstallPlan plan;
  if (scene.machine->python.empty()) return plan;  // no environment: what is there is not known
  plan.unmet = unmet_requirements(scene, staging.inputs);
  for (const ScenePackage& package : scene.packages) {
    if (!is_to_install(package, staging.inputs)) continue;
    plan.targets.push_back(normalised_name(package.facts->name));
  }
  std::vector<const UnmetRequirement*> torch;
  for (const UnmetRequirement& unmet : plan.unmet) {
    if (unmet.name == "torch" && is_replaced(unmet)) torch.push_back(&unmet);
  }
  if (torch.empty()) return plan;
  if (!asked) asked = ask_history(staging.inputs, staging.facts);
  std::optional<ReleaseBuild> release = newest_release(*asked, torch);
  if (!release) return plan;
  TorchSwap& swap = plan.torch.emplace();
  swap.have = torch.front()->have;
  swap.taken = asked->history.builds[release->build].version;
  swap.cuda = asked->history.builds[release->build].cuda;
  simulate_swap(staging, *asked, *release, swap);
  return plan;
}

}  // namespace wheelvet
