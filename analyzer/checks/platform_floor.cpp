#include "checks/platform_floor.h"

#include <algorithm>
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

std::string lowest_policy(const Rules& rules, const std::vector<FileFacts>& files) {
  std::set<std::string> own;
  const FileFacts* first = nullptr;
  for (const FileFacts& file : files) {
    if (!readable(file)) continue;
    if (!first) first = &file;
    own.insert(file.path.substr(file.path.find_last_of('/') + 1));
    own.insert(file.elf.soname);
  }
  if (!first) return {};
  std::string_view arch = first->elf.machine == 183 ? "aarch64" : "x86_64";  // EM_AARCH64
  for (const PolicyRule& policy : rules.policies) {                          // the lowest first
    bool fits =
        policy.arch == arch && std::all_of(files.begin(), files.end(), [&](const FileFacts& file) {
          return !readable(file) ||
                 (fits_versions(policy, file.elf) && fits_libraries(policy, file.elf, own));
        });
    if (fits) return policy.name;
  }
  return {};
}

}  // namespace wheelvet
