// What an import statement loads, one dlopen after the other (rules/imports.toml).
#include <fmt/format.h>

#include <algorithm>

#include "link/process.h"

namespace wheelvet {
namespace {

bool in_range(const ImportStep& step, const std::string& release) {
  if (!step.since.empty() && compare_versions(release, step.since) < 0) return false;
  return step.until.empty() || compare_versions(release, step.until) < 0;
}

bool something_loaded(const LoadPlan& plan, std::string_view prefix) {
  return std::any_of(plan.objects.begin(), plan.objects.end(), [&](const PlannedObject& object) {
    std::string_view base = object.name;
    base.remove_prefix(base.find_last_of('/') + 1);
    return object.found != Found::absent && base.starts_with(prefix);
  });
}

// Plays the steps of one import.
struct Importer {
  LinkContext& context;
  Link& link;
  const std::string because;
  bool keep_bound;

  // Opens one file. A load that fails takes back all that it brought in, as dlopen does, when
  // somebody goes on after it; the last word on a load that nobody catches is kept to be explained.
  template <class Open>
  bool attempt(bool caught, Open&& open) {
    Link before = caught ? link : Link();
    std::size_t load = open();
    bind(context, link, load, keep_bound);
    if (!load_failed(*context.scene, link, load)) return true;
    if (!caught) return false;
    Load failed = link.plan.loads[load];
    failed.failed = failed.optional = true;
    failed.root = none;
    failed.scope.clear();
    link = std::move(before);
    link.plan.loads.push_back(std::move(failed));
    return false;
  }

  bool open(std::size_t file, bool global, bool caught) {
    return attempt(caught,
                   [&] { return open_file(*context.scene, link.plan, file, global, because); });
  }

  // One library of a list: the first match of the folders that torch looks in. False when there is
  // none, or when it does not load.
  bool preload(const std::string& folder, const std::string& pattern) {
    std::vector<std::string> folders = {"nvidia/" + folder + "/lib", "nvidia/cu*/lib",
                                        folder + "/lib"};
    for (const std::string& place : folders) {
      std::string wanted = place + "/" + pattern;
      std::size_t file = first_match(*context.scene, wanted);
      if (file != none) return open(file, false, true);
      for (const auto& [path, library] : context.scene->assumed_paths) {
        if (!matches(wanted, path)) continue;
        return attempt(true, [&, &path = path, &library = library] {
          return open_assumed(*context.scene, link.plan, library, path, because);
        });
      }
    }
    return false;
  }

  void play(const ImportStep& step) {
    std::size_t first = link.plan.loads.size();
    for (const auto& [folder, pattern] : step.preload) {
      if (!preload(folder, pattern)) break;
    }
    std::size_t file = first_match(*context.scene, step.open);
    if (file != none && !open(file, step.global, step.optional || !step.rescue.empty()) &&
        !step.rescue.empty()) {
      for (const auto& [folder, pattern] : step.rescue) preload(folder, pattern);
      open(file, step.global, step.optional);
    }
    for (std::size_t load = first; load < link.plan.loads.size(); ++load) {
      if (step.optional) link.plan.loads[load].optional = true;
    }
  }
};

}  // namespace

bool load_failed(const Scene& scene, const Link& link, std::size_t load) {
  const LoadPlan& plan = link.plan;
  auto fresh = [&](std::size_t object) { return plan.objects[object].load == load; };
  for (std::size_t index : plan.loads[load].scope) {
    const PlannedObject& object = plan.objects[index];
    if (!fresh(index)) continue;
    if (object.file != none ? !elf_of(scene, object) : object.found == Found::absent) return true;
  }
  auto missing = [&](const Binding& each) {
    return each.outcome == Outcome::missing && fresh(each.object);
  };
  auto lacking = [&](const VersionMismatch& each) { return fresh(each.object); };
  auto refused = [&](const Refusal& each) { return fresh(each.object); };
  return std::any_of(link.bindings.begin(), link.bindings.end(), missing) ||
         std::any_of(link.mismatches.begin(), link.mismatches.end(), lacking) ||
         std::any_of(link.refusals.begin(), link.refusals.end(), refused);
}

bool open_caught(LinkContext& context, Link& link, std::size_t file, bool global,
                 const std::string& because, bool keep_bound) {
  return Importer{context, link, because, keep_bound}.open(file, global, true);
}

void import_module(LinkContext& context, Link& link, const ImportRule& rule,
                   const std::string& release, bool keep_bound) {
  Importer importer{context, link, "import " + rule.module, keep_bound};
  for (const ImportStep& step : rule.steps) {
    if (!in_range(step, release)) continue;
    if (!step.only_if_loaded.empty() && !something_loaded(link.plan, step.only_if_loaded)) continue;
    importer.play(step);
  }
}

}  // namespace wheelvet
