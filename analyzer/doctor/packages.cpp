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

std::string normalised(std::string_view name) {
  std::string out;
  for (char c : name) {
    bool between = c == '-' || c == '_' || c == '.';
    if (between && !out.empty() && out.back() == '-') continue;
    out += between ? '-' : static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  }
  return out;
}

std::string public_version(const std::string& version) {
  return version.substr(0, version.find('+'));
}

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
      HostPackage package{normalised(stem.substr(0, dash)), stem.substr(dash + 1),
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
    return;
  }
}

std::vector<Finding> check_families(const HostFacts& host, const TomlText& rules) {
  std::vector<Finding> findings;
  auto version = [&](const std::string& name) {
    for (const HostPackage& package : host.packages) {
      if (package.name == name) return package.version;
    }
    return std::string();
  };
  auto tables = rules.find("family");
  for (const TomlTable& table : tables == rules.end() ? std::vector<TomlTable>{} : tables->second) {
    std::string first = toml_value(table, "first"), wanted = public_version(version(first));
    if (wanted.empty()) continue;
    std::vector<std::string> seen{fmt::format("{} {}", first, version(first))},
        pins{fmt::format("{}=={}", first, wanted)};
    for (const std::string& other : toml_values(table, "others")) {
      std::string has = version(other);
      if (has.empty() || public_version(has) == wanted) continue;
      seen.push_back(fmt::format("{} {}", other, has));
      pins.push_back(fmt::format("{}=={}", other, wanted));
    }
    if (seen.size() < 2) continue;
    std::string unless = toml_value(table, "unless");
    auto skipped = host.starts.front().effective.find(unless);
    bool off = skipped != host.starts.front().effective.end() && !skipped->second.value.empty();
    Finding& finding = findings.emplace_back(new_finding(
        "JIT-003", off ? Severity::warning : Severity::error,
        fmt::format("{} and its companions are of different releases: importing it fails", first)));
    if (off)
      finding.title = fmt::format(
          "{} and its companions are of different releases, and {} hides it", first, unless);
    finding.evidence = seen;
    finding.fix = fmt::format("pip install {}", fmt::join(pins, " "));
  }
  return findings;
}

}  // namespace wheelvet
