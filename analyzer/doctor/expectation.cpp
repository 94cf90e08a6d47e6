#include "doctor/expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "doctor/new_finding.h"
#include "doctor/toolkits.h"
#include "rules/rules.h"
#include "wheelvet/facts.h"

namespace wheelvet {
namespace {

// The nvcc that a build in the interactive start would run.
std::string nvcc_of(const HostFacts& host, const TomlText& rules) {
  for (const ToolkitPick& pick : pick_toolkits(host, rules)) {
    if (pick.builds && pick.toolkit && pick.start == host.starts.front().name)
      return pick.toolkit->nvcc_release;
  }
  return {};
}

std::string version_of(const HostFacts& host, const std::string& name) {
  for (const HostPackage& package : host.packages) {
    if (package.name == name) return package.version;
  }
  return {};
}

// "2.11.0" is met by 2.11.0 and 2.11.0+cu130; a local label is compared where one is wanted.
bool same_version(const std::string& wanted, const std::string& found) {
  bool local = wanted.find('+') != std::string::npos;
  return wanted == (local ? found : found.substr(0, found.find('+')));
}

std::vector<std::string> architectures(const HostFacts& host) {
  std::set<std::string> all(host.driver.architectures.begin(), host.driver.architectures.end());
  return {all.begin(), all.end()};
}

std::string driver_of(const HostFacts& host) {
  return host.driver.kernel.empty() ? host.driver.version : host.driver.kernel;
}

}  // namespace

std::vector<VerificationLine> judge_expectations(const TomlText& wanted, const HostFacts& host,
                                                 const TomlText& rules) {
  std::vector<VerificationLine> out;
  auto add = [&](std::string name, std::string want, std::string found, bool met) {
    out.push_back(
        {std::move(name), std::move(want), found.empty() ? "not there" : std::move(found), met});
  };
  for (const auto& [section, tables] : wanted) {
    for (const TomlTable& table : tables) {
      for (const auto& [key, values] : table) {
        std::string name = section.empty() ? key : section + "." + key;
        std::string value = fmt::format("{}", fmt::join(values, ", "));
        if (section == "packages") {
          std::string found = version_of(host, normalised_name(key));
          add(name, value, found, !found.empty() && same_version(value, found));
        } else if (name == "toolkit.nvcc") {
          std::string found = nvcc_of(host, rules);
          add(name, value, found, found == value);
        } else if (name == "gpu.count") {
          std::string found = fmt::format("{}", host.driver.gpus.size());
          add(name, value, found, found == value);
        } else if (name == "gpu.architectures") {
          std::vector<std::string> found = architectures(host), want = values;
          std::sort(want.begin(), want.end());
          add(name, value, fmt::format("{}", fmt::join(found, ", ")), found == want);
        } else if (name == "driver.floor") {
          std::string found = driver_of(host);
          add(name, value, found, !found.empty() && compare_versions(found, value) >= 0);
        } else if (name == "python.version") {
          add(name, value, host.python, host.python == value);
        } else {
          throw WrongUsage(fmt::format(
              "--expect: {} is no line of a verification list (toolkit.nvcc, packages.NAME, "
              "gpu.count, gpu.architectures, driver.floor, python.version)",
              name));
        }
      }
    }
  }
  return out;
}

std::vector<Finding> check_expectations(const std::vector<VerificationLine>& lines) {
  std::vector<Finding> findings;
  for (const VerificationLine& line : lines) {
    if (line.met) continue;
    findings.push_back(new_finding(
        "EXP-001", Severity::error,
        fmt::format("{}: {} is expected, found: {}", line.name, line.wanted, line.found)));
  }
  return findings;
}

std::string record_expectations(const HostFacts& host, const TomlText& rules) {
  std::string out = "# wheelvet doctor --expect FILE compares a host with this list.\n";
  if (!host.python.empty()) out += fmt::format("\n[python]\nversion = \"{}\"\n", host.python);
  std::string nvcc = nvcc_of(host, rules);
  if (!nvcc.empty()) out += fmt::format("\n[toolkit]\nnvcc = \"{}\"\n", nvcc);
  if (!driver_of(host).empty()) out += fmt::format("\n[driver]\nfloor = \"{}\"\n", driver_of(host));
  if (!host.driver.gpus.empty()) {
    out += fmt::format("\n[gpu]\ncount = {}\n", host.driver.gpus.size());
    std::vector<std::string> all = architectures(host);
    if (!all.empty()) out += fmt::format("architectures = [\"{}\"]\n", fmt::join(all, "\", \""));
  }
  if (!host.packages.empty()) out += "\n[packages]\n";
  for (const HostPackage& package : host.packages) {
    bool plain = package.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") ==
                     std::string::npos &&
                 package.version.find_first_of("\"\\\n") == std::string::npos;
    if (plain) out += fmt::format("{} = \"{}\"\n", package.name, package.version);
  }
  return out;
}

}  // namespace wheelvet
