// Which library of an installed environment a step asks.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "request.h"

namespace wheelvet::probe {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error)) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Where NVIDIA's wheels (nvidia/<component>/lib) and conda (lib) put libraries below a prefix, and
/// below a folder that is a site-packages itself.
std::vector<fs::path> library_folders(const fs::path& prefix) {
  std::vector<fs::path> sites{prefix};
  for (const char* lib : {"lib", "lib64"}) {
    for (const fs::path& each : folders_in(prefix / lib)) {
      if (each.filename().string().starts_with("python3")) sites.push_back(each / "site-packages");
    }
  }
  std::vector<fs::path> folders;
  for (const fs::path& site : sites) {
    for (const fs::path& component : folders_in(site / "nvidia"))
      folders.push_back(component / "lib");
  }
  folders.push_back(prefix / "lib");
  folders.push_back(prefix / "lib64");
  std::vector<fs::path> out;
  for (const fs::path& folder : folders) {
    std::error_code error;
    fs::path real = fs::canonical(folder, error);  // lib64 is often a link to lib
    if (!error && std::find(out.begin(), out.end(), real) == out.end()) out.push_back(real);
  }
  return out;
}

/// The number behind .so. in a file name of this library; 0 when it is another file.
int soname_major(const std::string& file, const std::string& library) {
  std::smatch found;
  std::regex pattern(library + "\\.so\\.([0-9]{1,4})(\\.[0-9]+)*");
  return std::regex_match(file, found, pattern) ? std::stoi(found[1]) : 0;
}

std::string find(const std::vector<fs::path>& folders, const std::string& library,
                 std::vector<std::string>& notes) {
  std::string best;
  int best_major = 0, candidates = 0;
  for (const fs::path& folder : folders) {
    int here = 0;
    std::string path;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      int major = soname_major(entry.path().filename().string(), library);
      // Of a file and the links to it, the shortest name is the soname.
      bool shorter = path.empty() || entry.path().native().size() < path.size();
      if (major > here || (major == here && major > 0 && shorter)) {
        here = major;
        path = entry.path().string();
      }
    }
    candidates += here > 0;
    if (here > best_major) {
      best_major = here;
      best = path;
    }
  }
  if (candidates > 1) {
    notes.push_back(
        fmt::format("{} of {} found: {} is asked (the newest major)", candidates, library, best));
  }
  return best;
}

}  // namespace

void find_targets(Request& request, std::vector<std::string>& notes) {
  if (request.environment.empty()) return;
  std::vector<fs::path> folders = library_folders(request.environment);
  struct Wanted {
    const char* library;
    std::string* path;
  };
  for (const Wanted& wanted :
       {Wanted{"libnvrtc", &request.targets.nvrtc}, Wanted{"libcurand", &request.targets.curand},
        Wanted{"libcublas", &request.targets.cublas}, Wanted{"libnccl", &request.targets.nccl}}) {
    if (wanted.path->empty()) *wanted.path = find(folders, wanted.library, notes);
  }
}

}  // namespace wheelvet::probe
