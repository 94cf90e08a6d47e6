#include "checks/install_plan.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "facts/requirement.h"

namespace wheelvet {
namespace {

// The packages that would be there, and the extras that somebody asks of each.
struct Present {
  std::map<std::string, const ScenePackage*> packages;
  std::map<std::string, std::set<std::string>> extras;
  /// Those that targets ask for: pip sees to what they require, as if the target required it.
  std::map<std::string, std::set<std::string>> targets_extras;
};

std::vector<std::string> asked_of(const std::map<std::string, std::set<std::string>>& extras,
                                  const ScenePackage& package) {
  auto asked = extras.find(normalised_name(package.facts->name));
  if (asked == extras.end()) return {};
  return {asked->second.begin(), asked->second.end()};
}

struct Wanted {
  Requirement requirement;
  bool by_target = false;  // pip sees to it when the targets are installed
};

// One package's requirements that count, given the extras asked of it.
std::vector<Wanted> wanted_of(const ScenePackage& package, bool target, const Present& present,
                              const MarkerValues& values) {
  std::vector<std::string> extras = asked_of(present.extras, package);
  std::vector<std::string> by_targets = asked_of(present.targets_extras, package);
  std::vector<Wanted> out;
  for (const std::string& text : package.facts->requirements) {
    ReadRequirement read = read_pep508(text);
    if (!read.requirement || !is_wanted(*read.requirement, values, extras)) continue;
    bool pulled = !is_wanted(*read.requirement, values, {}) &&
                  is_wanted(*read.requirement, values, by_targets);
    out.push_back({std::move(*read.requirement), target || pulled});
  }
  return out;
}

// Extras ask for requirements, which ask for extras: until nothing new turns up.
Present present_in(const Scene& scene, const std::vector<Input>& inputs,
                   const MarkerValues& values) {
  Present out;
  for (const ScenePackage& package : scene.packages) {
    if (!package.replaced) out.packages.emplace(normalised_name(package.facts->name), &package);
  }
  for (bool grown = true; grown;) {
    grown = false;
    for (const auto& [name, package] : out.packages) {
      bool target = is_to_install(*package, inputs);
      for (const Wanted& wanted : wanted_of(*package, target, out, values)) {
        const std::string& of = wanted.requirement.name;
        for (const std::string& extra : wanted.requirement.extras) {
          grown = out.extras[of].insert(extra).second || grown;
          if (wanted.by_target) grown = out.targets_extras[of].insert(extra).second || grown;
        }
      }
    }
  }
  return out;
}

}  // namespace

bool is_to_install(const ScenePackage& package, const std::vector<Input>& inputs) {
  return package.target && inputs[package.input].location.empty();
}

std::string_view name_of_machine(const Machine& machine) {
  bool arm = machine.lib.find("aarch64") != std::string::npos || machine.platform == "aarch64";
  return arm ? "aarch64" : "x86_64";
}

std::vector<UnmetRequirement> unmet_requirements(const Scene& scene,
                                                 const std::vector<Input>& inputs) {
  MarkerValues values = marker_values(scene.python, name_of_machine(*scene.machine));
  Present present = present_in(scene, inputs, values);
  std::vector<UnmetRequirement> out;
  for (const auto& [name, package] : present.packages) {
    bool target = is_to_install(*package, inputs);
    for (const Wanted& wanted : wanted_of(*package, target, present, values)) {
      const Requirement& requirement = wanted.requirement;
      auto there = present.packages.find(requirement.name);
      bool is_there = there != present.packages.end();
      // What is required by an address is told apart by nothing that the metadata says.
      bool met =
          is_there &&
          (!requirement.url.empty() ||
           admits_version(requirement.clauses, there->second->facts->version).value_or(false));
      if (met) continue;
      UnmetRequirement& unmet = out.emplace_back();
      unmet.by = fmt::format("{} {}", package->facts->name, package->facts->version);
      unmet.by_target = wanted.by_target;
      unmet.name = requirement.name;
      unmet.wanted = requirement.name + requirement.versions;
      unmet.clauses = requirement.clauses;
      if (is_there) {
        unmet.have = there->second->facts->version;
        unmet.have_target = is_to_install(*there->second, inputs);
      }
    }
  }
  return out;
}

}  // namespace wheelvet
