#include "diff/package_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "checks/platform_floor.h"
#include "facts/metadata.h"
#include "facts/python_version.h"
#include "facts/requirement.h"
#include "facts/wheel_tag.h"

namespace wheelvet {
namespace {

// Interpreters that are asked for; the first of them and those to come cost nothing.
constexpr int first_minor = 6, last_minor = 20;

using Packages = std::map<std::string, const PackageFacts*>;

Packages packages_of(const InputFacts& input) {
  Packages out;
  for (const PackageFacts& package : input.packages) {
    out.emplace(normalised_name(package.name), &package);
  }
  return out;
}

std::string text_of(const PackageFacts& package) {
  return fmt::format("{} {}", package.name, package.version);
}

Change change(const char* kind, Severity severity, std::string title, std::string before,
              std::string now) {
  return {kind, severity, std::move(title), std::move(before), std::move(now), {}, {}};
}

std::string list(const std::set<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

void compare_python(const PackageFacts& before, const PackageFacts& now,
                    std::vector<Change>& changes) {
  std::vector<std::string> lost;
  for (int minor = first_minor; minor <= last_minor; ++minor) {
    std::string python = fmt::format("3.{}", minor);
    bool was = admits_python(before.requires_python, python).value_or(false);
    bool is = admits_python(now.requires_python, python).value_or(false);
    if (was && !is) lost.push_back(python);
  }
  if (!lost.empty()) {
    changes.push_back(change("python-floor", Severity::error,
                             fmt::format("no longer for Python {}", fmt::join(lost, ", ")),
                             before.requires_python, now.requires_python));
  } else if (before.requires_python != now.requires_python) {
    changes.push_back(change("requires-python", Severity::note, "Requires-Python changed",
                             before.requires_python, now.requires_python));
  }
}

// The lowest release of glibc that a tag of the package is content with; empty for none.
std::string promised_glibc(const PackageFacts& package) {
  std::string lowest;
  for (const std::string& tag : package.tags) {
    std::string glibc = glibc_of_platform(std::string_view(tag).substr(tag.rfind('-') + 1));
    if (!glibc.empty() && (lowest.empty() || compare_versions(glibc, lowest) < 0)) lowest = glibc;
  }
  return lowest;
}

// Python and ABI parts of the tags: "cp39-abi3".
std::set<std::string> interpreters_of(const PackageFacts& package) {
  std::set<std::string> out;
  for (const std::string& tag : package.tags) out.insert(tag.substr(0, tag.rfind('-')));
  return out;
}

void compare_tags(const PackageFacts& before, const PackageFacts& now,
                  std::vector<Change>& changes) {
  std::set<std::string> was(before.tags.begin(), before.tags.end()),
      is(now.tags.begin(), now.tags.end());
  if (was == is || was.empty() || is.empty()) return;
  std::string old_glibc = promised_glibc(before), glibc = promised_glibc(now);
  if (!old_glibc.empty() && !glibc.empty() && compare_versions(glibc, old_glibc) > 0) {
    changes.push_back(change("platform-floor", Severity::error,
                             "the platform tag asks for a newer glibc", "glibc " + old_glibc,
                             "glibc " + glibc));
  }
  bool others = interpreters_of(before) != interpreters_of(now);
  changes.push_back(change("tags", others ? Severity::warning : Severity::note,
                           others ? "tags for other interpreters" : "other platform tags",
                           list(was), list(is)));
}

// Requirements by what they are told apart by: the name, and the marker behind it.
std::map<std::string, std::string> requirements_of(const PackageFacts& package) {
  std::map<std::string, std::string> out;
  for (const std::string& requirement : package.requirements) {
    std::size_t semicolon = requirement.find(';');
    std::optional<Requirement> read = read_pep508(requirement).requirement;
    std::string name = read ? read->name : requirement.substr(0, semicolon);
    out[name + (semicolon == std::string::npos ? "" : requirement.substr(semicolon))] = requirement;
  }
  return out;
}

void compare_requirements(const PackageFacts& before, const PackageFacts& now,
                          std::vector<Change>& changes) {
  std::map<std::string, std::string> was = requirements_of(before), is = requirements_of(now);
  std::vector<std::string> added, removed, altered;
  for (const auto& [key, text] : is) {
    auto old = was.find(key);
    if (old == was.end()) {
      added.push_back(text);
    } else if (old->second != text) {
      altered.push_back(fmt::format("{}, before {}", text, old->second));
    }
  }
  for (const auto& [key, text] : was) {
    if (!is.contains(key)) removed.push_back(text);
  }
  auto add = [&](const char* kind, const char* one, const char* several,
                 std::vector<std::string> lines) {
    if (lines.empty()) return;
    changes.push_back(change(kind, Severity::warning, counted(lines.size(), one, several), "", ""));
    changes.back().evidence = std::move(lines);
  };
  add("requires-changed", "requirement with other versions", "requirements with other versions",
      std::move(altered));
  add("requires-added", "new requirement", "new requirements", std::move(added));
  add("requires-removed", "requirement that is gone: who relied on it must ask for it",
      "requirements that are gone: who relied on them must ask for them", std::move(removed));
}

void compare_policies(const InputFacts& before, const InputFacts& now, const Rules& rules,
                      std::vector<Change>& changes) {
  std::string was = lowest_policy(rules, before);
  std::string is = lowest_policy(rules, now);
  if (was != is) {
    auto shown = [](const std::string& policy) { return policy.empty() ? "none" : policy; };
    changes.push_back(change("policy", Severity::note,
                             "the lowest manylinux policy that all libraries fit", shown(was),
                             shown(is)));
  }
}

}  // namespace

std::vector<Change> package_changes(const InputFacts& before, const InputFacts& now,
                                    const Rules& rules) {
  std::vector<Change> changes;
  Packages was = packages_of(before), is = packages_of(now);
  bool renamed = was.size() == 1 && is.size() == 1 && was.begin()->first != is.begin()->first;
  for (const auto& [name, package] : was) {
    auto partner = renamed ? is.begin() : is.find(name);
    if (partner == is.end()) {
      changes.push_back(
          change("packages-removed", Severity::error, "a package is gone", text_of(*package), ""));
      continue;
    }
    const PackageFacts& other = *partner->second;
    compare_python(*package, other, changes);
    compare_tags(*package, other, changes);
    compare_requirements(*package, other, changes);
    if (renamed) {
      changes.push_back(change("package-renamed", Severity::warning,
                               "another name: both can be installed, and each owns its files",
                               text_of(*package), text_of(other)));
    }
  }
  for (const auto& [name, package] : is) {
    if (renamed || was.contains(name)) continue;
    changes.push_back(
        change("packages-added", Severity::note, "a new package", "", text_of(*package)));
  }
  compare_policies(before, now, rules, changes);
  return changes;
}

}  // namespace wheelvet
