#include "link/link.h"
#include "facts/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "link/opener.h"
#include "link/search_path.h"
#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

bool loadable(const FileFacts& facts) { return facts.kind == FileKind::elf && !facts.problem; }

// Sonames that a file needs, directly or through files of the scene.
std::set<std::string> needed_closure(const Scene& scene, std::size_t file) {
  std::set<std::string> names;
  std::vector<std::size_t> work = {file};
  while (!work.empty()) {
    std::size_t at = work.back();
    work.pop_back();
    for (const std::string& name : scene.files[at].facts->elf.needed) {
      if (!names.insert(name).second) continue;
      auto provider = scene.by_name.find(name);
      if (provider != scene.by_name.end()) work.push_back(provider->second);
    }
  }
  return names;
}

// The release of the package that an import rule speaks of; nothing when its first library is not
// among the inputs.
const PackageFacts* importable(const Scene& scene, const ImportRule& rule) {
  if (rule.steps.empty() || first_match(scene, rule.steps.front().open) == none) return nullptr;
  for (const ScenePackage& package : scene.packages) {
    bool there = !package.replaced && normalised_name(package.facts->name) == rule.package;
    if (there) return package.facts;
  }
  static const PackageFacts unknown;
  return &unknown;
}

// The loadable files of the targets or of the environment, in path order.
std::vector<std::size_t> files_to_judge(const Scene& scene, bool installed) {
  std::vector<std::size_t> files;
  for (const auto& [path, index] : scene.by_path) {
    const SceneFile& file = scene.files[index];
    bool wanted = installed ? file.installed && !file.target : file.target;
    // Of a release known by its history the imports are not known: it is no root.
    if (wanted && loadable(*file.facts) && !file.facts->known) files.push_back(index);
  }
  std::sort(files.begin(), files.end(), [&](std::size_t a, std::size_t b) {
    return scene.files[a].facts->path < scene.files[b].facts->path;
  });
  return files;
}

class Linker {
 public:
  Linker(const Scene& scene, const LinkOptions& options)
      : scene_(scene), options_(options), context_(scene, options.memory) {}

  Links run() {
    Links links;
    std::vector<std::size_t> roots = options_.alone ? files_to_judge(scene_, options_.installed)
                                                    : find_roots(scene_, options_.installed);
    leave_asked(roots);
    links.roots = link_all(roots);
    std::set<std::size_t> reached;
    for (const LinkedRoot& root : links.roots) {
      for (const PlannedObject& object : root.link.plan.objects) reached.insert(object.file);
    }
    auto add = [&](std::size_t file) {
      links.roots.push_back(link_root(file));
      for (const PlannedObject& object : links.roots.back().link.plan.objects) {
        reached.insert(object.file);
      }
    };
    // Files that need only each other, and those that a namesake stands in for, are in no plan yet.
    std::vector<std::size_t> rest = files_to_judge(scene_, options_.installed);
    leave_asked(rest);
    for (std::size_t file : rest) {
      if (!options_.alone && !reached.contains(file)) add(file);
    }
    std::sort(links.roots.begin(), links.roots.end(),
              [&](const LinkedRoot& a, const LinkedRoot& b) {
                return scene_.files[a.file].facts->path < scene_.files[b.file].facts->path;
              });
    links.imports = std::move(imports_);
    return links;
  }

 private:
  void leave_asked(std::vector<std::size_t>& files) const {
    if (options_.only.empty()) return;
    std::erase_if(files, [&](std::size_t file) {
      return !options_.only.contains(scene_.files[file].facts->path);
    });
  }

  std::vector<LinkedRoot> link_all(const std::vector<std::size_t>& files) {
    std::vector<LinkedRoot> roots(files.size());
    std::atomic<std::size_t> next{0};
    auto work = [&] {
      for (std::size_t i = next++; i < files.size(); i = next++) roots[i] = link_root(files[i]);
    };
    std::vector<std::jthread> pool;
    for (unsigned i = 1; i < options_.jobs && i < files.size(); ++i) pool.emplace_back(work);
    work();
    return roots;
  }

  // Modules of one folder have the same packages above them.
  const std::set<std::string>& imported_before(std::size_t file) {
    const std::string& path = scene_.files[file].facts->path;
    bool module = is_module(*scene_.files[file].facts);
    std::string key = module ? folder_of(path) : path;
    std::lock_guard lock(mutex_);
    auto known = imported_.find(key);
    if (known == imported_.end()) {
      known = imported_.emplace(key, imports_before(scene_, file)).first;
    }
    return known->second;
  }

