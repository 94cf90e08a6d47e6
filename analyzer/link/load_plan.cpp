#include <elf.h>
#include <fmt/format.h>

#include <algorithm>

#include "link/process.h"
#include "link/search_path.h"

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

  // A wrong class or machine is passed over; anything else of that name ends the search, good or
  // not (glibc elf/dl-load.c, open_verify).
  bool passed_over(const FileFacts& facts) const {
    return facts.kind == FileKind::other_class || facts.kind == FileKind::other_machine ||
           (facts.kind == FileKind::elf && !facts.problem && facts.elf.machine != plan.machine);
  }

  std::optional<Hit> try_path(const std::string& path, Found how) const {
    std::string key = place(scene, path);
    if (auto file = scene.by_path.find(key); file != scene.by_path.end()) {
      if (!passed_over(*scene.files[file->second].facts)) return Hit{file->second, none, how, key};
    }
    // A folder of that name can be opened and not be read, which ends the search.
    if (scene.folders.contains(key)) return Hit{none, none, Found::absent, key};
    if (auto assumed = scene.assumed_paths.find(key); assumed != scene.assumed_paths.end()) {
      return Hit{none, assumed->second, how, key};
    }
    return std::nullopt;
  }

  // One folder, its capability subfolders first.
  std::optional<Hit> try_folder(const std::string& folder, Found how) {
    std::string shown = place(scene, folder);
    looked_in.push_back(shown.empty() || shown == "." ? "site-packages" : shown);
    for (const std::string& capability : plan.capabilities) {
      std::string path = join_path(folder, fmt::format("{}/{}", capability, name));
      if (auto hit = try_path(path, how)) return hit;
    }
    return try_path(join_path(folder, name), how);
  }

  // The folder that an entry of a path stands for; nothing, said in looked_in, for one that is not
  // searched here.
  std::optional<std::string> folder_of_entry(std::string_view entry, const PlannedObject& object) {
    bool relative = !entry.starts_with('/') && entry.find('$') == std::string_view::npos;
    if (relative) {  // to the working directory of the process
      looked_in.push_back(fmt::format("{} (of the working directory)", entry));
      return std::nullopt;
    }
    std::string folder = expand_tokens(entry, folder_of(object.name), *scene.machine);
    if (folder.empty()) {
      looked_in.push_back(fmt::format("{} (not known)", entry));
      return std::nullopt;
    }
    if (folder.starts_with('/') && !scene.machine->given) {
      looked_in.push_back(fmt::format("{} (not among the inputs)", entry));
      return std::nullopt;
    }
    // ".." leads out of a folder that is there, or nowhere.
    for (std::size_t at = folder.find("/.."); at != std::string::npos;
         at = folder.find("/..", at + 1)) {
      if (!may_exist(scene, place(scene, join_path("", folder.substr(0, at))))) {
        looked_in.push_back(fmt::format("{} (a folder of it is not there)", entry));
        return std::nullopt;
      }
    }
    return join_path("", folder);
  }

  std::optional<Hit> try_list(const std::string& list, const PlannedObject& object, Found how) {
    for (const std::string& entry : split_search_path(list)) {
      std::optional<std::string> folder = folder_of_entry(entry, object);
      if (!folder) continue;
      if (std::optional<Hit> hit = try_folder(*folder, how)) return hit;
    }
    return std::nullopt;
  }

  std::optional<Hit> try_rpath_of(std::size_t index) {
    const ElfFacts* elf = elf_of(scene, plan.objects[index]);
    if (!elf || !elf->rpath || elf->runpath) return std::nullopt;
    return try_list(*elf->rpath, plan.objects[index], Found::rpath);
  }

  // DT_RPATH of the requester and of whoever loaded it, up the chain, then of the program; switched
  // off altogether by a DT_RUNPATH of the requester, and object by object by their own.
  std::optional<Hit> try_rpaths(std::size_t requester) {
    const ElfFacts* own = requester == none ? nullptr : elf_of(scene, plan.objects[requester]);
    if (own && own->runpath) return std::nullopt;
    bool program = false;
    for (std::size_t at = requester; at != none; at = plan.objects[at].requested_by) {
      if (auto hit = try_rpath_of(at)) return hit;
      program = program || at == 0;
    }
    return program ? std::nullopt : try_rpath_of(0);
  }

  // What the machine is set up with, after the paths of the objects (glibc _dl_map_object).
  std::optional<Hit> try_cache_and_built_in(const ElfFacts* requester) {
    bool no_default = requester && (requester->flags_1 & DF_1_NODEFLIB) != 0;
    const std::vector<std::string>& built_in = scene.machine->default_folders;
    if (auto cached = scene.machine->cache.find(std::string(name));
        cached != scene.machine->cache.end()) {
      std::string path = join_path("/", cached->second);
      bool default_folder = std::any_of(built_in.begin(), built_in.end(), [&](const auto& folder) {
        return path.starts_with(folder + "/");
      });
      looked_in.emplace_back("ld.so.cache");
      if (!no_default || !default_folder) {
        if (auto hit = try_path(path, Found::cache)) return hit;
      }
    }
    if (no_default) return std::nullopt;
    for (const std::string& folder : built_in) {
      if (auto hit = try_folder(folder, Found::built_in)) return hit;
    }
    return std::nullopt;
  }

  const Declared* declared_by(const LibraryRule& rule) const {
    const Declared* declared = who_declares(scene.declared, rule);
    return declared ? declared : who_declares(scene.optional, rule);
  }

  // Found on no path: what a declared package ships, and what the driver, or a system that nothing
  // is known of, is taken to have.
  Hit assume() {
    Hit hit;
    bool known_machine = scene.machine->given;
    hit.library = library_of(*scene.rules, name);
    if (hit.library == none) {
      if (!known_machine && !distro_package(name).empty()) hit.found = Found::system;
      return hit;
    }
    const LibraryRule& rule = scene.rules->libraries[hit.library];
    if (rule.kind == "driver") {
      if (!scene.machine->strict) hit.found = Found::driver;
    } else if (rule.kind == "system" || rule.kind == "python") {
      if (!known_machine) hit.found = Found::system;
    } else if (const Declared* declared = declared_by(rule)) {
      bool present = scene.by_name.contains(std::string(name));
      bool lacking = scene.complete.contains(declared->name);
      if (!present && !lacking && !declared->settled) hit.found = Found::declared;
    } else if (!known_machine && rule.pip.empty() &&
               (!rule.apt.empty() || !distro_package(name).empty())) {
      hit.found = Found::system;
    }
    return hit;
  }

  Hit run(std::size_t requester) {
    const PlannedObject* object = requester == none ? nullptr : &plan.objects[requester];
    if (name.find('/') != std::string_view::npos) {
      std::string origin = object ? folder_of(object->name) : std::string();
      std::string path = expand_tokens(name, origin, *scene.machine);
      std::optional<Hit> hit = try_path(join_path("", path), Found::root);
      return hit ? *hit : Hit{};
    }
    const ElfFacts* elf = object ? elf_of(scene, *object) : nullptr;
    if (std::optional<Hit> hit = try_rpaths(requester)) return *hit;
    for (const std::string& folder : scene.machine->library_path) {
      if (auto hit = try_folder(folder, Found::library_path)) return *hit;
    }
    if (elf && elf->runpath) {
      if (auto hit = try_list(*elf->runpath, *object, Found::runpath)) return *hit;
    }
    if (auto hit = try_cache_and_built_in(elf)) return *hit;
    // The loader itself is in every process, wherever the kernel found it (PT_INTERP).
    const std::string& loader = scene.machine->loader;
    if (!loader.empty() && loader.ends_with("/" + std::string(name))) {
      std::optional<Hit> hit = try_path(loader, Found::loaded);
      bool readable = hit && hit->file != none && !scene.files[hit->file].facts->problem &&
                      scene.files[hit->file].facts->kind == FileKind::elf;
      return readable ? *hit : Hit{none, library_of(*scene.rules, name), Found::system, {}};
    }
    return assume();
  }
};

