#include "processes.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace wheelvet::probe {
namespace {

/// proc(5), /proc/pid/stat: id (name) state parent. The name may hold blanks and brackets.
bool read_process(const std::filesystem::path& folder, Process& process) {
  std::ifstream file(folder / "stat");
  std::string line;
  if (!std::getline(file, line)) return false;
  std::size_t open = line.find('('), close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return false;
  process.name = line.substr(open + 1, close - open - 1);
  std::istringstream rest(line.substr(close + 1));
  return static_cast<bool>(rest >> process.state >> process.parent);
}

}  // namespace

std::vector<Process> descendants(pid_t root) {
  std::vector<Process> all;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    std::string name = entry.path().filename().string();
    Process process;
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process.id);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    if (read_process(entry.path(), process)) all.push_back(process);
  }
  std::set<pid_t> family{root};
  std::vector<Process> found;
  // A child may stand before its parent in the table: repeat until nothing is added.
  for (bool grew = true; grew;) {
    grew = false;
    for (const Process& process : all) {
      if (!family.contains(process.parent) || !family.insert(process.id).second) continue;
      found.push_back(process);
      grew = true;
    }
  }
  return found;
}

}  // namespace wheelvet::probe
