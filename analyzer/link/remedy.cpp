#include "link/remedy.h"

#include <algorithm>
#include <map>

#include "link/search_path.h"

namespace wheelvet {
namespace {

bool absent(const PlannedObject& object) {
  return object.found == Found::absent && object.file == none;
}

// Sonames that some root's load asks for in vain. What the targets break in the environment is
// judged before and after already.
std::set<std::string> absent_names(const Links& links) {
  std::set<std::string> out;
  for (const LinkedRoot& root : links.roots) {
    if (root.broken) continue;
    for (const PlannedObject& object : root.link.plan.objects) {
      if (absent(object)) out.insert(object.name);
    }
  }
  return out;
}

// The folder of an input's file of that name, absolute; empty when there is none.
std::string folder_among_inputs(const Scene& scene, const std::string& name) {
  auto there = scene.by_name.find(name);
  if (there == scene.by_name.end()) return {};
  std::string path = join_path(scene.machine->site, scene.files[there->second].facts->path);
  return path.starts_with('/') ? folder_of(path) : std::string();
}

std::vector<Remedy> candidates(const Scene& scene, const Links& links) {
  std::vector<Remedy> out;
  for (const std::string& name : absent_names(links)) {
    Remedy remedy;
    if (const ToolkitFolder* toolkit = toolkit_with(*scene.machine, name)) {
      remedy.folder = toolkit->path;
      remedy.release = toolkit->release;
      remedy.toolkit = true;
    } else {
      remedy.folder = folder_among_inputs(scene, name);
    }
    if (remedy.folder.empty()) continue;
    auto known = std::find_if(out.begin(), out.end(),
                              [&](const Remedy& each) { return each.folder == remedy.folder; });
    if (known == out.end()) known = out.insert(out.end(), std::move(remedy));
    known->libraries.insert(name);
  }
  return out;
}

// The machine with the folders of the remedies in place. What the cache has already stays.
Machine with_folders(const Machine& machine, const std::vector<Remedy>& remedies) {
  Machine out = machine;
  for (const Remedy& remedy : remedies) {
    if (!remedy.toolkit) out.library_path.push_back(remedy.folder);
    for (const ToolkitFolder& toolkit : machine.toolkits) {
      if (toolkit.path != remedy.folder) continue;
      for (const auto& [name, real] : toolkit.files) {
        out.cache.emplace(name, toolkit.path + "/" + name);
      }
    }
  }
  return out;
}

// True when a root's load asks in vain for a library that one of the folders has.
bool asks_for(const LinkedRoot& root, const std::vector<Remedy>& remedies) {
  const std::vector<PlannedObject>& objects = root.link.plan.objects;
  return std::any_of(objects.begin(), objects.end(), [&](const PlannedObject& object) {
    return absent(object) && std::any_of(remedies.begin(), remedies.end(), [&](const Remedy& each) {
             return each.libraries.contains(object.name);
           });
  });
}

std::map<std::string, const LinkedRoot*> by_path(const Scene& scene, const Links& links) {
  std::map<std::string, const LinkedRoot*> out;
  for (const LinkedRoot& root : links.roots) {
    out.emplace(scene.files[root.file].facts->path, &root);
  }
  return out;
}

}  // namespace

const ToolkitFolder* toolkit_with(const Machine& machine, const std::string& name) {
  for (const ToolkitFolder& toolkit : machine.toolkits) {
    if (toolkit.files.contains(name)) return &toolkit;
  }
  return nullptr;
}

std::vector<Remedy> try_remedies(const std::vector<Input>& inputs, const Scene& scene,
                                 const LinkOptions& options, const Links& links) {
  if (!scene.machine->given) return {};
  std::vector<Remedy> remedies = candidates(scene, links);
  if (remedies.empty()) return {};
  Machine machine = with_folders(*scene.machine, remedies);
  Scene after = set_scene(inputs, *scene.facts, *scene.rules, machine, scene.python);
  after.exact = scene.exact;
  LinkOptions narrowed = options;
  for (const LinkedRoot& root : links.roots) {
    if (!root.broken && asks_for(root, remedies))
      narrowed.only.insert(scene.files[root.file].facts->path);
  }
  Links linked = link_scene(after, narrowed);
  std::set<std::string> still_absent = absent_names(linked);
  std::map<std::string, const LinkedRoot*> before = by_path(scene, links);
  std::set<std::string> mended;
  for (const auto& [path, root] : by_path(after, linked)) {
    auto old = before.find(path);
    bool failed = old != before.end() && fails(scene, *old->second, links);
    if (failed && !fails(after, *root, linked)) mended.insert(path);
  }
  for (Remedy& remedy : remedies) {
    std::erase_if(remedy.libraries,
                  [&](const std::string& name) { return still_absent.contains(name); });
    for (const std::string& path : mended) {
      if (asks_for(*before.at(path), {remedy})) remedy.mended.insert(path);
    }
  }
  std::erase_if(remedies, [](const Remedy& remedy) { return remedy.libraries.empty(); });
  return remedies;
}

}  // namespace wheelvet