// The object of the same file: of the same name, or of the same inode.
std::size_t same_file(const Scene& scene, const LoadPlan& plan, std::size_t file) {
  const FileFacts& wanted = *scene.files[file].facts;
  for (std::size_t i = 0; i < plan.objects.size(); ++i) {
    if (plan.objects[i].file == none) continue;
    const FileFacts& have = *scene.files[plan.objects[i].file].facts;
    bool same_inode =
        wanted.inode != 0 && have.inode == wanted.inode && have.device == wanted.device;
    if (&have == &wanted || same_inode) return i;
  }
  return none;
}

// The object for one DT_NEEDED or LD_PRELOAD, newly planned where it is not in the process yet.
std::size_t need(const Scene& scene, LoadPlan& plan, std::size_t requester,
                 const std::string& name) {
  std::size_t known = loaded_as(scene, plan, name);
  if (known != none) return known;
  Search search{scene, plan, name, {}};
  Hit hit = search.run(requester);
  if (hit.file != none) {
    std::size_t same = same_file(scene, plan, hit.file);
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

// What DT_AUXILIARY names stands before its owner in the scope when it is there, and nobody minds
// when it is not; what DT_FILTER names has to be there (glibc elf/dl-deps.c).
std::vector<std::size_t> filtees(const Scene& scene, LoadPlan& plan, std::size_t index,
                                 const ElfFacts& elf) {
  std::vector<std::size_t> out;
  for (const std::string& name : elf.auxiliaries) {
    std::size_t count = plan.objects.size();
    std::size_t object = need(scene, plan, index, name);
    if (object != count || plan.objects[object].found != Found::absent) {
      out.push_back(object);
    } else {
      plan.objects.pop_back();
    }
  }
  for (const std::string& name : elf.filters) out.push_back(need(scene, plan, index, name));
  return out;
}

bool contains(const std::vector<std::size_t>& list, std::size_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Breadth first from `scope`, which holds the objects to begin with.
void close_over(const Scene& scene, LoadPlan& plan, std::size_t load_index,
                std::vector<std::size_t> scope) {
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
      if (!contains(scope, needed)) scope.push_back(needed);
    }
    if (!elf || (elf->filters.empty() && elf->auxiliaries.empty())) continue;
    // What is put before its owner is closed over next.
    std::size_t first = at;
    for (std::size_t filtee : filtees(scene, plan, index, *elf)) {
      auto known = std::find(scope.begin(), scope.end(), filtee);
      if (known != scope.end() && known - scope.begin() <= static_cast<std::ptrdiff_t>(at))
        continue;
      if (known != scope.end()) scope.erase(known);
      scope.insert(scope.begin() + static_cast<std::ptrdiff_t>(at++), filtee);
    }
    if (at != first) at = first - 1;
  }
  if (plan.loads[load_index].global) {
    for (std::size_t index : scope) {
      if (!contains(plan.global_scope, index)) plan.global_scope.push_back(index);
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

}  // namespace

std::size_t first_match(const Scene& scene, std::string_view pattern) {
  for (const std::string& mount : scene.sys_path) {
    std::string wanted =
        mount.empty() ? std::string(pattern) : fmt::format("{}/{}", mount, pattern);
    if (wanted.find('*') == std::string::npos) {
      auto exact = scene.by_path.find(wanted);
      if (exact != scene.by_path.end()) return exact->second;
      continue;
    }
    const std::string* best = nullptr;
    std::size_t file = none;
    for (const auto& [path, index] : scene.by_path) {
      if (matches(wanted, path) && (!best || path < *best)) {
        best = &path;
        file = index;
      }
    }
    if (file != none) return file;
  }
  return none;
}

bool is_start(const LoadPlan& plan, const Load& load) {
  const PlannedObject& program = plan.objects.front();
  return load.root == 0 && program.found == Found::interpreter && program.file != none;
}

const ElfFacts* elf_of(const Scene& scene, const PlannedObject& object) {
  if (object.file == none) return nullptr;
  const FileFacts& facts = *scene.files[object.file].facts;
  return facts.kind == FileKind::elf && !facts.problem ? &facts.elf : nullptr;
}

std::size_t loaded_as(const Scene& scene, const LoadPlan& plan, std::string_view name) {
  for (std::size_t i = 0; i < plan.objects.size(); ++i) {
    const PlannedObject& object = plan.objects[i];
    // Asked for every need and every object: the names are compared before anything else.
    bool called = object.file != none && scene.files[object.file].facts->elf.soname == name;
    if (called && elf_of(scene, object)) return i;
    if (std::find(object.names.begin(), object.names.end(), name) != object.names.end()) return i;
  }
  return none;
}

namespace {

// An interpreter that nothing is known of but its release, and what every one loads.
void assume_interpreter(const Scene& scene, LoadPlan& plan) {
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
  const char* loader =
      plan.machine == EM_AARCH64 ? "ld-linux-aarch64.so.1" : "ld-linux-x86-64.so.2";
  bool has_libc = scene.machine->given && Search{scene, plan, "libc.so.6", {}}.run(0).file != none;
  if (has_libc) {
    // The machine's own: some of glibc's libraries known and others assumed would be no process.
    add_load(plan, interpreter.name, true, "start");
    plan.loads[0].root = 0;
    std::vector<std::size_t> scope = {0};
    for (const char* name : {"libm.so.6", "libc.so.6", loader}) {
      scope.push_back(need(scene, plan, 0, name));
    }
    close_over(scene, plan, 0, std::move(scope));
    return;
  }
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
}

// The subfolders tried first of which this stage has any: few machines fill one of them.
std::vector<std::string> used_capabilities(const Scene& scene) {
  std::vector<std::string> out;
  for (const std::string& capability : scene.machine->capabilities) {
    std::string inside = "/" + capability;
    bool used = std::any_of(scene.by_path.begin(), scene.by_path.end(), [&](const auto& file) {
      std::string_view path = file.first;
      return path.substr(0, path.find_last_of('/')).ends_with(inside);
    });
    if (used) out.push_back(capability);
  }
  return out;
}

// The machine's own interpreter, what is preloaded, and what they need.
void start_interpreter(const Scene& scene, LoadPlan& plan) {
  const FileFacts& file = *scene.files[scene.interpreter].facts;
  add_load(plan, file.path, true, "start");
  plan.loads[0].lazy = true;
  PlannedObject interpreter;
  interpreter.file = scene.interpreter;
  interpreter.name = file.path;
  interpreter.names = {file.path};
  interpreter.found = Found::interpreter;
  plan.objects.push_back(interpreter);
  plan.loads[0].root = 0;
  std::vector<std::size_t> scope = {0};
  for (const std::string& name : scene.machine->preload) {
    std::size_t count = plan.objects.size();
    std::size_t object = need(scene, plan, none, name);
    if (object != count) continue;
    if (plan.objects[object].found == Found::absent) {
      plan.objects.pop_back();  // said on standard error, and ignored
      continue;
    }
    plan.objects[object].found = Found::preload;
    scope.push_back(object);
  }
  close_over(scene, plan, 0, std::move(scope));
}

}  // namespace

LoadPlan start_process(const Scene& scene, std::uint16_t machine) {
  LoadPlan plan;
  plan.machine = machine;
  plan.capabilities = used_capabilities(scene);
  PlannedObject interpreter;
  interpreter.file = scene.interpreter;
  const ElfFacts* elf = elf_of(scene, interpreter);
  bool known = elf && elf->machine == machine;
  if (known) {
    start_interpreter(scene, plan);
  } else {
    assume_interpreter(scene, plan);
  }
  return plan;
}

std::size_t open_file(const Scene& scene, LoadPlan& plan, std::size_t file, bool global,
                      std::string because) {
  const std::string& path = scene.files[file].facts->path;
  std::size_t load = add_load(plan, path, global, std::move(because));
  std::size_t root = same_file(scene, plan, file);
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
  close_over(scene, plan, load, {root});
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
  close_over(scene, plan, load, {root});
  return load;
}

Found found_by(const Scene& scene, const LoadPlan& plan, std::size_t caller,
               const std::string& name) {
  if (loaded_as(scene, plan, name) != none) return Found::loaded;
  return Search{scene, plan, name, {}}.run(caller).found;
}

}  // namespace wheelvet
