// Files that two packages install, and libraries that no module of their package uses.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "checks/checks.h"

namespace wheelvet {
namespace {

void conflicts(const Run& run, FindingSet& found) {
  for (const Conflict& conflict : run.scene.conflicts) {
    std::string first = owner_of(run, conflict.hidden), last = owner_of(run, conflict.winner);
    Finding& finding = found.at(first + "\n" + last, "PKG-001", Severity::warning);
    finding.title = fmt::format("{} and {} install the same files", first, last);
    finding.cause = "the one installed last overwrites the other's; uninstalling one removes both";
    finding.fix = "install only one of the two";
    add_once(finding.objects, run.scene.files[conflict.winner].facts->path);
  }
}

// What installed packages list in their RECORD: paths that two of them list, and libraries that are
// not there. Installing one of two such packages writes over the other's file, and removing it
// takes the file from the one that stays.
void records(const Run& run, FindingSet& found) {
  std::map<std::pair<std::size_t, std::string>, const PackageFacts*> owners;
  for (const ScenePackage& package : run.scene.packages) {
    const Input& input = run.inputs[package.input];
    if (package.replaced || input.location.empty()) continue;
    std::string name = fmt::format("{} {}", package.facts->name, package.facts->version);
    for (const std::string& path : package.facts->libraries) {
      auto [owner, fresh] = owners.emplace(std::pair(package.input, path), package.facts);
      if (!fresh && owner->second != package.facts) {
        std::string first = fmt::format("{} {}", owner->second->name, owner->second->version);
        Finding& finding = found.at(first + "\n" + name, "PKG-001", Severity::warning);
        finding.title = fmt::format("{} and {} install the same files", first, name);
        finding.cause =
            "the one installed last overwrote the other's; uninstalling one removes both";
        finding.fix = "uninstall both, then install the one that is meant";
        add_few(finding.objects, path);
      }
      std::string place = input.mount.empty() ? path : input.mount + "/" + path;
      if (run.scene.by_path.contains(place) || path.starts_with("..")) continue;
      bool there = std::any_of(input.members.begin(), input.members.end(),
                               [&](const Member& member) { return member.name == path; });
      if (there) continue;  // something that is no library, in spite of its name
      Finding& finding = found.at(name, "PKG-003", Severity::warning);
      finding.title = fmt::format("libraries that {} installed are not there", name);
      finding.cause = "its RECORD lists them; something removed them since";
      finding.fix = fmt::format("pip install --force-reinstall --no-deps {}=={}",
                                package.facts->name, package.facts->version);
      add_few(finding.objects, path);
    }
  }
}

// Libraries of a package with modules that are in no module's plan and that no source opens.
void unused(const Run& run, const std::vector<RootView>& roots, FindingSet& found) {
  std::set<std::size_t> with_modules;
  for (const RootView& view : roots) {
    const SceneFile& file = run.scene.files[view.root->file];
    if (view.root->module) with_modules.insert(file.package);
  }
  for (const RootView& view : roots) {
    const SceneFile& file = run.scene.files[view.root->file];
    bool silent = !view.root->module && view.root->opener.empty() && view.root->imports.empty();
    if (!silent || file.package == none || !file.python_read || file.installed ||
        !with_modules.contains(file.package)) {
      continue;
    }
    Finding& finding = found.at(owner_of(run, view.root->file), "PKG-002", Severity::note);
    finding.title = fmt::format("{} holds libraries that nothing of it is known to use",
                                owner_of(run, view.root->file));
    finding.cause = "no module needs them, and no Python source read here opens them";
    finding.fix = "none, where they are plugins or for other programs; else leave them out";
    add_once(finding.objects, view.path);
    add_once(finding.roots, view.path);
  }
}

}  // namespace

std::vector<Finding> check_ownership(const Run& run, const std::vector<RootView>& roots) {
  FindingSet found;
  conflicts(run, found);
  records(run, found);
  unused(run, roots, found);
  return found.take();
}

}  // namespace wheelvet