  const PackageFacts* release_of(const ImportRule& rule) {
    std::lock_guard lock(mutex_);
    auto [known, fresh] = releases_.try_emplace(&rule);
    if (fresh) known->second = importable(scene_, rule);
    return known->second;
  }

  std::vector<const ImportRule*> imports_of(std::size_t file) {
    std::set<std::string> needed;
    if (!options_.alone) {
      needed = needed_closure(scene_, file);
      needed.insert(scene_.files[file].facts->elf.soname);
    }
    std::set<std::string> imported;
    if (!options_.alone) imported = imported_before(file);
    std::vector<const ImportRule*> out;
    for (const ImportRule& rule : scene_.rules->imports) {
      bool asked = std::find(options_.imports.begin(), options_.imports.end(), rule.module) !=
                   options_.imports.end();
      bool wanted = std::any_of(rule.needed_by.begin(), rule.needed_by.end(),
                                [&](const std::string& name) { return needed.contains(name); });
      const std::string& path = scene_.files[file].facts->path;
      bool before =
          !options_.alone &&
          (imported.contains(rule.module) ||
           std::any_of(rule.roots.begin(), rule.roots.end(),
                       [&](const std::string& pattern) { return matches(pattern, path); }));
      if ((asked || wanted || before) && release_of(rule)) out.push_back(&rule);
    }
    return out;
  }

  // The process after the imports, made once per list of imports.
  const Link& after_imports(const std::vector<const ImportRule*>& rules, std::uint16_t machine,
                            const std::string& key) {
    std::lock_guard lock(imports_mutex_);
    auto known = imports_.find(key);
    if (known != imports_.end()) return known->second;
    Link link;
    link.plan = start_process(scene_, machine);
    bind(context_, link, 0, options_.keep_bound);
    for (const ImportRule* rule : rules) {
      import_module(context_, link, *rule, release_of(*rule)->version, options_.keep_bound);
    }
    return imports_.emplace(key, std::move(link)).first->second;
  }

  // Libraries that a root's closure needs and that no search reaches, in the order of the search.
  static std::vector<std::string> unreached(const LinkedRoot& root) {
    const LoadPlan& plan = root.link.plan;
    std::vector<std::string> names;
    for (std::size_t index : plan.loads.back().scope) {
      const PlannedObject& object = plan.objects[index];
      bool nowhere = object.found == Found::declared || object.found == Found::absent;
      if (nowhere && object.file == none) names.push_back(object.name);
    }
    return names;
  }

  // The file that would serve a root under such a name if something had opened it: one of its own
  // package, where the package's source opens that file or is not at hand, else one of a package
  // that somebody declares.
  std::optional<OpenedFirst> helper_for(std::size_t root, const std::string& name) const {
    const SceneFile& of = scene_.files[root];
    std::size_t own = of.package == none ? none : file_of_package(scene_, of.package, name);
    if (own != none && own != root) {
      std::optional<Opener> opener = opener_of(scene_, own);
      if (opener) return OpenedFirst{own, true, opener->global, opener->place};
      if (!scene_.files[own].python_read && !is_module(*of.facts))
        return OpenedFirst{own, true, false, {}};
    }
    std::size_t library = library_of(*scene_.rules, name);
    auto there = scene_.by_name.find(name);
    if (library == none || there == scene_.by_name.end()) return std::nullopt;
    const LibraryRule& rule = scene_.rules->libraries[library];
    bool declared = who_declares(scene_.declared, rule) || who_declares(scene_.optional, rule);
    if (!declared) return std::nullopt;
    return OpenedFirst{there->second, false, false, {}};
  }

  // What has to be opened before a root so that all it needs is found, deepest first.
  void find_first(const LinkedRoot& root, std::vector<OpenedFirst>& first, int depth) {
    constexpr int deepest = 4;
    for (const std::string& name : unreached(root)) {
      std::optional<OpenedFirst> helper = helper_for(root.file, name);
      if (!helper) continue;
      bool known = std::any_of(first.begin(), first.end(),
                               [&](const OpenedFirst& each) { return each.file == helper->file; });
      if (known) continue;
      if (depth < deepest) {
        find_first(plan_after(helper->file, root.rules, first), first, depth + 1);
      }
      first.push_back(std::move(*helper));
    }
  }

