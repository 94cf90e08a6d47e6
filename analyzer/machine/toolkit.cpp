#include "machine/toolkit.h"

#include <algorithm>
#include <cstdlib>

#include "facts/metadata.h"
#include "machine/tree.h"
#include "rules/rules.h"

namespace wheelvet {
namespace {

// "13.0.88" of {"cuda": {"version": "13.0.88", ...}} in version.json, which CUDA 11.1 and later
// have; "13.0" of a folder named cuda-13.0 otherwise.
std::string release_of(const std::string& root, const std::string& toolkit) {
  std::string text = text_of(root, toolkit + "/version.json", 1u << 20);
  std::size_t at = text.find("\"cuda\"");
  if (at != std::string::npos) at = text.find("\"version\"", at);
  if (at != std::string::npos) at = text.find_first_of("0123456789", at);
  std::string number = at == std::string::npos ? std::string() : text.substr(at, 24);
  if (number.empty()) {
    std::size_t dash = toolkit.rfind("cuda-");
    if (dash != std::string::npos) number = toolkit.substr(dash + 5);
  }
  number = number.substr(0, number.find_first_not_of("0123456789."));
  std::size_t dot = number.find('.');
  return dot == std::string::npos ? number : number.substr(0, number.find('.', dot + 1));
}

std::vector<std::string> toolkits_of(const std::string& root) {
  std::vector<std::string> out;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* value = root.empty() ? std::getenv(name) : nullptr;
    if (value && *value == '/') out.emplace_back(value);
  }
  for (const std::string& name : names_in(root, "/usr/local")) {
    if (name.starts_with("cuda")) out.push_back("/usr/local/" + name);
  }
  out.emplace_back("/opt/cuda");
  return out;
}

ToolkitFolder read_folder(const std::string& root, const std::string& folder,
                          const std::string& toolkit) {
  ToolkitFolder out{folder, release_of(root, toolkit), {}};
  for (const std::string& name : names_in(root, folder)) {
    if (!is_library_name(name)) continue;
    std::string real = real_path(root, folder + "/" + name);
    if (!real.empty()) out.files.emplace(name, real.substr(real.find_last_of('/') + 1));
  }
  return out;
}

}  // namespace

std::vector<ToolkitFolder> find_toolkits(const std::string& root) {
  std::vector<ToolkitFolder> out;
  std::vector<std::string> seen;
  for (const std::string& toolkit : toolkits_of(root)) {
    std::vector<std::string> folders = {toolkit + "/lib64"};
    for (const std::string& target : names_in(root, toolkit + "/targets")) {
      folders.push_back(toolkit + "/targets/" + target + "/lib");
    }
    for (const std::string& folder : folders) {
      std::string real = real_path(root, folder);
      bool known = std::find(seen.begin(), seen.end(), real) != seen.end();
      if (real.empty() || known || !is_folder(root, folder)) continue;
      seen.push_back(real);
      // The name with the release in it lasts longer than the link "cuda", which is turned.
      std::string home = real_path(root, toolkit);
      out.push_back(read_folder(root, folder, home.empty() ? toolkit : home));
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const ToolkitFolder& a, const ToolkitFolder& b) {
    return compare_versions(a.release, b.release) > 0;
  });
  return out;
}

}  // namespace wheelvet
