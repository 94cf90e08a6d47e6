// Several copies of one library: in one process, or in processes that one could have been.
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "checks/checks.h"
#include "checks/cuda_closure.h"
#include "facts/metadata.h"
#include "link/demangle.h"
#include "link/lookup.h"
#include "rules/cuda_rules.h"

namespace wheelvet {
namespace {

bool is_one(const SingleRule& rule, std::string_view name) {
  return std::any_of(rule.names.begin(), rule.names.end(),
                     [&](const std::string& pattern) { return matches(pattern, name); });
}

// Short paths of the objects of a plan that ask for one of them by name.
std::vector<std::string> users_of(const LoadPlan& plan, std::size_t index) {
  std::vector<std::string> out;
  for (const PlannedObject& object : plan.objects) {
    bool needs =
        std::find(object.needed.begin(), object.needed.end(), index) != object.needed.end();
    if (needs && out.size() < 3) add_once(out, std::string(base_name(object.name)));
  }
  return out;
}

// Two copies in the process of one root.
void in_one_process(const Run& run, const RootView& view, const SingleRule& rule,
                    FindingSet& found) {
  const LoadPlan& plan = view.root->link.plan;
  std::vector<std::size_t> copies;
  for (std::size_t index : view.objects) {
    const PlannedObject& object = view.object(index);
    if (object.file != none && is_one(rule, known_name(run, object))) copies.push_back(index);
  }
  if (copies.size() < 2) return;
  std::string key = rule.name;
  for (std::size_t index : copies) key += "\n" + plan.objects[index].name;
  Finding& finding = found.at(key, "DUP-001", rule.warn ? Severity::warning : Severity::note);
  finding.title = fmt::format("{} copies of {} in one process", copies.size(), rule.name);
  finding.cause = rule.why;
  finding.fix = "none, where nothing passes from one to the other; else builds that share one copy";
  for (std::size_t index : copies) {
    const PlannedObject& object = plan.objects[index];
    std::vector<std::string> users = users_of(plan, index);
    add_once(finding.evidence,
             fmt::format("{} ({}){}", object.name, cuda_owner_of(run, object.file),
                         users.empty() ? ", opened by its path"
                                       : fmt::format(", for {}", fmt::join(users, ", "))));
    add_once(finding.objects, object.name);
  }
  add_once(finding.roots, view.path);
}

// Which file a process gets for a name, root by root.
struct Taken {
  std::vector<const RootView*> views;
  std::set<std::size_t> users;  // files that ask for it by name
};
using ByFile = std::map<std::size_t, Taken>;

std::map<std::string, ByFile> files_by_name(const Run& run, const std::vector<RootView>& roots,
                                            const SingleRule& rule) {
  std::map<std::string, ByFile> out;
  for (const RootView& view : roots) {
    if (!view.root->module && !view.root->surely_opened) continue;
    const LoadPlan& plan = view.root->link.plan;
    for (std::size_t index : view.objects) {
      const PlannedObject& object = view.object(index);
      if (object.file == none || !is_one(rule, known_name(run, object))) continue;
      for (const PlannedObject& user : plan.objects) {
        for (std::size_t i = 0; i < user.needed.size() && user.file != none; ++i) {
          const ElfFacts* elf = elf_of(run.scene, user);
          if (user.needed[i] != index || !elf || i >= elf->needed.size()) continue;
          Taken& taken = out[elf->needed[i]][object.file];
          taken.users.insert(user.file);
          bool known = !taken.views.empty() && taken.views.back() == &view;
          if (!known) taken.views.push_back(&view);
        }
      }
    }
  }
  return out;
}

// Names that the users of one copy import from it and that another copy lacks.
std::set<std::string> lacking(const Run& run, const Taken& users, std::size_t own,
                              std::size_t other) {
  const ElfFacts& have = run.scene.files[own].facts->elf;
  const ElfFacts& instead = run.scene.files[other].facts->elf;
  VersionNames own_versions(have), other_versions(instead);
  std::set<std::string> out;
  for (std::size_t user : users.users) {
    const ElfFacts& elf = run.scene.files[user].facts->elf;
    for (std::size_t i = 1; i < elf.symbols.count; ++i) {
      if (!elf.symbols.undefined(i) || !elf.symbols.relocations[i]) continue;
      Symbol symbol = elf.symbols.at(i);
      if (symbol.binding == STB_WEAK) continue;
      LookupName name(symbol.name);
      bool from_own = find_definition(have, own_versions, name, std::nullopt).has_value();
      if (!from_own) continue;
      if (!find_definition(instead, other_versions, name, std::nullopt)) {
        out.emplace(symbol.name);
      }
    }
  }
  return out;
}

// Two files of one name, each first in the processes of some roots: in a process that holds both
// roots the first one loaded serves both.
void by_import_order(const Run& run, const std::string& name, const ByFile& files,
                     FindingSet& found) {
  Finding& finding = found.at(name, "DUP-002", Severity::note);
  finding.title = fmt::format("which {} a process gets hangs on what is imported first", name);
  finding.cause =
      "an object of that name in the process is taken, whatever path a search would find";
  finding.fix = "none, where either will do";
  for (const auto& [file, taken] : files) {
    std::string version = version_of(run, file);
    const std::string& path = run.scene.files[file].facts->path;
    add_once(
        finding.evidence,
        fmt::format(
            "{} ({}{}): {}{}", path, cuda_owner_of(run, file),
            version.empty() ? "" : ", " + version, taken.views.front()->path,
            taken.views.size() > 1 ? fmt::format(" and {} more", taken.views.size() - 1) : ""));
    add_once(finding.objects, path);
    for (const auto& [other, instead] : files) {
      if (other == file) continue;
      std::set<std::string> names = lacking(run, taken, file, other);
      if (names.empty()) continue;
      finding.severity = Severity::warning;
      finding.fix =
          fmt::format("import {} first, or remove the older copy", taken.views.front()->path);
      add_once(finding.evidence,
               fmt::format("{} lacks {} that others need: {}", run.scene.files[other].facts->path,
                           names.size(), *names.begin()));
      for (const RootView* view : taken.views) add_once(finding.roots, view->path);
    }
  }
}

// The host side of a __global__ function, which nvcc gives a name of its own: if two objects of one
// scope give out the same one, the runtime gets one host function for two kernels.
std::vector<std::string_view> stubs_of(const ElfFacts& elf) {
  std::vector<std::string_view> out;
  constexpr std::string_view mark = "__device_stub__";
  // Few files have any, and the names of others need not be walked one by one.
  const std::vector<std::uint8_t>& strings = elf.symbols.strings;
  if (!memmem(strings.data(), strings.size(), mark.data(), mark.size())) return out;
  for (std::size_t i = 1; i < elf.symbols.count; ++i) {
    if (elf.symbols.undefined(i)) continue;
    std::string_view name = elf.symbols.name(i);
    if (name.find(mark) == std::string_view::npos) continue;
    Symbol symbol = elf.symbols.at(i);
    bool given_out = symbol.visibility == STV_DEFAULT && symbol.binding != STB_LOCAL;
    if (given_out) out.push_back(name);
  }
  return out;
}

// Files of the scene that give out the same stubs, by pairs, the lower index first.
using SharedStubs = std::map<std::pair<std::size_t, std::size_t>, std::vector<std::string_view>>;

SharedStubs shared_stubs(const Run& run, const std::vector<RootView>& roots) {
  std::set<std::size_t> files;
  for (const RootView& view : roots) {
    for (const Load& load : view.root->link.plan.loads) {
      for (std::size_t index : load.scope) {
        const PlannedObject& object = view.object(index);
        if (object.file != none && elf_of(run.scene, object)) files.insert(object.file);
      }
    }
  }
  FileMemory own;
  FileMemory& memory = run.memory ? *run.memory : own;
  std::unordered_map<std::string_view, std::vector<std::size_t>> givers;
  for (std::size_t file : files) {
    const FileFacts* facts = run.scene.files[file].facts;
    if (facts->known) continue;  // no names of its own, and not there for long
    auto [known, fresh] = memory.stubs.try_emplace(facts);
    if (fresh) known->second = stubs_of(facts->elf);
    for (std::string_view stub : known->second) givers[stub].push_back(file);
  }
  SharedStubs out;
  constexpr std::size_t most_givers = 16;  // of one name: a hostile folder may hold any number
  for (auto& [stub, list] : givers) {
    list.resize(std::min(list.size(), most_givers));
    for (std::size_t i = 0; i < list.size(); ++i) {
      for (std::size_t k = i + 1; k < list.size(); ++k) out[{list[i], list[k]}].push_back(stub);
    }
  }
  for (auto& [pair, stubs] : out) std::sort(stubs.begin(), stubs.end());
  return out;
}

void same_kernel(const RootView& view, const SharedStubs& shared, FindingSet& found) {
  for (const Load& load : view.root->link.plan.loads) {
    std::map<std::size_t, std::size_t> position;  // file -> place in the scope
    for (std::size_t i = 0; i < load.scope.size(); ++i) {
      position.emplace(view.object(load.scope[i]).file, i);
    }
    for (const auto& [pair, stubs] : shared) {
      auto a = position.find(pair.first), b = position.find(pair.second);
      if (a == position.end() || b == position.end()) continue;
      auto [first, second] = std::minmax(a->second, b->second);
      const std::string& one = view.object(load.scope[first]).name;
      const std::string& other = view.object(load.scope[second]).name;
      Finding& finding = found.at(one + "\n" + other, "DUP-003", Severity::note);
      finding.title =
          fmt::format("{} and {} both give out the host side of the same kernels", one, other);
      finding.cause = "both are in one lookup scope: calls in the second may bind to the first";
      finding.fix = "hide it: -fvisibility=hidden, or nvcc -static-global-template-stub=true";
      for (std::string_view stub : stubs) add_few(finding.evidence, demangled(stub));
      add_once(finding.objects, one);
      add_once(finding.objects, other);
      add_once(finding.roots, view.path);
    }
  }
}

}  // namespace

std::vector<Finding> check_duplicates(const Run& run, const std::vector<RootView>& roots) {
  FindingSet found;
  for (const SingleRule& rule : cuda_rules().singles) {
    for (const RootView& view : roots) in_one_process(run, view, rule, found);
    for (const auto& [name, files] : files_by_name(run, roots, rule)) {
      if (files.size() > 1) by_import_order(run, name, files, found);
    }
  }
  SharedStubs shared = shared_stubs(run, roots);
  for (const RootView& view : roots) {
    if (!shared.empty()) same_kernel(view, shared, found);
  }
  return found.take();
}

}  // namespace wheelvet
