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
  std::map<std::string, std::string> highest;
  std::vector<std::string> objects;
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
      if (listed) continue;
      std::string& known = out.highest[prefix];
      if (known.empty() || compare_versions(known, number) < 0) known = number;
      add_once(out.objects, file.path);
    }
  }
}

void floor_findings(const Run& run, FindingSet& found) {
  std::map<std::string, Beyond> packages;
  for (std::size_t i = 0; i < run.scene.files.size(); ++i) {
    const SceneFile& file = run.scene.files[i];
    bool readable = file.facts->kind == FileKind::elf && !file.facts->problem;
    const PolicyRule* policy = file.target && readable ? promised_policy(run, file) : nullptr;
    if (!policy) continue;
    Beyond& beyond = packages[owner_of(run, i)];
    beyond.policy = policy;
    add_beyond(*file.facts, *policy, beyond);
  }
  for (const auto& [owner, beyond] : packages) {
    if (beyond.highest.empty()) continue;
    Finding& finding = found.at(owner, "VER-002", Severity::warning);
    finding.title =
        fmt::format("{} needs newer system libraries than {} promises", owner, beyond.policy->name);
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
