// What a package declares that it needs, against the libraries that its objects name.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "checks/checks.h"

namespace wheelvet {
namespace {

struct Package {
  const PackageFacts* facts = nullptr;
  std::string owner;
  std::set<std::string> own;     // file names and sonames of its libraries
  std::set<std::string> needed;  // sonames that its objects name
};

std::vector<Package> packages_of(const Run& run) {
  std::map<std::size_t, Package> out;
  for (std::size_t i = 0; i < run.scene.files.size(); ++i) {
    const SceneFile& file = run.scene.files[i];
    if (!file.target || file.package == none || !is_object(file)) continue;
    Package& package = out[file.package];
    package.facts = run.scene.packages[file.package].facts;
    package.owner = owner_of(run, i);
    const std::string& path = file.facts->path;
    package.own.insert(path.substr(path.find_last_of('/') + 1));
    package.own.insert(file.facts->elf.soname);
    package.needed.insert(file.facts->elf.needed.begin(), file.facts->elf.needed.end());
  }
  std::vector<Package> list;
  for (auto& [index, package] : out) list.push_back(std::move(package));
  return list;
}

// Normalised names of what is required without an extra.
std::set<std::string> declared_by(const PackageFacts& package) {
  std::set<std::string> out;
  for (const std::string& requirement : package.requirements) {
    std::string name = read_requirement(requirement).first;
    if (!name.empty()) out.insert(name);
  }
  return out;
}

// Libraries of packages that the rules know, which the package neither holds nor declares. torch
// brings CUDA's along.
void undeclared(const Run& run, const Package& package, const std::set<std::string>& declared,
                FindingSet& found) {
  for (const std::string& soname : package.needed) {
    std::size_t index = library_of(*run.scene.rules, soname);
    if (package.own.contains(soname) || index == none) continue;
    const LibraryRule& rule = run.scene.rules->libraries[index];
    if (rule.pip.empty() || rule.kind == "driver" || rule.kind == "system" ||
        rule.kind == "python") {
      continue;
    }
    bool covered = std::any_of(rule.pip.begin(), rule.pip.end(), [&](const std::string& name) {
      return declared.contains(name) || normalised_name(package.facts->name) == name;
    });
    bool by_torch = declared.contains("torch") && (rule.kind == "cuda" || rule.kind == "nccl");
    if (covered || by_torch) continue;
    Finding& finding = found.at(package.owner, "DEP-001", Severity::note);
    finding.title =
        fmt::format("{} needs libraries of packages that it does not declare", package.owner);
    finding.evidence.push_back(fmt::format("{}, of {}", soname, fmt::join(rule.pip, " or ")));
    finding.cause = "pip does not install them with it";
    finding.fix = "install them as well; the maker should declare them";
  }
}

// Packages of libraries alone: a dependency on one of them is for its libraries.
void unused(const Run& run, const Package& package, const std::set<std::string>& declared,
            FindingSet& found) {
  for (const std::string& name : declared) {
    if (!name.starts_with("nvidia-")) continue;
    bool known = false, used = false;
    for (const LibraryRule& rule : run.scene.rules->libraries) {
      if (std::find(rule.pip.begin(), rule.pip.end(), name) == rule.pip.end()) continue;
      known = true;
      used = used ||
             std::any_of(package.needed.begin(), package.needed.end(),
                         [&](const std::string& soname) { return matches(rule.soname, soname); });
    }
    if (!known || used) continue;
    Finding& finding = found.at(package.owner, "DEP-002", Severity::note);
    finding.title =
        fmt::format("{} declares packages whose libraries no object of it names", package.owner);
    finding.evidence.push_back(name);
    finding.cause = "they may be opened at run time, or be there for another package";
    finding.fix = "none, where they are opened at run time";
  }
}

}  // namespace

std::vector<Finding> check_dependencies(const Run& run) {
  FindingSet found;
  for (const Package& package : packages_of(run)) {
    std::set<std::string> declared = declared_by(*package.facts);
    undeclared(run, package, declared, found);
    unused(run, package, declared, found);
  }
  return found.take();
}

}  // namespace wheelvet
