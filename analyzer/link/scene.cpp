#include "link/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "facts/metadata.h"
#include "facts/requirement.h"
#include "facts/wheel_tag.h"
#include "link/lookup.h"
#include "link/search_path.h"
#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

// The package whose extras stand for the wheels of one CUDA release.
constexpr std::string_view toolkit = "cuda-toolkit";

// The major release of CUDA that a package is for: "12" of nvidia-cublas-cu12; the names without a
// suffix began with 13.
std::string_view cuda_major(std::string_view package) {
  std::size_t at = package.rfind("-cu");
  if (at == std::string_view::npos) return "13";
  std::string_view number = package.substr(at + 3);
  return number.find_first_not_of("0123456789") == std::string_view::npos ? number : "13";
}

bool of_release(const LibraryRule& rule, std::string_view release) {
  std::string_view major = release.substr(0, release.find('.'));
  return major.empty() || std::any_of(rule.pip.begin(), rule.pip.end(), [&](const auto& package) {
           return package != toolkit && cuda_major(package) == major;
         });
}

void add_requirements(Scene& scene, const PackageFacts& package, bool settled) {
  for (const std::string& requirement : package.requirements) {
    std::string extra = extra_of(requirement);
    auto [name, pinned] = read_requirement(
        extra.empty() ? requirement : requirement.substr(0, requirement.find(';')));
    if (name.empty()) continue;
    auto& list = extra.empty() ? scene.declared : scene.optional;
    Declared entry{fmt::format("{} {}", package.name, package.version), pinned, extra, name,
                   settled};
    auto [known, fresh] = list.emplace(name, entry);
    if (!fresh && known->second.settled && !settled) known->second = entry;
  }
}

// Every package once. A target takes the place of a provider's package of its name, as an
// installation would, and of two in one environment the first on sys.path is imported; two releases
// of one package among wheels of the same side are no process.
void add_packages(Scene& scene, const std::vector<Input>& inputs, const Facts& facts,
                  bool without_targets) {
  std::map<std::string, std::size_t> seen;
  std::set<std::string> given_instead;
  for (const InputFacts& input : facts.inputs) {
    if (!inputs[input.input].instead) continue;
    for (const PackageFacts& package : input.packages) {
      given_instead.insert(normalised_name(package.name));
    }
  }
  for (const InputFacts& input : facts.inputs) {  // targets come first
    const Input& of = inputs[input.input];
    bool installed = !inputs[input.input].location.empty();
    for (const PackageFacts& package : input.packages) {
      bool target = of.target;
      if (target && without_targets) continue;
      if (!of.instead && given_instead.contains(normalised_name(package.name))) {
        scene.packages.push_back({&package, input.input, target, true});
        continue;
      }
      auto [known, fresh] = seen.emplace(normalised_name(package.name), scene.packages.size());
      ScenePackage entry{&package, input.input, target, false};
      if (!fresh) {
        const ScenePackage& other = scene.packages[known->second];
        entry.replaced = (other.target && !target) || installed;
        if (!entry.replaced && other.facts->version != package.version) {
          throw WrongUsage(fmt::format("{} {} and {} {} are both given: a process has one of them",
                                       package.name, package.version, package.name,
                                       other.facts->version));
        }
      }
      scene.packages.push_back(entry);
      if (!entry.replaced) add_requirements(scene, package, installed);
    }
  }
}

// The packages of one input, and which of them its RECORD gives a folder to.
struct Owners {
  std::vector<std::size_t> all;
  std::unordered_map<std::string, std::size_t> by_top, by_file;

  Owners(const Scene& scene, std::size_t input) {
    for (std::size_t i = 0; i < scene.packages.size(); ++i) {
      if (scene.packages[i].input != input) continue;
      all.push_back(i);
      for (const std::string& top : scene.packages[i].facts->top_level) by_top.emplace(top, i);
      for (const std::string& path : scene.packages[i].facts->libraries) by_file.emplace(path, i);
    }
  }

  // The input's only package, else the one whose RECORD lists the file, or has its first two
  // folders, or its first. `path` is relative to the input's folder.
  std::size_t of(const std::string& path) const {
    if (all.size() == 1) return all.front();
    if (auto listed = by_file.find(path); listed != by_file.end()) return listed->second;
    std::size_t slash = path.find('/');
    std::string two = slash == std::string::npos ? path : path.substr(0, path.find('/', slash + 1));
    for (const std::string& top : {two, path.substr(0, slash)}) {
      auto known = by_top.find(top);
      if (known != by_top.end()) return known->second;
    }
    return none;
  }
};

