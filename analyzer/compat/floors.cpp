#include "compat/floors.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "checks/platform_floor.h"
#include "facts/metadata.h"

namespace wheelvet {
namespace {

struct Floor {
  std::string least, by;
};

void raise(Floor& floor, const std::string& version, const std::string& by) {
  if (!floor.least.empty() && compare_versions(floor.least, version) >= 0) return;
  floor = {version, by};
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
}

// Versions of glibc and libstdc++ that the objects name.
std::map<std::string, Floor> version_floors(const InputFacts& wheel) {
  std::map<std::string, Floor> out;
  for (const FileFacts& file : wheel.files) {
    for (const VersionNeed& need : file.elf.version_needs) {
      for (const NeededVersion& version : need.versions) {
        auto [family, number] = split_version(version.name);
        bool known = family == "GLIBC" || family == "GLIBCXX" || family == "CXXABI";
        if (!known || !is_number(number)) continue;
        raise(out[family], number, std::string(base_name(file.path)));
      }
    }
  }
  return out;
}

// The first release of a library that has all of the names that an object imports from it, where
// its table has columns per release.
std::optional<Floor> library_floor(const Rules& rules, const FileFacts& file,
                                   const std::string& soname) {
  std::size_t library = library_of(rules, soname);
  if (library == static_cast<std::size_t>(-1)) return std::nullopt;
  const LibraryRule& rule = rules.libraries[library];
  const ExportTable* table = export_table("releases/" + rule.exports);  // finer, where there is one
  if (!table) table = export_table(rule.exports);
  bool dated = table && !table->columns.empty() && (rule.kind == "cuda" || rule.kind == "nccl");
  if (!dated) return std::nullopt;
  std::size_t first = 0;
  std::string by;
  const SymbolTable& symbols = file.elf.symbols;
  for (std::size_t i = 1; i < symbols.count; ++i) {
    if (!symbols.undefined(i) || symbols.relocations[i] == used_by_none) continue;
    auto found = table->names.find(symbols.name(i));
    if (found == table->names.end()) continue;
    std::size_t column = 0;
    while (column + 1 < table->columns.size() && !(found->second >> column & 1)) ++column;
    if (column <= first && !by.empty()) continue;
    first = std::max(first, column);
    by = symbols.name(i);
  }
  if (by.empty() || first == 0) return std::nullopt;  // the oldest release known has them all
  return Floor{table->columns[first], fmt::format("{} imports {}", base_name(file.path), by)};
}

std::string kind_of_cuda(std::string_view soname) {
  // Libraries whose number is that of the CUDA release.
  for (std::string_view library : {"libcudart.so.", "libcublas.so.", "libcublasLt.so.",
                                   "libnvrtc.so.", "libnvJitLink.so.", "libcupti.so."}) {
    if (!soname.starts_with(library)) continue;
    std::string number(soname.substr(library.size()));
    number = number.substr(0, number.find('.'));
    if (is_number(number)) return number;
  }
  return {};
}

void add_versions(const InputFacts& wheel, const HistoryBuild* torch, const BuildFacts* facts,
                  std::vector<CompatFloor>& out) {
  std::map<std::string, Floor> floors = version_floors(wheel);
  for (const char* family : {"GLIBC", "GLIBCXX", "CXXABI"}) {
    Floor floor = floors[family];
    std::string of_torch = facts ? version_floor(*facts, family) : std::string();
    if (!of_torch.empty()) raise(floor, of_torch, "torch " + torch->version);
    if (floor.least.empty()) continue;
    std::string what = family == std::string("GLIBC") ? "glibc" : family;
    out.push_back({what, floor.least, floor.by});
  }
}

void add_libraries(const Rules& rules, const InputFacts& wheel, std::vector<CompatFloor>& out) {
  std::map<std::string, Floor> cuda, libraries;
  for (const FileFacts& file : wheel.files) {
    for (const std::string& soname : file.elf.needed) {
      std::string major = kind_of_cuda(soname);
      if (!major.empty())
        raise(cuda[major], major, fmt::format("{} needs {}", base_name(file.path), soname));
      if (std::optional<Floor> floor = library_floor(rules, file, soname)) {
        raise(libraries[soname], floor->least, floor->by);
      }
    }
  }
  for (const auto& [major, floor] : cuda) out.push_back({"CUDA", major, floor.by});
  for (const auto& [soname, floor] : libraries) {
    out.push_back({soname.starts_with("libnccl") ? "NCCL" : soname, floor.least, floor.by});
  }
}

}  // namespace

std::vector<CompatFloor> floors_of(const Rules& rules, const InputFacts& wheel,
                                   const HistoryBuild* torch, const BuildFacts* torch_facts) {
  std::vector<CompatFloor> out;
  add_versions(wheel, torch, torch_facts, out);
  add_libraries(rules, wheel, out);
  return out;
}

std::vector<std::string> cuda_majors(const InputFacts& wheel) {
  std::set<std::string> out;
  for (const FileFacts& file : wheel.files) {
    for (const std::string& soname : file.elf.needed) {
      std::string major = kind_of_cuda(soname);
      if (!major.empty()) out.insert(major);
    }
  }
  return {out.begin(), out.end()};
}

}  // namespace wheelvet
