// Files that two packages install, and libraries that no module of their package uses.
#include <fmt/format.h>

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
  unused(run, roots, found);
  return found.take();
}

}  // namespace wheelvet
