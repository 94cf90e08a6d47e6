#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "checks/checks.h"
#include "checks/cuda_closure.h"
#include "checks/install_plan.h"
#include "facts/metadata.h"

namespace wheelvet {
namespace {

// The machine part of a platform tag.
std::string_view arch_of(std::uint16_t machine) { return machine == 183 ? "aarch64" : "x86_64"; }

const PolicyRule* policy_of(const Rules& rules, std::string_view platform, std::string_view arch) {
  if (!platform.ends_with(arch)) return nullptr;
  std::string_view name = platform.substr(0, platform.size() - arch.size());
  if (name.ends_with('_')) name.remove_suffix(1);
  const PolicyRule* lower = nullptr;  // the next lower policy, for tags that have no list (PEP 600)
  for (const PolicyRule& policy : rules.policies) {
    if (policy.arch != arch) continue;
    bool named = policy.name == name || std::find(policy.aliases.begin(), policy.aliases.end(),
                                                  name) != policy.aliases.end();
    if (named) return &policy;
    constexpr std::string_view family = "manylinux_";
    if (!name.starts_with(family) || !policy.name.starts_with(family)) continue;
    auto dotted = [](std::string text) {
      std::replace(text.begin(), text.end(), '_', '.');
      return text;
    };
    std::string wanted = dotted(std::string(name.substr(family.size())));
    std::string have = dotted(policy.name.substr(family.size()));
    if (compare_versions(have, wanted) > 0) continue;
    if (!lower || compare_versions(dotted(lower->name.substr(family.size())), have) < 0) {
      lower = &policy;
    }
  }
  return lower;
}

}  // namespace

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "";
}

Finding& FindingSet::at(const std::string& key, const std::string& id, Severity severity) {
  auto [place, fresh] = findings_.try_emplace(id + "\n" + key);
  if (fresh) {
    place->second.id = id;
    place->second.severity = severity;
  }
  return place->second;
}

std::vector<Finding> FindingSet::take() {
  std::vector<Finding> out;
  for (auto& [key, finding] : findings_) out.push_back(std::move(finding));
  findings_.clear();
  return out;
}

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

void add_few(std::vector<std::string>& list, const std::string& text) {
  constexpr std::size_t most = 100;
  if (list.size() < most) add_once(list, text);
}

std::vector<RootView> view_roots(const Run& run) {
  std::vector<RootView> views;
  for (const LinkedRoot& root : run.links.roots) {
    RootView view;
    view.root = &root;
    view.path = run.scene.files[root.file].facts->path;
    std::set<std::size_t> objects;
    for (const Load& load : root.link.plan.loads) {
      if (!load.optional) objects.insert(load.scope.begin(), load.scope.end());
    }
    view.objects.assign(objects.begin(), objects.end());
    const Link* links[] = {&run.links.imports.at(root.before), &root.link};
    for (const Link* link : links) {
      for (const Binding& binding : link->bindings) {
        bool unbound = binding.outcome == Outcome::missing || binding.outcome == Outcome::undecided;
        if (unbound && objects.contains(binding.object)) view.unbound.push_back(&binding);
      }
      for (const VersionMismatch& mismatch : link->mismatches) {
        if (objects.contains(mismatch.object)) view.mismatches.push_back(&mismatch);
      }
      for (const Refusal& refusal : link->refusals) {
        if (objects.contains(refusal.object)) view.refusals.push_back(&refusal);
      }
    }
    views.push_back(std::move(view));
  }
  return views;
}

std::string owner_of(const Run& run, std::size_t file) {
  const SceneFile& of = run.scene.files[file];
  if (of.package == none) return run.inputs[of.input].label;
  const PackageFacts& package = *run.scene.packages[of.package].facts;
  return fmt::format("{} {}", package.name, package.version);
}

std::string supply_advice(const Scene& scene, const PlannedObject& object) {
  const std::string& soname = object.names.front();
  std::string_view distro = distro_package(soname);
  if (object.library != none) {
    const LibraryRule& rule = scene.rules->libraries[object.library];
    if (rule.kind == "driver") return "comes with the NVIDIA driver";
    if (!rule.pip.empty()) return fmt::format("pip install {}", rule.pip.front());
    if (!rule.apt.empty()) return fmt::format("system package {} (Debian's name)", rule.apt);
  }
  if (!distro.empty()) return fmt::format("system package {} (Debian's name)", distro);
  return {};
}

std::vector<std::string> tags_of(const Run& run, const SceneFile& file) {
  std::vector<std::string> tags = read_wheel_name(run.inputs[file.input].label).tags;
  if (tags.empty() && file.package != none) tags = run.scene.packages[file.package].facts->tags;
  return tags;
}

