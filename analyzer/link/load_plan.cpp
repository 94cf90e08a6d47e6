#include <fmt/format.h>

#include <algorithm>

#include "link/process.h"

namespace wheelvet {
namespace {

// Where a search ended.
struct Hit {
  std::size_t file = none;
  std::size_t library = none;
  Found found = Found::absent;
  std::string path;
};

struct Search {
  const Scene& scene;
  const LoadPlan& plan;
  std::string_view name;
  std::vector<std::string> looked_in;

  // $ORIGIN is the folder of the name as opened. Absolute folders belong to a host that was not
  // given.
  std::optional<std::string> expand(std::string_view entry, const PlannedObject& object) {
    for (std::string_view token : {"$ORIGIN", "${ORIGIN}"}) {
      if (entry.starts_with(token)) {
        return join_path(folder_of(object.name), entry.substr(token.size()));
      }
    }
    looked_in.push_back(fmt::format("{} (not among the inputs)", entry));
    return std::nullopt;
  }

  std::optional<Hit> try_folder(const std::string& folder, Found how) {
    looked_in.push_back(folder.empty() ? "site-packages" : folder);
    std::string path = join_path(folder, name);
    if (auto file = scene.by_path.find(path); file != scene.by_path.end()) {
      const FileFacts& facts = *scene.files[file->second].facts;
      // A wrong class or machine is passed over; anything else of that name ends the search, good
      // or not (glibc open_verify).
      bool skipped =
          facts.kind == FileKind::other_class || facts.kind == FileKind::other_machine ||
          (facts.kind == FileKind::elf && !facts.problem && facts.elf.machine != plan.machine);
      if (!skipped) return Hit{file->second, none, how, path};
    }
    if (auto assumed = scene.assumed_paths.find(path); assumed != scene.assumed_paths.end()) {
      return Hit{none, assumed->second, how, path};
    }
    return std::nullopt;
  }

  std::optional<Hit> try_list(const std::string& list, const PlannedObject& object, Found how) {
    for (std::size_t at = 0; at <= list.size();) {
      std::size_t end = std::min(list.find(':', at), list.size());
      std::optional<std::string> folder =
          expand(std::string_view(list).substr(at, end - at), object);
      if (folder) {
        if (std::optional<Hit> hit = try_folder(*folder, how)) return hit;
      }
      at = end + 1;
    }
    return std::nullopt;
  }

  // DT_RPATH of the requester and of whoever loaded it, up the chain; switched off altogether by a
  // DT_RUNPATH of the requester, and object by object by their own.
  std::optional<Hit> try_rpaths(std::size_t requester) {
    const ElfFacts* own = elf_of(scene, plan.objects[requester]);
    if (own && own->runpath) return std::nullopt;
    for (std::size_t at = requester; at != none; at = plan.objects[at].requested_by) {
      const ElfFacts* elf = elf_of(scene, plan.objects[at]);
      if (!elf || !elf->rpath || elf->runpath) continue;
      if (auto hit = try_list(*elf->rpath, plan.objects[at], Found::rpath)) return hit;
    }
    return std::nullopt;
  }

  // A library that is no Python module is opened by its package, which may open what it needs
  // first, as plugins and kernels expect: a file of the same package serves it then, whatever the
  // search path.
  std::optional<Hit> opened_before() const {
    const Load& load = plan.loads.back();
    std::size_t root = load.because.empty() ? plan.objects[load.root].file : none;
    if (root == none || is_module(*scene.files[root].facts)) return std::nullopt;
    std::size_t package = scene.files[root].package;
    std::size_t file = package == none ? none : file_of_package(scene, package, name);
    if (file == none) return std::nullopt;
    return Hit{file, none, Found::earlier, scene.files[file].facts->path};
  }

  // Found on no path: what the system or the driver is taken to have, and what a declared package
  // ships. A file of such a package serves even where no path leads to it, since packages that need
  // it open it from Python before; any other file that no path leads to is not found, as for the
  // loader.
  Hit assume() {
    Hit hit;
    hit.library = library_of(*scene.rules, name);
    if (hit.library == none) {
      if (!distro_package(name).empty()) hit.found = Found::system;
      return hit;
    }
    const LibraryRule& rule = scene.rules->libraries[hit.library];
    if (rule.kind == "driver") {
      hit.found = Found::driver;
    } else if (rule.kind == "system" || rule.kind == "python") {
      hit.found = Found::system;
    } else if (who_declares(scene.declared, rule) || who_declares(scene.optional, rule)) {
      hit.found = Found::declared;
      auto file = scene.by_name.find(std::string(name));
      if (file != scene.by_name.end()) {
        hit.file = file->second;
        hit.path = scene.files[file->second].facts->path;
      }
    } else if (rule.pip.empty() && (!rule.apt.empty() || !distro_package(name).empty())) {
      hit.found = Found::system;
    }
    return hit;
  }

