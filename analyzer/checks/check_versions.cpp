// Symbol versions that the loaded library does not define, or that hosts of the platform tag lack.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checks/checks.h"

namespace wheelvet {
namespace {

void mismatch_finding(const Run& run, const RootView& view, const VersionMismatch& mismatch,
                      FindingSet& found) {
  const PlannedObject& object = view.object(mismatch.object);
  if (mismatch.provider == none) {
    Finding& finding = found.at(mismatch.file, "VER-003", Severity::error);
    finding.title = fmt::format("versions of {} are needed, but no loaded library has that name",
                                mismatch.file);
    finding.cause = "the file names it in its version needs and not in DT_NEEDED; the loader aborts";
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

// "GLIBC_2.34" as {"GLIBC", "2.34"}.
std::pair<std::string, std::string> split_version(const std::string& version) {
  std::size_t underscore = version.rfind('_');
  if (underscore == std::string::npos) return {version, ""};
  return {version.substr(0, underscore), version.substr(underscore + 1)};
}

// Versions outside the sets that the input's policy allows: the highest of each kind, with the objects
// that need one.
void floor_findings(const Run& run, std::size_t input, FindingSet& found) {
  const PolicyRule* policy = promised_policy(run, input);
  if (!policy) return;
  std::map<std::string, std::string> highest;
  std::vector<std::string> objects;
  for (const FileFacts& file : run.facts.inputs[input].files) {
    if (file.kind != FileKind::elf || file.problem) continue;
    for (const VersionNeed& need : file.elf.version_needs) {
      for (const NeededVersion& version : need.versions) {
        auto [prefix, number] = split_version(version.name);
        auto allowed = policy->versions.find(prefix);
        if (version.weak || allowed == policy->versions.end()) continue;
        bool listed = std::find(allowed->second.begin(), allowed->second.end(), number) !=
                      allowed->second.end();
        if (listed) continue;
        std::string& known = highest[prefix];
        if (known.empty() || compare_versions(known, number) < 0) known = number;
        add_once(objects, file.path);
      }
    }
  }
  if (highest.empty()) return;
  Finding& finding = found.at(run.inputs[input].label, "VER-002", Severity::warning);
  finding.title = fmt::format("needs newer system libraries than {} promises", policy->name);
  for (const auto& [prefix, number] : highest) {
    finding.evidence.push_back(fmt::format("up to {}_{}", prefix, number));
  }
  finding.objects = objects;
  finding.cause = "the platform tag of the wheel is older than what its objects were linked against";
  finding.fix = "a host with these versions, or a wheel with the tag that fits (auditwheel repair)";
}

}  // namespace

std::vector<Finding> check_versions(const Run& run, const std::vector<RootView>& roots) {
  FindingSet found;
  for (const RootView& view : roots) {
    for (const VersionMismatch* mismatch : view.mismatches) {
      mismatch_finding(run, view, *mismatch, found);
    }
  }
  for (std::size_t input = 0; input < run.inputs.size(); ++input) {
    if (run.inputs[input].target) floor_findings(run, input, found);
  }
  return found.take();
}

}  // namespace wheelvet
