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

std::string interpreter_of(std::string_view path) {
  constexpr std::string_view mark = ".cpython-3";
  std::size_t at = path.rfind(mark);
  if (at == std::string_view::npos || path.find('/', at) != std::string_view::npos) return {};
  std::string_view rest = path.substr(at + mark.size());
  std::string_view minor = rest.substr(0, rest.find_first_of("-."));
  if (minor.empty() || minor.find_first_not_of("0123456789t") != std::string_view::npos) return {};
  return fmt::format("3.{}", minor);
}

namespace {

// Nothing of a group loads, and not for one reason: the reader wants one answer, not a list of what
// each alternative lacks.
Finding none_loads(const std::string& group, const std::vector<Finding>& parts) {
  Finding out;
  out.id = "LIB-009";
  out.severity = Severity::error;
  out.title = fmt::format("none of the alternatives loads: {}", group);
  out.cause = "each lacks something; the package takes the one that fits what is installed";
  out.fix = "supply what one of them needs, of one release";
  for (const Finding& part : parts) {
    for (const std::string& root : part.roots) add_once(out.roots, root);
    for (const std::string& object : part.objects) add_once(out.objects, object);
    add_once(out.evidence, part.title);
    out.symbols.insert(out.symbols.end(), part.symbols.begin(), part.symbols.end());
  }
  return out;
}

// What is known of the one that would open it.
std::string why_unopened(const std::vector<RootView>& roots, const std::string& path) {
  for (const RootView& view : roots) {
    if (view.path != path || view.root->opener.empty()) continue;
    return fmt::format("opened at {}, which may not come to it or may catch the failure",
                       view.root->opener);
  }
  return "nothing is known to open it: it fails if something does";
}

bool lacks_library(const Finding& finding) {
  return finding.id == "LIB-001" || finding.id == "CUDA-001" || finding.id == "CUDA-003";
}

// Plugins for what most hosts do not have: one line per package, not one per library that they
// lack.
void fold_unopened(const Run& run, const std::vector<RootView>& roots,
                   std::vector<Finding>& findings) {
  std::map<std::string, std::string> owners;
  for (const RootView& view : roots) owners[view.path] = owner_of(run, view.root->file);
  auto folds = [&](const Finding& each) {
    return each.unopened && lacks_library(each) && each.severity == Severity::warning;
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

// What becomes of an error for one of its roots.
enum class Fate { error, alternative, broken, unopened, folded };

// What is known of the roots as a whole before errors are weighed.
struct Standing {
  std::set<std::string> others;               // modules of other interpreters
  std::map<std::string, std::string> groups;  // root -> group of alternatives
  std::map<std::string, std::size_t> sizes;   // of the groups
  std::set<std::string> served;               // groups of which one loads, or that are optional
  std::set<std::string> unopened;             // libraries that nothing is known to open

  std::string group_of(const std::string& root) const {
    auto found = groups.find(root);
    return found == groups.end() ? std::string() : found->second;
  }

  // `shared`: how many roots of its group the error concerns. `absent`: for want of a library. One
  // that the package does without need not have its library; where that is there, it should load.
  Fate fate(const std::string& root, std::size_t shared, bool absent) const {
    std::string group = group_of(root);
    if (others.contains(root)) return Fate::alternative;
    if (!absent && group.starts_with(optional_mark)) return Fate::broken;
    if (!group.empty() && served.contains(group)) return Fate::alternative;
    if (!group.empty() && shared < sizes.at(group)) return Fate::folded;
    return unopened.contains(root) ? Fate::unopened : Fate::error;
  }
};

Standing standing_of(const Run& run, const std::vector<RootView>& roots,
                     const std::vector<std::string>& groups, const std::vector<Finding>& findings) {
  Standing out;
  std::set<std::string> failing;
  for (const Finding& finding : findings) {
    if (finding.severity != Severity::error) continue;
    failing.insert(finding.roots.begin(), finding.roots.end());
  }
  std::set<std::size_t> inputs;  // of which something loads
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const RootView& view = roots[i];
    bool loads = !failing.contains(view.path);
    std::string interpreter = interpreter_of(view.path);
    if (view.root->module && !interpreter.empty() && interpreter != run.scene.python) {
      out.others.insert(view.path);
    }
    if (loads) inputs.insert(run.scene.files[view.root->file].input);
    if (groups[i].empty()) continue;
    out.groups[view.path] = groups[i];
    ++out.sizes[groups[i]];
    if (loads || groups[i].starts_with(optional_mark)) out.served.insert(groups[i]);
  }
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const LinkedRoot& root = *roots[i].root;
    const SceneFile& file = run.scene.files[root.file];
    // One that needs torch's libraries is opened by whoever imports torch.
    bool needed_torch = !root.imports.empty() && root.only_after.empty();
    bool maybe = !root.module && !root.surely_opened && !needed_torch && groups[i].empty();
    if (maybe && file.package != none && inputs.contains(file.input)) {
      out.unopened.insert(roots[i].path);
    }
  }
  return out;
}

// The part of a finding that concerns some of its roots.
Finding restricted(const Finding& finding, const std::vector<std::string>& roots) {
  Finding out = finding;
  out.roots = roots;
  auto left_out = [&](const std::string& path) {
    bool kept = std::find(roots.begin(), roots.end(), path) != roots.end();
    bool root = std::find(finding.roots.begin(), finding.roots.end(), path) != finding.roots.end();
    return root && !kept;
  };
  std::erase_if(out.objects, left_out);
  for (SymbolEvidence& symbol : out.symbols) std::erase_if(symbol.wanted_by, left_out);
  std::erase_if(out.symbols, [](const SymbolEvidence& each) { return each.wanted_by.empty(); });
  return out;
}

// The parts of an error by what becomes of it. `folded` takes what goes into one answer per group.
std::vector<Finding> weigh(const Finding& finding, const std::vector<RootView>& views,
                           const Standing& standing,
                           std::map<std::string, std::vector<Finding>>& folded) {
  std::map<std::string, std::size_t> shared;
  for (const std::string& root : finding.roots) ++shared[standing.group_of(root)];
  std::map<std::pair<Fate, std::string>, std::vector<std::string>> parts;
  for (const std::string& root : finding.roots) {
    std::string group = standing.group_of(root);
    Fate fate = standing.fate(root, shared[group], lacks_library(finding));
    parts[{fate, fate == Fate::folded ? group : std::string()}].push_back(root);
  }
  std::vector<Finding> out;
  for (const auto& [key, roots] : parts) {
    Finding part = parts.size() == 1 ? finding : restricted(finding, roots);
    if (key.first == Fate::folded) {
      folded[key.second].push_back(std::move(part));
      continue;
    }
    if (key.first == Fate::alternative) {
      part.severity = Severity::note;
      part.alternative = true;
    } else if (key.first == Fate::broken) {
      part.severity = Severity::warning;
      part.evidence.push_back("the package can be imported without this");
    } else if (key.first == Fate::unopened) {
      part.severity = Severity::warning;
      part.unopened = true;
      part.evidence.push_back(why_unopened(views, roots.front()));
    }
    out.push_back(std::move(part));
  }
  return out;
}

}  // namespace

void excuse(const Run& run, const std::vector<RootView>& roots,
            const std::vector<std::string>& groups, std::vector<Finding>& findings) {
  Standing standing = standing_of(run, roots, groups, findings);
  std::vector<Finding> out;
  std::map<std::string, std::vector<Finding>> folded;
  for (Finding& finding : findings) {
    if (finding.severity != Severity::error || finding.roots.empty()) {
      out.push_back(std::move(finding));
      continue;
    }
    std::vector<Finding> parts = weigh(finding, roots, standing, folded);
    std::move(parts.begin(), parts.end(), std::back_inserter(out));
  }
  for (const auto& [group, parts] : folded) out.push_back(none_loads(group, parts));
  findings = std::move(out);
  fold_unopened(run, roots, findings);
}

}  // namespace wheelvet
