// Libraries that objects open by name at run time: the load succeeds without them, the first use
// does not.
#include <fmt/format.h>

#include <algorithm>

#include "checks/checks.h"
#include "facts/dlopen_note.h"
#include "link/process.h"

namespace wheelvet {
namespace {

// File names of the scene, and of toolkits, that a pattern stands for, the pattern itself when it
// is a name.
std::vector<std::string> candidates(const Scene& scene, const std::string& pattern) {
  std::vector<std::string> names;
  if (pattern.find('*') == std::string::npos) return {pattern};
  for (const auto& [name, file] : scene.by_name) {
    if (matches(pattern, name)) names.push_back(name);
  }
  for (const ToolkitFolder& toolkit : scene.machine->toolkits) {
    for (const auto& [name, real] : toolkit.files) {
      if (matches(pattern, name) && !scene.by_name.contains(name)) names.push_back(name);
    }
  }
  return names;
}

// True when dlopen by an object of the plan finds one of these names, or an assumed library is
// taken to.
bool finds_one(const Scene& scene, const LoadPlan& plan, std::size_t opener,
               const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return found_by(scene, plan, opener, name) != Found::absent;
  });
}

void not_found(const Run& run, const RootView& view, std::size_t opener,
               const std::vector<std::string>& names, const std::string& shown, Severity severity,
               FindingSet& found) {
  const PlannedObject& object = view.object(opener);
  Finding& finding = found.at(object.name + "\n" + shown, "DLO-001", severity);
  finding.title =
      fmt::format("{} opens {} when it is used, and does not find it", object.name, shown);
  auto there = names.empty() ? run.scene.by_name.end() : run.scene.by_name.find(names.front());
  if (there != run.scene.by_name.end()) {
    add_once(finding.evidence, fmt::format("there is {}, but no path searched leads to it",
                                           run.scene.files[there->second].facts->path));
    finding.cause = "dlopen of a bare name searches the paths of the library that calls it";
    finding.fix = "import first what opens it, or set the folder where ld.so looks";
  } else if (const ToolkitFolder* toolkit =
                 names.empty() ? nullptr : toolkit_with(*run.scene.machine, names.front())) {
    add_once(finding.evidence, fmt::format("there is {}/{}, which the loader does not search",
                                           toolkit->path, names.front()));
    finding.cause = "a CUDA toolkit holds it, and no path searched leads there";
    finding.fix =
        fmt::format("the line {} in a file of /etc/ld.so.conf.d, then ldconfig", toolkit->path);
  } else {
    finding.cause = "no input holds it";
    PlannedObject wanted;
    wanted.names = {names.empty() ? shown : names.front()};
    wanted.library = library_of(*run.scene.rules, wanted.names.front());
    finding.fix = supply_advice(run.scene, wanted);
  }
  add_once(finding.objects, object.name);
  add_once(finding.roots, view.path);
}

void check_object(const Run& run, const RootView& view, std::size_t index, FindingSet& found) {
  const LoadPlan& plan = view.root->link.plan;
  const ElfFacts* elf = elf_of(run.scene, view.object(index));
  if (!elf) return;
  for (const DlopenRule& rule : run.scene.rules->dlopens) {
    if (!matches(rule.by, elf->soname)) continue;
    for (const std::string& pattern : rule.opens) {
      std::vector<std::string> names = candidates(run.scene, pattern);
      if (!finds_one(run.scene, plan, index, names)) {
        not_found(run, view, index, names, pattern, Severity::warning, found);
      }
    }
  }
  for (const std::string& text : elf->dlopen_notes) {
    for (const DlopenWish& wish : read_dlopen_note(text)) {
      bool one = wish.sonames.empty() || finds_one(run.scene, plan, index, wish.sonames);
      if (one || wish.priority == "suggested") continue;
      Severity severity = wish.priority == "required" ? Severity::warning : Severity::note;
      not_found(run, view, index, wish.sonames, wish.sonames.front(), severity, found);
    }
  }
}

}  // namespace

std::vector<Finding> check_dlopens(const Run& run, const std::vector<RootView>& roots) {
  FindingSet found;
  for (const RootView& view : roots) {
    // Of a library that the package itself does not need nothing is said: its user may open others.
    if (!view.root->module && view.root->opener.empty()) continue;
    for (std::size_t index : view.objects) {
      const PlannedObject& object = view.object(index);
      bool of_machine = object.file != none &&
                        run.inputs[run.scene.files[object.file].input].kind == InputKind::machine;
      if (!of_machine) check_object(run, view, index, found);
    }
  }
  return found.take();
}

}  // namespace wheelvet
