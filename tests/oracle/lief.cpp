// Compares our reader with LIEF: for every library named on the command line (or, for a folder,
// inside it) the slice rebuilt from our facts is decoded by LIEF and must say the same.
//
//   oracle_lief FILE-or-FOLDER...
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "facts/elf_facts.h"
#include "facts/elf_headers.h"
#include "facts/elf_layout.h"
#include "facts/slice.h"
#include "input/random_file.h"

using namespace wheelvet;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> needed_versions(const ElfFacts& elf) {
  std::vector<std::string> out;
  for (const VersionNeed& need : elf.version_needs) {
    for (const NeededVersion& version : need.versions)
      out.push_back(need.file + " " + version.name);
  }
  return out;
}

std::vector<std::string> defined_versions(const ElfFacts& elf) {
  std::vector<std::string> out;
  for (const VersionDefinition& each : elf.version_definitions) {
    if (!each.base) out.push_back(each.name);
  }
  return out;
}

// The first difference, or empty.
std::string difference(const ElfFacts& ours, const DecodedTables& theirs) {
  if (ours.soname != theirs.soname) return "soname: " + theirs.soname;
  if (ours.needed != theirs.needed) return "needed";
  if (ours.rpath.value_or("") != theirs.rpath) return "rpath: " + theirs.rpath;
  if (ours.runpath.value_or("") != theirs.runpath) return "runpath: " + theirs.runpath;
  if (ours.symbols.count != theirs.symbols) {
    return fmt::format("symbols: {} and {}", ours.symbols.count, theirs.symbols);
  }
  if (needed_versions(ours) != theirs.needed_versions) return "version needs";
  if (defined_versions(ours) != theirs.defined_versions) return "version definitions";
  if (ours.build_id != theirs.build_id) return "build id: " + theirs.build_id;
  return {};
}

std::vector<std::string> libraries(const std::string& place) {
  std::vector<std::string> out;
  if (!fs::is_directory(place)) return {place};
  for (const fs::directory_entry& entry : fs::directory_iterator(place)) {
    bool library = entry.path().filename().string().find(".so") != std::string::npos;
    if (library && entry.is_regular_file() && !entry.is_symlink()) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t compared = 0, wrong = 0;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    for (std::string& file : libraries(argv[i])) files.push_back(std::move(file));
  }
  for (const std::string& path : files) {
    try {
      RandomFile file(path);
      FileView view = view_of(file);
      Bytes first = view.bytes(0, std::min<std::uint64_t>(4096, file.size()));
      if (classify(first, file.size()) != FileKind::elf) continue;
      ElfFacts ours = read_elf(view);
      std::string differs = difference(ours, decode_slice(write_slice(ours)));
      ++compared;
      if (differs.empty()) continue;
      ++wrong;
      fmt::print("{}: {}\n", path, differs);
    } catch (const Unreadable& error) {
      ++wrong;
      fmt::print("{}: {}\n", path, error.what());
    }
  }
  fmt::print("{} libraries compared, {} differ\n", compared, wrong);
  return compared == 0 || wrong != 0 ? 1 : 0;
}