void add_files(Scene& scene, const std::vector<Input>& inputs, const Facts& facts,
               bool without_targets) {
  for (bool targets : {false, true}) {
    for (const InputFacts& input : facts.inputs) {
      if (inputs[input.input].target != targets || (targets && without_targets)) continue;
      Owners owners(scene, input.input);
      for (const FileFacts& file : input.files) {
        std::size_t package = owners.of(installed_path(file.member));
        if (package != none && scene.packages[package].replaced) continue;
        scene.files.push_back({&file, input.input, package, targets, input.python_read,
                               inputs[input.input].kind != InputKind::machine &&
                                   !inputs[input.input].location.empty()});
        auto [at, fresh] = scene.by_path.emplace(place(scene, file.path), scene.files.size() - 1);
        if (!fresh) {
          scene.conflicts.push_back({at->second, scene.files.size() - 1});
          at->second = scene.files.size() - 1;
        }
      }
    }
  }
}

// Folders of all members, each with the folders above it.
void add_folders(Scene& scene, const std::vector<Input>& inputs) {
  for (const Input& input : inputs) {
    std::string last;
    for (const Member& member : input.members) {
      std::size_t slash = member.name.rfind('/');
      std::string_view folder = std::string_view(member.name).substr(0, slash);
      if (slash == std::string::npos || folder == last) continue;
      last = folder;
      std::string path =
          input.mount.empty() ? installed_path(member.name) : input.mount + "/" + member.name;
      for (std::string up = folder_of(place(scene, path)); !up.empty() && up != "/";
           up = folder_of(up)) {
        if (!scene.folders.insert(up).second) break;
      }
    }
  }
}

// For libraries that are there but on no path searched. In path order, so that it is always the
// same one.
void add_names(Scene& scene, const std::vector<Input>& inputs) {
  std::map<std::string, std::size_t> ordered(scene.by_path.begin(), scene.by_path.end());
  for (const auto& [path, file] : ordered) {
    const FileFacts& facts = *scene.files[file].facts;
    bool on_machine = inputs[scene.files[file].input].kind == InputKind::machine;
    if (facts.kind != FileKind::elf || facts.problem || on_machine) continue;
    scene.by_name.emplace(path.substr(path.find_last_of('/') + 1), file);
  }
}

void add_complete(Scene& scene) {
  std::set<std::size_t> doubtful;
  for (const SceneFile& file : scene.files) {
    if (file.package == none) continue;
    bool unread_build = file.facts->known && !file.facts->known->needs_known;
    if (file.facts->problem || unread_build) doubtful.insert(file.package);
    if (file.facts->kind != FileKind::elf) continue;
    scene.complete.insert(normalised_name(scene.packages[file.package].facts->name));
  }
  for (std::size_t package : doubtful) {
    scene.complete.erase(normalised_name(scene.packages[package].facts->name));
  }
}

void add_assumed_paths(Scene& scene) {
  std::set<std::string> present;
  for (const ScenePackage& package : scene.packages) {
    present.insert(normalised_name(package.facts->name));
  }
  for (std::size_t i = 0; i < scene.rules->libraries.size(); ++i) {
    const LibraryRule& rule = scene.rules->libraries[i];
    bool is_present =
        std::any_of(rule.pip.begin(), rule.pip.end(), [&](const std::string& package) {
          return package != toolkit && present.contains(package);
        });
    const Declared* declared = who_declares(scene.declared, rule);
    if (is_present || !declared || declared->settled) continue;
    for (const std::string& folder : rule.path) {
      scene.assumed_paths.emplace(join_path(folder, rule.soname), i);
    }
  }
}

// "cpython-312-x86_64-linux-gnu" in a file name, as "3.12".
std::string python_of_suffix(std::string_view path) {
  std::size_t at = path.find(".cpython-3");
  if (at == std::string_view::npos) return {};
  std::string_view rest = path.substr(at + 10);
  std::string_view minor = rest.substr(0, rest.find_first_of("-."));
  return fmt::format("3.{}", minor);
}

