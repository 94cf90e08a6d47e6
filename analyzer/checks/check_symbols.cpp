// Imports that no loaded library exports.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "checks/checks.h"
#include "checks/torch_releases.h"
#include "link/demangle.h"
#include "link/near_miss.h"
#include "link/process.h"

namespace wheelvet {
namespace {

std::string package_of_object(const Run& run, const std::string& path) {
  auto file = run.scene.by_path.find(path);
  return file == run.scene.by_path.end() ? path : owner_of(run, file->second);
}

// A missing import of one package before it is folded into a finding.
struct Missing {
  std::string importer;
  std::string symbol;
  std::string version;
  std::set<std::string> objects;
  std::set<std::string> roots;
  std::set<std::size_t> files;  // of the roots
};

std::map<std::string, Missing> collect(const Run& run, const std::vector<RootView>& roots) {
  std::map<std::string, Missing> all;
  for (const RootView& view : roots) {
    for (const Binding* binding : view.unbound) {
      if (binding->outcome != Outcome::missing) continue;
      const PlannedObject& object = view.object(binding->object);
      const ElfFacts* elf = elf_of(run.scene, object);
      std::string symbol(elf->symbols.name(binding->symbol));
      std::string importer = package_of_object(run, object.name);
      Missing& missing = all[importer + "\n" + symbol + "@" + binding->version];
      missing.importer = importer;
      missing.symbol = symbol;
      missing.version = binding->version;
      missing.objects.insert(object.name);
      missing.roots.insert(view.path);
      missing.files.insert(view.root->file);
    }
  }
  return all;
}

// The package that should have exported the name: the one whose namespace it is in, else the owner
// of its best near miss, else the package
// whose import the roots go through.
std::string provider_of(const Run& run, const std::string& symbol,
                        const std::vector<Resemblance>& resemblances) {
  std::string_view family = family_of(*run.scene.rules, symbol);
  for (const ScenePackage& package : run.scene.packages) {
    bool owner = !package.replaced && normalised_name(package.facts->name) == family;
    if (owner) return fmt::format("{} {}", package.facts->name, package.facts->version);
  }
  if (resemblances.empty()) return {};
  return owner_of(run, resemblances.front().file);
}

// True when every root that misses the name is a library, not a module, of a package that defines
// the name in another of its files: a plugin that expects its host in the process.
bool expects_host(const Run& run, const Missing& missing, const std::vector<Resemblance>& near) {
  return std::all_of(missing.files.begin(), missing.files.end(), [&](std::size_t root) {
    const SceneFile& file = run.scene.files[root];
    return file.package != none && !is_module(*file.facts) &&
           std::any_of(near.begin(), near.end(), [&](const Resemblance& each) {
             return each.near_miss.symbol == missing.symbol && !each.hidden &&
                    run.scene.files[each.file].package == file.package;
           });
  });
}

// One missing name with who wants it and what resembles it.
void add_symbol(const Missing& missing, const std::vector<Resemblance>& near, Finding& finding) {
  SymbolEvidence evidence{missing.symbol, demangled(missing.symbol), missing.version, {}, {}};
  evidence.wanted_by.assign(missing.objects.begin(), missing.objects.end());
  for (const Resemblance& each : near) evidence.near_misses.push_back(each.near_miss);
  finding.symbols.push_back(std::move(evidence));
  for (const std::string& object : missing.objects) add_once(finding.objects, object);
  for (const std::string& root : missing.roots) add_once(finding.roots, root);
}

void host_finding(const Missing& missing, const std::string& importer,
                  const std::vector<Resemblance>& near, FindingSet& found) {
  Finding& finding = found.at(importer, "SYM-002", Severity::note);
  finding.title = fmt::format("libraries of {} expect others of it in the process", importer);
  finding.cause =
      "they import symbols of a library that they do not name in DT_NEEDED, as plugins do";
  finding.fix = "none, where the package opens that library first with RTLD_GLOBAL";
  add_symbol(missing, near, finding);
}

// What the reader is told about one group of missing names.
void explain(const Run& run, Finding& finding, const std::string& provider, bool string_abi) {
  std::string importer = finding.objects.empty() ? std::string("the importing package")
                                                 : package_of_object(run, finding.objects.front());
  std::size_t count = finding.symbols.size();
  std::string names = count == 1 ? "a symbol" : fmt::format("{} symbols", count);
  bool same_package = provider == importer;
  if (string_abi) {
    finding.title = fmt::format("{} and {} are built with different string ABIs: {} not exported",
                                importer, provider, names);
    finding.cause =
        "the two sides spell std::string differently in their symbols "
        "(_GLIBCXX_USE_CXX11_ABI)";
    finding.fix = fmt::format("a build of {} with the C++11 ABI setting of {}", importer, provider);
    return;
  }
  if (provider.empty()) {
    finding.title = fmt::format("{} imports {} that no loaded library exports", importer, names);
    finding.cause = "no input exports anything of that name";
    finding.fix =
        "give the package that exports it with --with, or another release of one of the two";
    return;
  }
  finding.title =
      same_package
          ? fmt::format("{} imports {} that its own libraries do not export to it", importer, names)
          : fmt::format("{} imports {} that {} does not export", importer, names, provider);
  bool hidden = std::all_of(finding.symbols.begin(), finding.symbols.end(), [](const auto& symbol) {
    return !symbol.near_misses.empty() && symbol.near_misses.front().symbol == symbol.symbol;
  });
  if (hidden) {
    finding.cause = "the name is defined, but where this load does not look";
    finding.fix = "load the library that defines it first with RTLD_GLOBAL, or link against it";
    return;
  }
  finding.cause =
      fmt::format("{} was built against other declarations than those of {}", importer, provider);
  finding.fix = fmt::format("a build of {} made for {}, or the release of {} that it was built for",
                            importer, provider, provider.substr(0, provider.find(' ')));
}

}  // namespace

std::vector<Finding> check_symbols(const Run& run, const std::vector<RootView>& roots) {
  std::map<std::string, Missing> all = collect(run, roots);
  std::set<std::string> names;
  for (const auto& [key, missing] : all) names.insert(missing.symbol);
  if (names.empty()) return {};
  std::map<std::string, std::vector<Resemblance>> resemblances =
      find_resemblances(run.scene, names, run.memory ? &run.memory->resemblances : nullptr);
  for (auto& [symbol, near] : resemblances) {
    if (family_of(*run.scene.rules, symbol) == "torch") rank_by_history(run, symbol, near);
  }

  // A name without a relative goes with those of the same importer that have one: the reason is
  // most likely the same, and the reader sees each name's own evidence.
  std::map<std::string, std::string> provider_by_importer;
  for (const auto& [key, missing] : all) {
    std::string provider = provider_of(run, missing.symbol, resemblances[missing.symbol]);
    if (!provider.empty()) {
      provider_by_importer.emplace(missing.importer, provider);
    }
  }
  FindingSet found;
  std::map<Finding*, std::pair<std::string, bool>> groups;
  for (const auto& [key, missing] : all) {
    const std::vector<Resemblance>& near = resemblances[missing.symbol];
    const std::string& importer = missing.importer;
    if (!run.scene.exact && expects_host(run, missing, near)) {
      host_finding(missing, importer, near, found);
      continue;
    }
    std::string provider = provider_of(run, missing.symbol, near);
    if (provider.empty() && provider_by_importer.contains(importer)) {
      provider = provider_by_importer[importer];
    }
    bool string_abi = !near.empty() && near.front().string_abi;
    Finding& finding =
        found.at(importer + "\n" + provider, string_abi ? "ABI-001" : "SYM-001", Severity::error);
    groups[&finding] = {provider, string_abi};
    add_symbol(missing, near, finding);
  }
  for (const auto& [finding, group] : groups) {
    explain(run, *finding, group.first, group.second);
    bool of_torch = group.first.starts_with("torch ") && !finding->objects.empty();
    if (!of_torch) continue;
    explain_by_history(run, package_of_object(run, finding->objects.front()), *finding);
  }
  return found.take();
}

}  // namespace wheelvet
