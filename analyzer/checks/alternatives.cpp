#include "checks/alternatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

namespace wheelvet {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

// True for an error all of whose roots are of some kind; an error without roots concerns
// everything.
template <class Kind>
bool error_only_for(const Finding& finding, Kind&& kind) {
  return finding.severity == Severity::error && !finding.roots.empty() &&
         std::all_of(finding.roots.begin(), finding.roots.end(), kind);
}

// At the front of the name of a group that its package does without.
constexpr std::string_view optional_mark = "optional: ";

std::string group_by_rule(const Run& run, const RootView& view) {
  std::size_t package = run.scene.files[view.root->file].package;
  if (package == none) return {};
  std::string name = normalised_name(run.scene.packages[package].facts->name);
  for (const AlternativesRule& rule : run.scene.rules->alternatives) {
    if (rule.package != name) continue;
    for (const std::string& pattern : rule.roots) {
      if (matches(pattern, view.path))
        return fmt::format("{}{} of {}, by {}", rule.optional ? optional_mark : "",
                           rule.roots.front(), rule.package, rule.by);
    }
  }
  return {};
}

}  // namespace

std::string without_variant(std::string_view path) {
  static constexpr std::array<std::string_view, 8> tokens = {"sm_", "sm",    "cuda_", "cuda",
                                                             "cu",  "rocm_", "rocm",  "gfx"};
  std::string out;
  for (std::size_t at = 0; at < path.size();) {
    bool at_start = at == 0 || !std::isalnum(static_cast<unsigned char>(path[at - 1]));
    std::size_t next = at;
    for (std::string_view token : tokens) {
      std::string_view rest = path.substr(at);
      bool here = at_start && rest.starts_with(token) && rest.size() > token.size() &&
                  digit(rest[token.size()]);
      if (!here) continue;
      next = at + token.size();
      while (next < path.size() && digit(path[next])) ++next;
      if (next < path.size() && (path[next] == 'a' || path[next] == 'f')) ++next;
      out += std::string(token) + "#";
      break;
    }
    if (next == at) out += path[next++];
    at = next;
  }
  return out;
}

