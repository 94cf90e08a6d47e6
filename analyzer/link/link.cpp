#include "link/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

bool loadable(const FileFacts& facts) {
  return facts.kind == FileKind::elf && !facts.problem;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

// Sonames that a file needs, directly or through files of the scene.
std::set<std::string> needed_closure(const Scene& scene,
                                     const std::map<std::string, std::size_t>& by_soname,
                                     std::size_t file) {
  std::set<std::string> names;
  std::vector<std::size_t> work = {file};
  while (!work.empty()) {
    std::size_t at = work.back();
    work.pop_back();
    for (const std::string& name : scene.files[at].facts->elf.needed) {
      if (!names.insert(name).second) continue;
      auto provider = by_soname.find(name);
      if (provider != by_soname.end()) work.push_back(provider->second);
    }
  }
  return names;
}

std::map<std::string, std::size_t> index_by_soname(const Scene& scene) {
  std::map<std::string, std::size_t> index;
  for (const auto& [path, file] : scene.by_path) {
    const FileFacts& facts = *scene.files[file].facts;
    if (!loadable(facts)) continue;
    index.emplace(base_name(path), file);
    if (!facts.elf.soname.empty()) index.emplace(facts.elf.soname, file);
  }
  return index;
}

// The release of the package that an import rule speaks of; nothing when its first library is not
// among the inputs.
const PackageFacts* importable(const Scene& scene, const ImportRule& rule) {
  if (rule.steps.empty() || first_match(scene, rule.steps.front().open) == none) return nullptr;
  for (const ScenePackage& package : scene.packages) {
    if (normalised_name(package.facts->name) == rule.package) return package.facts;
  }
  static const PackageFacts unknown;
  return &unknown;
}

class Linker {
 public:
  Linker(const Scene& scene, const LinkOptions& options)
      : scene_(scene), options_(options), context_(scene), by_soname_(index_by_soname(scene)) {}

  Links run() {
    Links links;
    for (std::size_t file : find_roots(scene_)) links.roots.push_back(link_root(file));
    links.imports = std::move(imports_);
    return links;
  }

 private:
  std::vector<const ImportRule*> imports_of(std::size_t file) {
    std::set<std::string> needed = needed_closure(scene_, by_soname_, file);
    needed.insert(scene_.files[file].facts->elf.soname);
    std::vector<const ImportRule*> out;
    for (const ImportRule& rule : scene_.rules->imports) {
      bool asked = std::find(options_.imports.begin(), options_.imports.end(), rule.module) !=
                   options_.imports.end();
      bool wanted = std::any_of(rule.needed_by.begin(), rule.needed_by.end(),
                                [&](const std::string& name) { return needed.contains(name); });
      if ((asked || wanted) && importable(scene_, rule)) out.push_back(&rule);
    }
    return out;
  }

  // The process after the imports, made once per list of imports.
  const Link& after_imports(const std::vector<const ImportRule*>& rules, const std::string& key) {
    auto known = imports_.find(key);
    if (known != imports_.end()) return known->second;
    Link link;
    link.plan = start_process(scene_);
    for (const ImportRule* rule : rules) {
      import_module(scene_, link.plan, *rule, importable(scene_, *rule)->version);
    }
    bind(context_, link, 0, options_.keep_bound);
    return imports_.emplace(key, std::move(link)).first->second;
  }

  LinkedRoot link_root(std::size_t file) {
    LinkedRoot out;
    out.file = file;
    out.module = is_module(*scene_.files[file].facts);
    std::vector<const ImportRule*> rules = imports_of(file);
    for (const ImportRule* rule : rules) out.imports.push_back(rule->module);
    const Link& before = after_imports(rules, fmt::format("{}", fmt::join(out.imports, ",")));
    out.link.root_file = file;
    out.link.plan = before.plan;
    std::size_t load = open_file(scene_, out.link.plan, file, false, "");
    out.root = out.link.plan.loads[load].root;
    bind(context_, out.link, load, options_.keep_bound);
    return out;
  }

  const Scene& scene_;
  const LinkOptions& options_;
  LinkContext context_;
  std::map<std::string, std::size_t> by_soname_;
  std::map<std::string, Link> imports_;
};

}  // namespace

std::vector<std::size_t> find_roots(const Scene& scene) {
  std::set<std::string_view> needed;
  for (const SceneFile& file : scene.files) {
    if (!file.target || !loadable(*file.facts)) continue;
    for (const std::string& name : file.facts->elf.needed) needed.insert(base_name(name));
  }
  std::vector<std::size_t> roots;
  for (const auto& [path, index] : scene.by_path) {
    const SceneFile& file = scene.files[index];
    if (!file.target || !loadable(*file.facts)) continue;
    const ElfFacts& elf = file.facts->elf;
    if (elf.machine != scene.machine) continue;
    bool is_needed = needed.contains(base_name(path)) ||
                     (!elf.soname.empty() && needed.contains(elf.soname));
    if (!is_needed || is_module(*file.facts)) roots.push_back(index);
  }
  std::sort(roots.begin(), roots.end(), [&](std::size_t a, std::size_t b) {
    return scene.files[a].facts->path < scene.files[b].facts->path;
  });
  return roots;
}

Links link_scene(const Scene& scene, const LinkOptions& options) {
  for (const std::string& name : options.imports) {
    bool known = std::any_of(scene.rules->imports.begin(), scene.rules->imports.end(),
                             [&](const ImportRule& rule) { return rule.module == name; });
    if (!known) throw WrongUsage(fmt::format("--import {}: what it loads is not known", name));
  }
  return Linker(scene, options).run();
}

}  // namespace wheelvet
