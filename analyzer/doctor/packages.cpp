#include "doctor/packages.h"

#include <algorithm>
#include <set>

#include "doctor/words.h"
#include "facts/metadata.h"
#include "machine/tree.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_text = 1u << 20;

// The text between the quotes of `name = '...'`.
std::string quoted_value(std::string_view line) {
  std::size_t equal = line.find('=');
  if (equal == std::string_view::npos) return {};
  std::string_view value = trimmed(line.substr(equal + 1));
  if (value.size() < 2 || (value[0] != '\'' && value[0] != '"')) return {};
  return std::string(value.substr(1, value.find(value[0], 1) - 1));
}

}  // namespace

std::vector<HostPackage> read_packages(const HostFacts& host) {
  std::vector<HostPackage> out;
  std::set<std::string> seen;
  for (const std::string& folder : host.sys_path) {
    for (const std::string& name : names_in(host.machine.root, folder)) {
      if (!name.ends_with(".dist-info")) continue;
      std::string stem = name.substr(0, name.size() - 10);
      std::size_t dash = stem.find('-');
      if (dash == std::string::npos) continue;
      HostPackage package{normalised_name(stem.substr(0, dash)), stem.substr(dash + 1),
                          folder + "/" + name};
      if (seen.insert(package.name).second) out.push_back(std::move(package));
    }
  }
  std::sort(out.begin(), out.end(),
            [](const HostPackage& a, const HostPackage& b) { return a.name < b.name; });
  return out;
}

void read_torch(HostFacts& host) {
  for (const std::string& folder : host.sys_path) {
    std::string text = text_of(host.machine.root, folder + "/torch/version.py", most_text);
    if (text.empty()) continue;
    for (std::string_view line : lines_of(text)) {
      if (line.starts_with("__version__")) host.torch = quoted_value(line);
      if (line.starts_with("cuda:") || line.starts_with("cuda ="))
        host.torch_cuda = quoted_value(line);
    }
    host.torch_imports = is_file(host.machine.root, folder + "/torch/lib/libtorch_global_deps.so");
    return;
  }
}

}  // namespace wheelvet