  // What a process that opens the root holds, before the root itself is bound: which way it is
  // loaded follows from the plan alone, and binding takes far longer.
  LinkedRoot plan_after(std::size_t file, const std::vector<const ImportRule*>& rules,
                        const std::vector<OpenedFirst>& first) {
    LinkedRoot out;
    out.file = file;
    out.module = is_module(*scene_.files[file].facts);
    std::uint16_t machine = scene_.files[file].facts->elf.machine;
    out.before = fmt::format("{}:", machine);
    for (const ImportRule* rule : rules) {
      out.before += rule->module + ",";
      if (rule->statement) out.imports.push_back(rule->module);
    }
    const Link& before = after_imports(rules, machine, out.before);
    out.link.root_file = file;
    out.link.plan = before.plan;
    out.rules = rules;
    out.first = first;
    for (const OpenedFirst& each : first) {
      open_caught(context_, out.link, each.file, each.global, "opened first", options_.keep_bound);
    }
    std::size_t load = open_file(scene_, out.link.plan, file, false, "");
    out.root = out.link.plan.loads[load].root;
    return out;
  }

  LinkedRoot link_root(std::size_t file) {
    std::vector<const ImportRule*> rules = imports_of(file);
    LinkedRoot out = plan_with_helpers(file, rules);
    bind(context_, out.link, out.link.plan.loads.size() - 1, options_.keep_bound);
    if (std::optional<Opener> opener = opener_of(scene_, file)) {
      out.opener = opener->place;
      out.surely_opened = !opener->conditional;
    }
    return out;
  }

  LinkedRoot plan_with_helpers(std::size_t file, const std::vector<const ImportRule*>& rules) {
    LinkedRoot out = plan_after(file, rules, {});
    if (options_.alone || unreached(out).empty()) return out;
    // What no path leads to may be in the process already: a package that is used beside torch
    // finds torch's CUDA libraries by their sonames.
    for (const ImportRule& rule : scene_.rules->imports) {
      bool played = std::find(rules.begin(), rules.end(), &rule) != rules.end();
      if (played || !release_of(rule)) continue;
      std::vector<const ImportRule*> more = rules;
      more.push_back(&rule);
      LinkedRoot other = plan_after(file, more, {});
      if (unreached(other).size() >= unreached(out).size()) continue;
      out = std::move(other);
      out.only_after = rule.module;
      break;
    }
    std::vector<OpenedFirst> first;
    find_first(out, first, 0);
    if (first.empty()) return out;
    LinkedRoot helped = plan_after(file, out.rules, first);
    helped.only_after = out.only_after;
    return helped;
  }

  const Scene& scene_;
  const LinkOptions& options_;
  LinkContext context_;
  // What all roots share is made once, by whoever needs it first; entries never move.
  std::mutex mutex_, imports_mutex_;
  std::map<std::string, Link> imports_;
  std::map<std::string, std::set<std::string>> imported_;
  std::map<const ImportRule*, const PackageFacts*> releases_;  // null: not among the inputs
};

}  // namespace

bool fails(const Scene& scene, const LinkedRoot& root, const Links& links) {
  auto any_fails = [&](const Link& link, std::size_t first) {
    for (std::size_t load = first; load < link.plan.loads.size(); ++load) {
      bool caught = link.plan.loads[load].optional || link.plan.loads[load].failed;
      if (!caught && load_failed(scene, link, load)) return true;
    }
    return false;
  };
  const Link& before = links.imports.at(root.before);
  return any_fails(before, 0) || any_fails(root.link, before.plan.loads.size());
}

std::vector<std::size_t> find_roots(const Scene& scene, bool installed) {
  std::vector<std::size_t> files = files_to_judge(scene, installed);
  std::set<std::string_view> needed;
  for (std::size_t index : files) {
    for (const std::string& name : scene.files[index].facts->elf.needed) {
      needed.insert(base_name(name));
    }
  }
  std::erase_if(files, [&](std::size_t index) {
    const FileFacts& facts = *scene.files[index].facts;
    bool is_needed = needed.contains(base_name(facts.path)) ||
                     (!facts.elf.soname.empty() && needed.contains(facts.elf.soname));
    return is_needed && !is_module(facts);
  });
  return files;
}

Links link_scene(const Scene& scene, const LinkOptions& options) {
  for (const std::string& name : options.imports) {
    bool known = std::any_of(scene.rules->imports.begin(), scene.rules->imports.end(),
                             [&](const ImportRule& rule) { return rule.module == name; });
    if (!known) throw WrongUsage(fmt::format("--import {}: what it loads is not known", name));
    bool present = std::any_of(
        scene.rules->imports.begin(), scene.rules->imports.end(),
        [&](const ImportRule& rule) { return rule.module == name && importable(scene, rule); });
    if (!present) {
      throw WrongUsage(fmt::format("--import {}: it is not among the inputs; add --with", name));
    }
  }
  return Linker(scene, options).run();
}

}  // namespace wheelvet
