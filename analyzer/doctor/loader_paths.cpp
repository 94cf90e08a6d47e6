#include "doctor/loader_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "doctor/new_finding.h"
#include "doctor/words.h"
#include "facts/metadata.h"
#include "machine/tree.h"
#include "rules/rules.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_text = 1u << 20;
constexpr std::size_t most_files = 1000;

// Each file once: they may include each other.
void read_conf(const std::string& root, const std::string& path, std::set<std::string>& seen,
               std::vector<std::string>& out) {
  if (seen.size() >= most_files || !seen.insert(path).second) return;
  std::string text = text_of(root, path, most_text);
  for (std::string_view line : lines_of(text)) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.starts_with("include ") || line.starts_with("include\t")) {
      for (std::string_view pattern : words_of(line.substr(8))) {
        std::string full = pattern.starts_with('/')
                               ? std::string(pattern)
                               : fmt::format("{}/{}", parent_of(path), pattern);
        std::string folder = parent_of(full);
        for (const std::string& name : names_in(root, folder)) {
          if (matches(base_of(full), name)) read_conf(root, folder + "/" + name, seen, out);
        }
      }
    } else if (line.starts_with('/')) {
      out.emplace_back(line.substr(0, line.find_first_of(" \t=")));
    }
  }
}

// Folders of the environment that hold NVIDIA's libraries, and torch's own.
std::map<std::string, std::string> libraries_of_environment(const HostFacts& host) {
  std::map<std::string, std::string> out;
  const std::string& root = host.machine.root;
  for (const std::string& folder : host.sys_path) {
    std::vector<std::string> places{folder + "/torch/lib"};
    for (const std::string& name : names_in(root, folder + "/nvidia"))
      places.push_back(folder + "/nvidia/" + name + "/lib");
    for (const std::string& place : places) {
      for (const std::string& name : names_in(root, place)) {
        if (name.find(".so") != std::string::npos) out.emplace(name, place + "/" + name);
      }
    }
  }
  return out;
}

struct Checker {
  const HostFacts& host;
  std::vector<Finding> findings;

  const std::string& root() const { return host.machine.root; }

  void check_library_path(const Start& start, const std::map<std::string, std::string>& own) {
    auto set = start.inherited.find("LD_LIBRARY_PATH");
    if (set == start.inherited.end()) return;
    std::vector<std::string> absent, shadows;
    for (std::string_view view : split_at(set->second.value, ':')) {
      std::string folder(view);
      if (folder.empty()) continue;
      if (!folder.starts_with('/') || !is_folder(root(), folder)) {
        absent.push_back(folder);
        continue;
      }
      if (folder.ends_with("/stubs")) say_stubs(start, folder, set->second.from);
      for (const std::string& name : names_in(root(), folder)) {
        auto ours = own.find(name);
        if (ours == own.end() || !name.ends_with(".so." + name.substr(name.rfind('.') + 1)))
          continue;
        std::string theirs = real_path(root(), folder + "/" + name);
        if (theirs != real_path(root(), ours->second))
          shadows.push_back(fmt::format("{}/{} before {}", folder, name, ours->second));
      }
    }
    std::string from = fmt::format("{}: LD_LIBRARY_PATH ({})", start.name, set->second.from);
    if (!shadows.empty()) {
      Finding& finding = findings.emplace_back(
          new_finding("LDR-001", Severity::warning,
                      from + " brings other copies of libraries that the environment has"));
      finding.evidence = shadows;
      finding.cause =
          "LD_LIBRARY_PATH comes before DT_RUNPATH, which NVIDIA's libraries find each other by; "
          "torch's DT_RPATH comes before it";
      finding.fix = "take those folders out of LD_LIBRARY_PATH";
    }
    if (!absent.empty()) {
      Finding& finding = findings.emplace_back(
          new_finding("LDR-002", Severity::note, from + " names folders that are not there"));
      finding.evidence = absent;
    }
  }

  void say_stubs(const Start& start, const std::string& folder, const std::string& from) {
    if (!is_file(root(), folder + "/libcuda.so.1")) return;  // found by that name only
    Finding& finding = findings.emplace_back(new_finding(
        "LDR-003", Severity::error,
        fmt::format("{}: a stubs folder is on LD_LIBRARY_PATH: {}", start.name, folder), folder));
    finding.evidence = {"set by " + from};
    finding.fix = "take it out: stubs are for linking only (LIBRARY_PATH, -L)";
  }

  void check_preload(const Start& start) {
    auto set = start.inherited.find("LD_PRELOAD");
    if (set == start.inherited.end()) return;
    std::string text = set->second.value;
    std::replace(text.begin(), text.end(), ':', ' ');
    for (std::string_view word : words_of(text)) {
      bool path = word.find('/') != std::string_view::npos;
      if (!path || word.find('$') != std::string_view::npos || is_file(root(), std::string(word)))
        continue;
      Finding& finding = findings.emplace_back(new_finding(
          "LDR-004", Severity::warning,
          fmt::format("{}: LD_PRELOAD names {}, which is not there", start.name, word)));
      finding.evidence = {
          "set by " + set->second.from,
          "every program prints: ERROR: ld.so: object ... cannot be preloaded: ignored"};
      finding.fix = "take it out, or install what owns it";
    }
  }

  // Folders that ld.so.conf names, but whose libraries the cache does not have: ldconfig did not
  // run since. And the other way: the cache names files that are gone.
  void check_cache() {
    if (host.machine.cache.empty()) return;
    std::set<std::string> cached;
    std::vector<std::string> gone;
    for (const auto& [name, path] : host.machine.cache) {
      cached.insert(parent_of(path));
      bool cuda =
          name.starts_with("libcu") || name.starts_with("libnv") || name.starts_with("libnccl");
      if (cuda && !is_file(root(), path)) gone.push_back(path);
    }
    std::vector<std::string> unread;
    for (const std::string& folder : configured_folders(root())) {
      std::string real = real_path(root(), folder);
      if (cached.contains(folder) || cached.contains(real)) continue;
      for (const std::string& name : names_in(root(), folder)) {
        bool ours = name.starts_with("libcudart.so.") || name.starts_with("libcublas.so.") ||
                    name.starts_with("libcuda.so.") || name.starts_with("libnvrtc.so.");
        // A name that another folder has already is not taken twice.
        if (!ours || host.machine.cache.contains(name) ||
            std::count(name.begin(), name.end(), '.') > 2)
          continue;
        unread.push_back(folder + "/" + name);
      }
    }
    std::sort(gone.begin(), gone.end());
    if (!gone.empty() || !unread.empty()) {
      Finding& finding = findings.emplace_back(
          new_finding("LDR-005", Severity::warning,
                      "ld.so.cache does not fit the folders that ld.so.conf names"));
      for (const std::string& path : gone)
        finding.evidence.push_back("in the cache and not there: " + path);
      for (const std::string& path : unread)
        finding.evidence.push_back("there and not in the cache: " + path);
      finding.fix = "ldconfig";
    }
  }
};

}  // namespace

std::vector<std::string> configured_folders(const std::string& root) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  read_conf(root, "/etc/ld.so.conf", seen, out);
  return out;
}

std::vector<Finding> check_loader_paths(const HostFacts& host) {
  Checker checker{host, {}};
  std::map<std::string, std::string> own = libraries_of_environment(host);
  for (const Start& start : host.starts) {
    checker.check_library_path(start, own);
    checker.check_preload(start);
  }
  checker.check_cache();
  return std::move(checker.findings);
}

}  // namespace wheelvet