  Hit run(std::size_t requester) {
    const PlannedObject& object = plan.objects[requester];
    if (name.find('/') != std::string_view::npos) {
      if (std::optional<std::string> path = expand(name, object)) {
        if (auto file = scene.by_path.find(*path); file != scene.by_path.end()) {
          return {file->second, none, Found::root, *path};
        }
      }
      return {};
    }
    if (std::optional<Hit> hit = try_rpaths(requester)) return *hit;
    const ElfFacts* elf = elf_of(scene, object);
    if (elf && elf->runpath) {
      if (auto hit = try_list(*elf->runpath, object, Found::runpath)) return *hit;
    }
    if (std::optional<Hit> hit = opened_before()) return *hit;
    return assume();
  }
};

std::size_t same_file(const LoadPlan& plan, std::size_t file) {
  for (std::size_t i = 0; i < plan.objects.size(); ++i) {
    if (plan.objects[i].file == file) return i;
  }
  return none;
}

// The object for one DT_NEEDED, newly planned where it is not in the process yet.
std::size_t need(const Scene& scene, LoadPlan& plan, std::size_t requester,
                 const std::string& name) {
  std::size_t known = loaded_as(scene, plan, name);
  if (known != none) return known;
  Search search{scene, plan, name, {}};
  Hit hit = search.run(requester);
  if (hit.file != none) {
    std::size_t same = same_file(plan, hit.file);
    if (same != none) {
      plan.objects[same].names.push_back(name);
      return same;
    }
  }
  PlannedObject object;
  object.file = hit.file;
  object.library = hit.library;
  object.name = hit.file == none ? name : hit.path;
  object.names = {name};
  object.found = hit.found;
  object.requested_by = requester;
  object.looked_in = std::move(search.looked_in);
  if (hit.file == none) object.from_path = hit.path;
  object.load = plan.loads.size() - 1;
  plan.objects.push_back(std::move(object));
  return plan.objects.size() - 1;
}

void close_over(const Scene& scene, LoadPlan& plan, std::size_t load_index, bool global) {
  std::vector<std::size_t> scope = {plan.loads[load_index].root};
  for (std::size_t at = 0; at < scope.size(); ++at) {
    std::size_t index = scope[at];
    const ElfFacts* elf = elf_of(scene, plan.objects[index]);
    if (elf && plan.objects[index].needed.empty()) {
      for (const std::string& name : elf->needed) {
        std::size_t needed = need(scene, plan, index, name);
        plan.objects[index].needed.push_back(needed);
      }
    }
    for (std::size_t needed : plan.objects[index].needed) {
      if (std::find(scope.begin(), scope.end(), needed) == scope.end()) scope.push_back(needed);
    }
  }
  if (global) {
    for (std::size_t index : scope) {
      auto& all = plan.global_scope;
      if (std::find(all.begin(), all.end(), index) == all.end()) all.push_back(index);
    }
  }
  plan.loads[load_index].scope = std::move(scope);
}

std::size_t add_load(LoadPlan& plan, std::string what, bool global, std::string because) {
  Load load;
  load.what = std::move(what);
  load.global = global;
  load.because = std::move(because);
  plan.loads.push_back(std::move(load));
  return plan.loads.size() - 1;
}

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

}  // namespace

std::size_t first_match(const Scene& scene, std::string_view pattern) {
  const std::string* best = nullptr;
  std::size_t file = none;
  for (const auto& [path, index] : scene.by_path) {
    if (matches(pattern, path) && (!best || path < *best)) {
      best = &path;
      file = index;
    }
  }
  return file;
}

namespace {

// One library of a preload list: the first match of the folders that torch looks in. False when
// there is none.
bool preload(const Scene& scene, LoadPlan& plan, const std::string& folder,
             const std::string& pattern, const std::string& because) {
  std::vector<std::string> folders = {"nvidia/" + folder + "/lib", "nvidia/cu*/lib",
                                      folder + "/lib"};
  for (const std::string& place : folders) {
    std::string wanted = place + "/" + pattern;
    std::size_t file = first_match(scene, wanted);
    if (file != none) {
      open_file(scene, plan, file, false, because);
      return true;
    }
    for (const auto& [path, library] : scene.assumed_paths) {
      if (!matches(wanted, path)) continue;
      open_assumed(scene, plan, library, path, because);
      return true;
    }
  }
  return false;
}

}  // namespace

const ElfFacts* elf_of(const Scene& scene, const PlannedObject& object) {
  if (object.file == none) return nullptr;
  const FileFacts& facts = *scene.files[object.file].facts;
  return facts.kind == FileKind::elf && !facts.problem ? &facts.elf : nullptr;
}

std::size_t loaded_as(const Scene& scene, const LoadPlan& plan, std::string_view name) {
  for (std::size_t i = 0; i < plan.objects.size(); ++i) {
    const PlannedObject& object = plan.objects[i];
    const ElfFacts* elf = elf_of(scene, object);
    if (elf && elf->soname == name) return i;
    if (std::find(object.names.begin(), object.names.end(), name) != object.names.end()) return i;
  }
  return none;
}

LoadPlan start_process(const Scene& scene, std::uint16_t machine) {
  LoadPlan plan;
  plan.machine = machine;
  PlannedObject interpreter;
  interpreter.name = "python" + scene.python;
  std::string plain = scene.python;
  if (plain.ends_with('t')) plain.pop_back();
  interpreter.library = library_of(*scene.rules, fmt::format("libpython{}.so.1.0", plain));
  if (interpreter.library == none) {  // up to 3.7 with the suffix of pymalloc
    interpreter.library = library_of(*scene.rules, fmt::format("libpython{}m.so.1.0", plain));
  }
  interpreter.names = {fmt::format("libpython{}.so.1.0", scene.python)};
  interpreter.found = Found::interpreter;
  plan.objects.push_back(interpreter);
  plan.global_scope = {0};
  constexpr std::uint16_t aarch64 = 183;  // EM_AARCH64
  const char* loader = machine == aarch64 ? "ld-linux-aarch64.so.1" : "ld-linux-x86-64.so.2";
  for (const char* name : {"libm.so.6", "libc.so.6", loader}) {
    plan.global_scope.push_back(plan.objects.size());
    PlannedObject system;
    system.name = name;
    system.names = {name};
    system.library = library_of(*scene.rules, name);
    system.found = Found::system;
    system.requested_by = 0;
    plan.objects.push_back(system);
  }
  return plan;
}

std::size_t open_file(const Scene& scene, LoadPlan& plan, std::size_t file, bool global,
                      std::string because) {
  const std::string& path = scene.files[file].facts->path;
  std::size_t load = add_load(plan, path, global, std::move(because));
  std::size_t root = same_file(plan, file);
  if (root == none) {
    PlannedObject object;
    object.file = file;
    object.name = path;
    object.names = {path};
    object.found = Found::root;
    object.load = load;
    plan.objects.push_back(std::move(object));
    root = plan.objects.size() - 1;
  }
  plan.loads[load].root = root;
  close_over(scene, plan, load, global);
  return load;
}

std::size_t open_assumed(const Scene& scene, LoadPlan& plan, std::size_t library,
                         const std::string& path, std::string because) {
  std::size_t load = add_load(plan, path, false, std::move(because));
  const std::string& soname = scene.rules->libraries[library].soname;
  std::size_t root = loaded_as(scene, plan, soname);
  if (root == none) {
    PlannedObject object;
    object.library = library;
    object.name = soname;
    object.names = {soname};
    object.found = Found::root;
    object.from_path = path;
    object.load = load;
    plan.objects.push_back(std::move(object));
    root = plan.objects.size() - 1;
  }
  plan.loads[load].root = root;
  close_over(scene, plan, load, false);
  return load;
}

void import_module(const Scene& scene, LoadPlan& plan, const ImportRule& rule,
                   const std::string& release) {
  std::string because = "import " + rule.module;
  for (const ImportStep& step : rule.steps) {
    if (!in_range(step, release)) continue;
    if (!step.only_if_loaded.empty() && !something_loaded(plan, step.only_if_loaded)) continue;
    std::size_t first = plan.loads.size();
    for (const auto& [folder, pattern] : step.preload) {
      if (!preload(scene, plan, folder, pattern, because)) break;
    }
    std::size_t file = first_match(scene, step.open);
    if (file != none) open_file(scene, plan, file, step.global, because);
    for (std::size_t load = first; load < plan.loads.size(); ++load) {
      plan.loads[load].optional = step.optional;
    }
  }
}

}  // namespace wheelvet