std::vector<std::string> alternative_groups(const Run& run, const std::vector<RootView>& roots) {
  std::map<std::string, int> siblings;
  for (const RootView& view : roots) ++siblings[without_variant(view.path)];
  std::vector<std::string> groups;
  for (const RootView& view : roots) {
    std::string group = group_by_rule(run, view);
    std::string pattern = without_variant(view.path);
    if (group.empty() && pattern != view.path && siblings[pattern] > 1) {
      group = fmt::format("{}, by their names", pattern);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

namespace {

// Nothing of a group loads, and not for one reason: the reader wants one answer, not a list of what
// each alternative lacks.
Finding none_loads(const std::string& group, const std::vector<const Finding*>& parts) {
  Finding out;
  out.id = "LIB-009";
  out.severity = Severity::error;
  out.title = fmt::format("none of the alternatives loads: {}", group);
  out.cause = "each lacks something; the package takes the one that fits what is installed";
  out.fix = "supply what one of them needs, of one release";
  for (const Finding* part : parts) {
    for (const std::string& root : part->roots) add_once(out.roots, root);
    for (const std::string& object : part->objects) add_once(out.objects, object);
    add_once(out.evidence, part->title);
    out.symbols.insert(out.symbols.end(), part->symbols.begin(), part->symbols.end());
  }
  return out;
}

// Folds the errors that only some alternatives of a failing group have.
void fold_failing_groups(const std::map<std::string, std::string>& group_of,
                         const std::set<std::string>& failing_groups,
                         std::vector<Finding>& findings) {
  std::map<std::string, std::size_t> sizes;
  for (const auto& [path, group] : group_of) ++sizes[group];
  std::map<std::string, std::vector<const Finding*>> parts;
  auto group_of_finding = [&](const Finding& finding) -> std::string {
    if (finding.severity != Severity::error || finding.roots.empty()) return {};
    const std::string& group = group_of.at(finding.roots.front());
    bool one_group = std::all_of(finding.roots.begin(), finding.roots.end(),
                                 [&](const auto& root) { return group_of.at(root) == group; });
    bool some = one_group && finding.roots.size() < sizes[group];
    return some && failing_groups.contains(group) ? group : std::string();
  };
  for (const Finding& finding : findings) {
    std::string group = group_of_finding(finding);
    if (!group.empty()) parts[group].push_back(&finding);
  }
  std::vector<Finding> folded;
  for (const auto& [group, list] : parts) folded.push_back(none_loads(group, list));
  std::erase_if(findings, [&](const Finding& each) { return !group_of_finding(each).empty(); });
  std::move(folded.begin(), folded.end(), std::back_inserter(findings));
}

}  // namespace

void excuse_alternatives(const std::vector<RootView>& roots, const std::vector<std::string>& groups,
                         std::vector<Finding>& findings) {
  std::map<std::string, std::string> group_of;
  std::set<std::string> failing, all, served;  // served: groups of which one loads
  for (std::size_t i = 0; i < roots.size(); ++i) group_of[roots[i].path] = groups[i];
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::error) {
      failing.insert(finding.roots.begin(), finding.roots.end());
    }
  }
  for (const auto& [path, group] : group_of) {
    if (group.empty()) continue;
    all.insert(group);
    bool does_without = group.starts_with(optional_mark);
    if (does_without || !failing.contains(path)) served.insert(group);
  }
  for (Finding& finding : findings) {
    bool excused = error_only_for(
        finding, [&](const std::string& root) { return served.contains(group_of[root]); });
    if (!excused) continue;
    finding.severity = Severity::note;
    finding.alternative = true;
  }
  for (const std::string& group : served) all.erase(group);
  fold_failing_groups(group_of, all, findings);
}

std::string interpreter_of(std::string_view path) {
  constexpr std::string_view mark = ".cpython-3";
  std::size_t at = path.rfind(mark);
  if (at == std::string_view::npos || path.find('/', at) != std::string_view::npos) return {};
  std::string_view rest = path.substr(at + mark.size());
  std::string_view minor = rest.substr(0, rest.find_first_of("-."));
  if (minor.empty() || minor.find_first_not_of("0123456789t") != std::string_view::npos) return {};
  return fmt::format("3.{}", minor);
}

void excuse_other_interpreters(const Run& run, const std::vector<RootView>& roots,
                               std::vector<Finding>& findings) {
  std::set<std::string> others;
  for (const RootView& view : roots) {
    std::string interpreter = interpreter_of(view.path);
    if (view.root->module && !interpreter.empty() && interpreter != run.scene.python) {
      others.insert(view.path);
    }
  }
  for (Finding& finding : findings) {
    bool excused =
        error_only_for(finding, [&](const std::string& root) { return others.contains(root); });
    if (!excused) continue;
    finding.severity = Severity::note;
    finding.alternative = true;
  }
}

namespace {

// What is known of the one that would open it.
std::string why_unopened(const std::vector<RootView>& roots, const std::string& path) {
  for (const RootView& view : roots) {
    if (view.path != path || view.root->opener.empty()) continue;
    return fmt::format("opened at {}, which may not come to it or may catch the failure",
                       view.root->opener);
  }
  return "nothing is known to open it: it fails if something does";
}

// Plugins for what most hosts do not have: one line per package, not one per library that they
// lack.
void fold_unopened(const Run& run, const std::vector<RootView>& roots,
                   std::vector<Finding>& findings) {
  std::map<std::string, std::string> owners;
  for (const RootView& view : roots) owners[view.path] = owner_of(run, view.root->file);
  auto folds = [&](const Finding& each) {
    return each.unopened && each.id == "LIB-001" && each.severity == Severity::warning;
  };
  std::map<std::string, Finding> folded;
  for (const Finding& each : findings) {
    if (!folds(each)) continue;
    for (const std::string& root : each.roots) {
      Finding& out = folded[owners[root]];
      add_once(out.roots, root);
      add_once(out.objects, root);
      add_once(out.evidence, each.title);
      if (!each.fix.empty()) add_once(out.evidence, each.fix);
    }
  }
  std::erase_if(findings, folds);
  for (auto& [owner, out] : folded) {
    out.id = "LIB-010";
    out.severity = Severity::warning;
    out.unopened = true;
    out.title = fmt::format("libraries of {} that nothing is known to open lack others", owner);
    out.cause =
        "they serve hardware or software that is not here; they fail if something opens them";
    out.fix = "none, where that is not used";
    findings.push_back(std::move(out));
  }
}

}  // namespace

void excuse_unopened(const Run& run, const std::vector<RootView>& roots,
                     const std::vector<std::string>& groups, std::vector<Finding>& findings) {
  std::set<std::string> failing, unopened;
  for (const Finding& finding : findings) {
    bool fails = finding.severity == Severity::error || finding.alternative;
    if (fails) failing.insert(finding.roots.begin(), finding.roots.end());
  }
  std::set<std::size_t> served;  // inputs of which something loads
  for (const RootView& view : roots) {
    if (!failing.contains(view.path)) served.insert(run.scene.files[view.root->file].input);
  }
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const LinkedRoot& root = *roots[i].root;
    bool in_package = run.scene.files[root.file].package != none;
    bool maybe = !root.surely_opened && root.imports.empty() && groups[i].empty();
    if (in_package && !root.module && maybe && served.contains(run.scene.files[root.file].input)) {
      unopened.insert(roots[i].path);
    }
  }
  for (Finding& finding : findings) {
    bool excused =
        error_only_for(finding, [&](const std::string& root) { return unopened.contains(root); });
    if (!excused) continue;
    finding.severity = Severity::warning;
    finding.unopened = true;
    finding.evidence.push_back(why_unopened(roots, finding.roots.front()));
  }
  fold_unopened(run, roots, findings);
}

}  // namespace wheelvet
