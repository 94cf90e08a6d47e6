#include "checks/platform_floor.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace wheelvet {
namespace {

bool readable(const FileFacts& file) { return file.kind == FileKind::elf && !file.problem; }

bool listed(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool fits_versions(const PolicyRule& policy, const ElfFacts& elf) {
  for (const VersionNeed& need : elf.version_needs) {
    for (const NeededVersion& version : need.versions) {
      auto [prefix, number] = split_version(version.name);
      auto allowed = policy.versions.find(prefix);
      if (allowed != policy.versions.end() && !listed(allowed->second, number)) return false;
    }
  }
  return true;
}

bool fits_libraries(const PolicyRule& policy, const ElfFacts& elf,
                    const std::set<std::string>& own) {
  return std::all_of(elf.needed.begin(), elf.needed.end(), [&](const std::string& name) {
    return own.contains(name) || name.starts_with("ld-linux") || listed(policy.libraries, name);
  });
}

}  // namespace

std::pair<std::string, std::string> split_version(const std::string& version) {
  std::size_t underscore = version.find('_');
  if (underscore == std::string::npos) return {version, ""};
  return {version.substr(0, underscore), version.substr(underscore + 1)};
}

void raise_floor(std::map<std::string, std::string>& floors, const std::string& version) {
  std::size_t underscore = version.rfind('_');
  if (underscore == std::string::npos || underscore + 1 == version.size()) return;
  std::string number = version.substr(underscore + 1);
  if (number.find_first_not_of("0123456789.") != std::string::npos) return;
  std::string& floor = floors[version.substr(0, underscore)];
  if (floor.empty() || compare_versions(floor, number) < 0) floor = number;
}

std::vector<std::string> private_imports(const PolicyRule& policy, const ElfFacts& elf) {
  std::map<std::string_view, std::string_view> owners;  // symbol -> soname
  for (const auto& [library, symbols] : policy.forbidden) {
    if (!listed(elf.needed, library)) continue;
    for (const std::string& symbol : symbols) owners.emplace(symbol, library);
  }
  std::vector<std::string> out;
  for (std::size_t i = 1; i < elf.symbols.count && !owners.empty(); ++i) {
    // A weak import may stay unresolved: Rust's library asks so for what old systems lack.
    if (!elf.symbols.undefined(i) || elf.symbols.at(i).binding == STB_WEAK) continue;
    auto owner = owners.find(elf.symbols.name(i));
    if (owner == owners.end()) continue;
    out.push_back(fmt::format("{} of {}", owner->first, owner->second));
    owners.erase(owner);
  }
  return out;
}

std::string lowest_policy(const Rules& rules, const InputFacts& input) {
  std::set<std::string> own;
  std::vector<const ElfFacts*> objects;
  for (const auto* files : {&input.files, &input.programs}) {
    for (const FileFacts& file : *files) {
      bool program = files == &input.programs && file.kind == FileKind::not_dynamic;
      if (!readable(file) && !program) continue;
      objects.push_back(&file.elf);
      own.insert(file.path.substr(file.path.find_last_of('/') + 1));
      own.insert(file.elf.soname);
    }
  }
  if (objects.empty()) return {};
  std::string_view arch = objects[0]->machine == EM_AARCH64 ? "aarch64" : "x86_64";
  for (const PolicyRule& policy : rules.policies) {  // the lowest first
    if (policy.arch != arch) continue;
    bool fits = std::all_of(objects.begin(), objects.end(), [&](const ElfFacts* elf) {
      return fits_versions(policy, *elf) && fits_libraries(policy, *elf, own) &&
             private_imports(policy, *elf).empty();
    });
    if (fits) return policy.name;
  }
  return {};
}

}  // namespace wheelvet
