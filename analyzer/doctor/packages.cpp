#include "doctor/packages.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "doctor/new_finding.h"
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

struct TorchFiles {
  std::string version, cuda;
};

TorchFiles read_torch_in(const std::string& root, const std::string& folder) {
  TorchFiles out;
  std::string text = text_of(root, folder + "/torch/version.py", most_text);
  for (std::string_view line : lines_of(text)) {
    if (line.starts_with("__version__")) out.version = quoted_value(line);
    if (line.starts_with("cuda:") || line.starts_with("cuda =")) out.cuda = quoted_value(line);
  }
  return out;
}

// The version that the metadata of a folder gives torch; empty for none.
std::string listed_torch(const HostFacts& host, const std::string& folder) {
  for (const std::string& name : names_in(host.machine.root, folder)) {
    if (name.starts_with("torch-") && name.ends_with(".dist-info"))
      return name.substr(6, name.size() - 16);
  }
  return {};
}

// The Python index's wheels have no local label in their metadata, and one in their files.
bool fits(const std::string& listed, const std::string& own) {
  bool label = listed.find('+') != std::string::npos;
  return listed == (label ? own : own.substr(0, own.find('+')));
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
    TorchFiles files = read_torch_in(host.machine.root, folder);
    if (files.version.empty()) continue;
    host.torch = files.version;
    host.torch_cuda = files.cuda;
    host.torch_imports = is_file(host.machine.root, folder + "/torch/lib/libtorch_global_deps.so");
    return;
  }
}

std::vector<Finding> check_torch_copies(const HostFacts& host) {
  std::vector<Finding> findings;
  std::vector<std::string> copies;
  for (const std::string& folder : host.sys_path) {
    TorchFiles files = read_torch_in(host.machine.root, folder);
    if (files.version.empty()) continue;
    copies.push_back(fmt::format("{}/torch: {}", folder, files.version));
    std::string listed = listed_torch(host, folder);
    if (listed.empty() || fits(listed, files.version)) continue;
    Finding& finding = findings.emplace_back(new_finding(
        "PKG-011", Severity::warning,
        fmt::format("torch's files are of {}, its metadata says {}", files.version, listed),
        folder + "/torch/version.py"));
    finding.cause = "an installation that was broken off, or files copied over it";
    finding.fix = "pip install --force-reinstall --no-deps torch==" + listed;
  }
  if (copies.size() < 2) return findings;
  Finding& finding = findings.emplace_back(
      new_finding("PKG-010", Severity::warning,
                  fmt::format("{} copies of torch are on sys.path", copies.size())));
  finding.evidence = copies;
  finding.cause = "the first is imported; what was built or installed for another one meets it";
  finding.fix = "leave one of them";
  return findings;
}

}  // namespace wheelvet