void choose_python(Scene& scene, const std::string& wanted) {
  if (!wanted.empty() && !is_python_release(wanted)) {
    throw WrongUsage(fmt::format("--python {}: not of the form 3.12 or 3.13t", wanted));
  }
  if (!wanted.empty()) {
    scene.python = wanted;
    scene.python_reason = "--python";
    return;
  }
  if (!scene.machine->python.empty()) {
    scene.python = scene.machine->python;
    scene.python_reason = "the environment's";
    return;
  }
  std::string floor;
  for (bool targets : {true, false}) {
    for (const ScenePackage& package : scene.packages) {
      if (package.target != targets) continue;
      for (const std::string& tag : package.facts->tags) {
        if (std::string version = python_of_tag(tag); !version.empty()) {
          scene.python = version;
          scene.python_reason = fmt::format("tag of {}", package.facts->name);
          return;
        }
        if (tag.starts_with("cp3") && floor.empty()) {
          floor = fmt::format("3.{}", tag.substr(3, tag.find('-') - 3));
        }
      }
    }
  }
  for (const SceneFile& file : scene.files) {
    if (std::string version = python_of_suffix(file.facts->path); !version.empty()) {
      scene.python = version;
      scene.python_reason = "suffix of " + file.facts->path;
      return;
    }
  }
  scene.python = floor.empty() ? "3.12" : floor;
  scene.python_reason = floor.empty() ? "default" : "oldest that the abi3 tag allows";
}

}  // namespace

std::pair<std::string, std::string> read_requirement(std::string_view text) {
  std::optional<Requirement> read = read_pep508(text).requirement;
  if (!read || (read->marker && !extra_in(*read->marker).empty())) return {};
  for (const VersionClause& clause : read->clauses) {
    bool pins = clause.comparison == "==" || clause.comparison == "===";
    if (pins) return {read->name, clause.version};
  }
  return {read->name, {}};
}

std::string extra_of(std::string_view requirement) {
  std::optional<Requirement> read = read_pep508(requirement).requirement;
  return read && read->marker ? extra_in(*read->marker) : std::string();
}

const Declared* who_declares(const std::map<std::string, Declared>& list, const LibraryRule& rule) {
  for (const std::string& package : rule.pip) {
    auto declared = list.find(package);
    if (declared == list.end()) continue;
    if (package != toolkit || of_release(rule, declared->second.pinned)) return &declared->second;
  }
  return nullptr;
}

std::size_t file_of_package(const Scene& scene, std::size_t package, std::string_view name) {
  for (std::size_t i = 0; i < scene.files.size(); ++i) {
    const FileFacts& facts = *scene.files[i].facts;
    if (scene.files[i].package != package || facts.kind != FileKind::elf || facts.problem) continue;
    std::string_view path = facts.path;
    if (path.substr(path.find_last_of('/') + 1) == name || facts.elf.soname == name) return i;
  }
  return none;
}

std::string_view module_name(std::string_view path) {
  std::string_view base = path.substr(path.find_last_of('/') + 1);
  return base.substr(0, base.find('.'));
}

bool is_module(const FileFacts& file) {
  if (file.kind != FileKind::elf || file.problem) return false;
  VersionNames versions(file.elf);
  std::string name = fmt::format("PyInit_{}", module_name(file.path));
  return find_definition(file.elf, versions, LookupName(name), std::nullopt).has_value();
}

std::string place(const Scene& scene, const std::string& path) {
  const std::string& site = scene.machine->site;
  if (site.empty()) return path;
  std::string whole = path.starts_with("../") ? join_path(site, path) : path;
  return whole.starts_with(site + "/") ? whole.substr(site.size() + 1) : whole;
}

bool may_exist(const Scene& scene, const std::string& folder) {
  bool outside = folder.starts_with('/') || folder.starts_with("..");
  return outside || folder.empty() || scene.folders.contains(folder);
}

Scene set_scene(const std::vector<Input>& inputs, const Facts& facts, const Rules& rules,
                const Machine& machine, const std::string& python, bool without_targets) {
  Scene scene;
  scene.rules = &rules;
  scene.machine = &machine;
  scene.facts = &facts;
  for (const InputFacts& input : facts.inputs) {
    for (const PythonFacts& file : input.python) scene.python_files.emplace(file.path, &file);
  }
  for (const Input& input : inputs) {
    bool folder = input.kind != InputKind::machine && !input.location.empty();
    if (folder) scene.sys_path.push_back(input.mount);
  }
  if (scene.sys_path.empty()) scene.sys_path.emplace_back();
  add_packages(scene, inputs, facts, without_targets);
  add_files(scene, inputs, facts, without_targets);
  add_folders(scene, inputs);
  add_names(scene, inputs);
  add_complete(scene);
  add_assumed_paths(scene);
  choose_python(scene, python);
  auto interpreter = scene.by_path.find(machine.interpreter);
  if (interpreter != scene.by_path.end()) scene.interpreter = interpreter->second;
  return scene;
}

}  // namespace wheelvet
