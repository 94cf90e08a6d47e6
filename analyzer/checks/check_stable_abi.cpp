// abi3: modules that promise to load in every CPython from some release on, against the names they
// import. Imports prove that a promise is broken, never that it is kept (macros are inlined).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "checks/checks.h"

namespace wheelvet {
namespace {

// The oldest release that the abi3 tags of a file promise ("3.9"), or empty.
std::string promised_from(const Run& run, const SceneFile& file) {
  std::string oldest;
  for (const std::string& tag : tags_of(run, file)) {
    TagView parts = read_tag(tag);
    if (parts.abi != "abi3" || !parts.python.starts_with("cp3")) continue;
    std::string release = fmt::format("3.{}", parts.python.substr(3));
    if (oldest.empty() || compare_versions(release, oldest) < 0) oldest = release;
  }
  return oldest;
}

// Names of the C API that a relocation refers to and that must be there.
std::vector<std::string_view> python_imports(const ElfFacts& elf) {
  std::vector<std::string_view> out;
  for (std::size_t i = 1; i < elf.symbols.count; ++i) {
    if (!elf.symbols.undefined(i) || elf.symbols.relocations[i] == used_by_none) continue;
    std::string_view name = elf.symbols.name(i);
    if (!name.starts_with("Py") && !name.starts_with("_Py")) continue;
    if (elf.symbols.at(i).binding != 2) out.push_back(name);  // 2 is STB_WEAK
  }
  return out;
}

// Columns of a table as a list of releases from `floor` on; free-threaded builds take no abi3.
std::vector<std::string> releases_from(const ExportTable& table, const std::string& floor) {
  std::vector<std::string> out;
  for (const std::string& column : table.columns) {
    if (!column.ends_with('t') && compare_versions(column, floor) >= 0) out.push_back(column);
  }
  return out;
}

bool has(const ExportTable& table, std::string_view name, const std::string& column) {
  auto known = table.names.find(name);
  if (known == table.names.end()) return false;
  auto at = std::find(table.columns.begin(), table.columns.end(), column);
  return (known->second >> (at - table.columns.begin()) & 1u) != 0;
}

// The release that brought a name into the stable ABI, or empty when it is not in it.
std::string added_in(const ExportTable& stable, std::string_view name) {
  for (const std::string& column : stable.columns) {
    if (has(stable, name, column)) return column;
  }
  return {};
}

void check_name(const SceneFile& file, std::string_view name, const std::string& floor,
                const std::string& owner, FindingSet& found) {
  const ExportTable& stable = *export_table("stable_abi");
  const ExportTable& exported = *export_table("python");
  std::string added = added_in(stable, name);
  if (!added.empty() && compare_versions(added, floor) <= 0) return;
  std::vector<std::string> lacking;
  for (const std::string& release : releases_from(exported, floor)) {
    if (!has(exported, name, release)) lacking.push_back(release);
  }
  bool fails = !lacking.empty();
  Finding& finding =
      found.at(owner + (fails ? "!" : ""), "ABI-002", fails ? Severity::warning : Severity::note);
  finding.title =
      fmt::format("{} promises the stable ABI of CPython {} and uses more", owner, floor);
  std::string where =
      added.empty() ? "not in the stable ABI" : fmt::format("in the stable ABI from {} on", added);
  std::string gone = fails ? fmt::format("; not exported by {}", fmt::join(lacking, ", "))
                           : "; every release known exports it";
  add_few(finding.evidence, fmt::format("{}: {}{}", name, where, gone));
  add_once(finding.objects, file.facts->path);
  finding.cause = fails ? "the tag admits interpreters that do not export these names"
                        : "nothing promises that the next release still exports these names";
  finding.fix = fmt::format("build it with Py_LIMITED_API set to {}, or raise the tag", floor);
}

}  // namespace

std::vector<Finding> check_stable_abi(const Run& run) {
  FindingSet found;
  for (std::size_t i = 0; i < run.scene.files.size(); ++i) {
    const SceneFile& file = run.scene.files[i];
    if (!file.target || !is_object(file)) continue;
    std::string floor = promised_from(run, file);
    bool other_suffix = file.facts->path.find(".cpython-") != std::string::npos;
    if (floor.empty() || other_suffix) continue;  // a module of one release promises no more
    for (std::string_view name : python_imports(file.facts->elf)) {
      check_name(file, name, floor, owner_of(run, i), found);
    }
  }
  return found.take();
}

}  // namespace wheelvet