TagView read_tag(std::string_view tag) {
  std::size_t first = tag.find('-'), last = tag.rfind('-');
  if (first == std::string_view::npos || first == last) return {};
  return {tag.substr(0, first), tag.substr(first + 1, last - first - 1), tag.substr(last + 1)};
}

bool is_object(const SceneFile& file) {
  return file.facts->kind == FileKind::elf && !file.facts->problem;
}

const PolicyRule* promised_policy(const Rules& rules, const std::vector<std::string>& tags,
                                  std::uint16_t machine) {
  const PolicyRule* lowest = nullptr;
  for (const std::string& tag : tags) {
    const PolicyRule* policy = policy_of(rules, read_tag(tag).platform, arch_of(machine));
    if (policy && (!lowest || policy < lowest)) lowest = policy;  // they lie in one list
  }
  return lowest;
}

std::string promised_glibc(const Rules& rules, const std::vector<std::string>& tags) {
  constexpr std::string_view family = "manylinux_";
  std::string lowest;
  for (const std::string& tag : tags) {
    std::string_view platform = read_tag(tag).platform;
    std::size_t machine = platform.find('_', platform.find('_', family.size()) + 1);
    std::string_view name = platform.substr(0, std::min(machine, platform.size()));
    bool listed = std::any_of(rules.policies.begin(), rules.policies.end(),
                              [&](const PolicyRule& policy) { return policy.name == name; });
    if (listed || !name.starts_with(family)) return {};
    std::string glibc(name.substr(family.size()));
    std::replace(glibc.begin(), glibc.end(), '_', '.');
    if (lowest.empty() || compare_versions(glibc, lowest) < 0) lowest = glibc;
  }
  return lowest;
}

const PolicyRule* promised_policy(const Run& run, const SceneFile& file) {
  return promised_policy(*run.scene.rules, tags_of(run, file), file.facts->elf.machine);
}

namespace {

// Says of errors that concern only what loads in the environment as it is: the installation does
// it.
void blame_installation(const Run& run, const std::vector<RootView>& roots,
                        std::vector<Finding>& findings) {
  std::set<std::string> broken;
  for (const RootView& view : roots) {
    if (view.root->broken) broken.insert(view.path);
  }
  if (broken.empty()) return;
  std::vector<std::string> targets;
  for (const ScenePackage& package : run.scene.packages) {
    if (package.target) {
      targets.push_back(fmt::format("{} {}", package.facts->name, package.facts->version));
    }
  }
  std::string cause =
      fmt::format("it loads in the environment as it is now; installing {} breaks it",
                  fmt::join(targets, " and "));
  for (Finding& finding : findings) {
    bool blamed = !finding.roots.empty() &&
                  std::all_of(finding.roots.begin(), finding.roots.end(),
                              [&](const std::string& root) { return broken.contains(root); });
    if (blamed) finding.cause = fmt::format("{}: {}", cause, finding.cause);
  }
}

}  // namespace

std::vector<Finding> run_checks(const Run& run, const std::vector<RootView>& roots) {
  std::vector<Finding> all;
  auto add = [&](std::vector<Finding> family) {
    std::move(family.begin(), family.end(), std::back_inserter(all));
  };
  add(check_archives(run));
  add(check_metadata(run));
  add(check_files(run));
  std::vector<Finding> libraries = check_libraries(run, roots);
  explain_cuda_libraries(run, roots, libraries);
  add(std::move(libraries));
  std::vector<Finding> symbols = check_symbols(run, roots);
  explain_nccl_symbols(run, symbols);
  add(std::move(symbols));
  add(check_versions(run, roots));
  add(check_dlopens(run, roots));
  add(check_ownership(run, roots));
  add(check_cuda(run, roots));
  CudaReport cuda = cuda_closure(run, roots);
  add(check_driver(run, cuda));
  add(check_nccl(run, cuda));
  add(check_duplicates(run, roots));
  add(check_families(run));
  if (run.install) add(check_requirements(*run.install));
  // What labels promise to other hosts is no question where something is installed already.
  bool to_install = std::any_of(run.inputs.begin(), run.inputs.end(), [](const Input& input) {
    return input.target && input.location.empty();
  });
  if (to_install) {
    add(check_installation(run));
    add(check_labels(run));
    add(check_stable_abi(run));
    add(check_objects(run));
    add(check_dependencies(run));
    add(check_device_code(run, roots));
    add(check_floors(run));
  }
  blame_installation(run, roots, all);
  std::stable_sort(all.begin(), all.end(), [](const Finding& a, const Finding& b) {
    if (a.severity != b.severity) return a.severity > b.severity;
    return std::tie(a.id, a.title) < std::tie(b.id, b.title);
  });
  return all;
}

}  // namespace wheelvet
