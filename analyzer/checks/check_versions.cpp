// Symbol versions that the loaded library does not define, or that hosts of the platform tag lack.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checks/checks.h"
#include "checks/platform_floor.h"

namespace wheelvet {
namespace {

void mismatch_finding(const Run& run, const RootView& view, const VersionMismatch& mismatch,
                      FindingSet& found) {
  const PlannedObject& object = view.object(mismatch.object);
  if (mismatch.provider == none) {
    Finding& finding = found.at(mismatch.file, "VER-003", Severity::error);
    finding.title = fmt::format("versions of {} are needed, but no loaded library has that name",
                                mismatch.file);
    finding.cause =
        "the file names it in its version needs and not in DT_NEEDED; the loader aborts";
    finding.fix = "relink the library, or import what loads it first";
    add_once(finding.objects, object.name);
    add_once(finding.roots, view.path);
    return;
  }
  const PlannedObject& provider = view.object(mismatch.provider);
  Finding& finding = found.at(provider.name, "VER-001", Severity::error);
  finding.title = fmt::format("{} does not define versions that are needed of it", provider.name);
  add_once(finding.evidence, fmt::format("version {} of {}", mismatch.version, mismatch.file));
  std::string owner = provider.file == none ? provider.name : owner_of(run, provider.file);
  finding.cause = fmt::format("the importer was linked against a newer {} than that of {}",
                              mismatch.file, owner);
  finding.fix = fmt::format("a newer release of {}, or a build linked against this one", owner);
  add_once(finding.objects, object.name);
  add_once(finding.roots, view.path);
}

// A version of libc or libstdc++ above every release that rules/policies.toml knows.
void unknown_versions(const Run& run, const RootView& view, FindingSet& found) {
  for (std::size_t index : view.objects) {
    const PlannedObject& object = view.object(index);
    const ElfFacts* elf = elf_of(run.scene, object);
    if (!elf) continue;
    for (const VersionNeed& need : elf->version_needs) {
      for (const NeededVersion& version : need.versions) {
        auto [prefix, number] = split_version(version.name);
        auto newest = run.scene.rules->newest_versions.find(prefix);
        if (version.weak || newest == run.scene.rules->newest_versions.end()) continue;
        bool dotted = number.find_first_not_of("0123456789.") == std::string::npos;
        if (!dotted || compare_versions(number, newest->second) <= 0) continue;
        Finding& finding = found.at(version.name, "VER-004", Severity::error);
        finding.title =
            fmt::format("{} of {} is newer than every release known", version.name, need.file);
        finding.cause = fmt::format("the newest known is {}_{}", prefix, newest->second);
        finding.fix = "a host with that release, or a build for an older one";
        add_once(finding.objects, object.name);
        add_once(finding.roots, view.path);
      }
    }
  }
}

// What one package needs beyond its policy: the highest version of each kind, and who needs one.
struct Beyond {
  const PolicyRule* policy = nullptr;
  std::string glibc;  // that the tag promises beyond the policy, where it has none of its own
  std::map<std::string, std::string> highest;
  std::vector<std::string> objects;
  std::vector<std::string> names, importers;  // private to a library of the policy's list
};

// Versions outside the sets that a file's policy allows.
void add_beyond(const FileFacts& file, const PolicyRule& policy, Beyond& out) {
  for (const VersionNeed& need : file.elf.version_needs) {
    for (const NeededVersion& version : need.versions) {
      auto [prefix, number] = split_version(version.name);
      auto allowed = policy.versions.find(prefix);
      if (version.weak || allowed == policy.versions.end()) continue;
      bool listed = std::find(allowed->second.begin(), allowed->second.end(), number) !=
                    allowed->second.end();
      bool in_glibc = prefix == "GLIBC" && !number.empty() &&
                      number.find_first_not_of("0123456789.") == std::string::npos &&
                      compare_versions(number, out.glibc) <= 0;
      if (listed || in_glibc) continue;
      std::string& known = out.highest[prefix];
      if (known.empty() || compare_versions(known, number) < 0) known = number;
      add_once(out.objects, file.path);
    }
  }
}

void add_private(const FileFacts& file, const PolicyRule& policy, Beyond& out) {
  for (const std::string& name : private_imports(policy, file.elf)) {
    add_once(out.names, name);
    add_once(out.importers, file.path);
  }
}

// What every package needs beyond what its tags promise.
std::map<std::string, Beyond> beyond_the_tags(const Run& run) {
  std::map<std::string, Beyond> packages;
  auto add = [&](const std::string& owner, const FileFacts& file,
                 const std::vector<std::string>& tags) {
    const PolicyRule* policy = promised_policy(*run.scene.rules, tags, file.elf.machine);
    if (!policy) return;
    Beyond& beyond = packages[owner];
    beyond.policy = policy;
    beyond.glibc = promised_glibc(*run.scene.rules, tags);
    add_beyond(file, *policy, beyond);
    add_private(file, *policy, beyond);
  };
  for (std::size_t i = 0; i < run.scene.files.size(); ++i) {
    const SceneFile& file = run.scene.files[i];
    if (!file.target || !is_object(file)) continue;
    add(owner_of(run, i), *file.facts, tags_of(run, file));
  }
  for (const InputFacts& input : run.facts.inputs) {
    // A wheel with several packages is a finding of its own, and its tags are not known.
    if (!run.inputs[input.input].target || input.packages.size() != 1) continue;
    const PackageFacts& package = input.packages[0];
    for (const FileFacts& program : input.programs) {
      add(package.name + " " + package.version, program, package.tags);
    }
  }
  return packages;
}

void private_names(const std::string& owner, const Beyond& beyond, FindingSet& found) {
  if (beyond.names.empty()) return;
  Finding& finding = found.at(owner, "VER-005", Severity::warning);
  finding.title = fmt::format("{} imports names that {} keeps private to a library", owner,
                              beyond.policy->name);
  finding.objects = beyond.importers;
  finding.evidence = beyond.names;
  finding.cause = "the library of another host need not export them";
  finding.fix = "build against the library's public interface, or bundle the library";
}

void floor_findings(const Run& run, FindingSet& found) {
  for (const auto& [owner, beyond] : beyond_the_tags(run)) {
    private_names(owner, beyond, found);
    if (beyond.highest.empty()) continue;
    Finding& finding = found.at(owner, "VER-002", Severity::warning);
    std::string promise = beyond.policy->name;
    if (!beyond.glibc.empty()) promise = fmt::format("glibc {}", beyond.glibc);
    finding.title = fmt::format("{} needs newer system libraries than {} promises", owner, promise);
    for (const auto& [prefix, number] : beyond.highest) {
      finding.evidence.push_back(fmt::format("up to {}_{}", prefix, number));
    }
    finding.objects = beyond.objects;
    finding.cause = "the platform tag is older than what the objects were linked against";
    finding.fix =
        "a host with these versions, or a wheel with the tag that fits (auditwheel repair)";
  }
}

}  // namespace

std::vector<Finding> check_versions(const Run& run, const std::vector<RootView>& roots) {
  FindingSet found;
  for (const RootView& view : roots) {
    unknown_versions(run, view, found);
    for (const VersionMismatch* mismatch : view.mismatches) {
      mismatch_finding(run, view, *mismatch, found);
    }
  }
  return found.take();
}

std::vector<Finding> check_floors(const Run& run) {
  FindingSet found;
  floor_findings(run, found);
  return found.take();
}

}  // namespace wheelvet
