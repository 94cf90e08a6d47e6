// Packages that have to be of one release: rules/families.toml, and what they declare themselves.
#include <fmt/format.h>

#include <algorithm>

#include "checks/checks.h"
#include "facts/requirement.h"
#include "rules/cuda_rules.h"

namespace wheelvet {
namespace {

struct Installed {
  std::string name;  // normalised
  const PackageFacts* facts = nullptr;
  bool target = false;

  std::string text() const { return fmt::format("{} {}", facts->name, facts->version); }
};

std::vector<Installed> members_of(const Run& run) {
  std::vector<Installed> out;
  for (const ScenePackage& package : run.scene.packages) {
    if (package.replaced) continue;
    out.push_back({normalised_name(package.facts->name), package.facts, package.target});
  }
  return out;
}

const Installed* find(const std::vector<Installed>& members, std::string_view name) {
  auto found = std::find_if(members.begin(), members.end(),
                            [&](const Installed& member) { return member.name == name; });
  return found == members.end() ? nullptr : &*found;
}

// Of two packages that were there before nothing is said when something else is judged.
bool concerns(const Installed* a, const Installed* b) { return a && b && (a->target || b->target); }

Finding& add(FindingSet& found, const char* id, Severity severity, const Installed& a,
             const Installed& b) {
  Finding& finding = found.at(a.name + "\n" + b.name, id, severity);
  finding.title = fmt::format("{} and {} do not belong together", a.text(), b.text());
  finding.objects = {a.text(), b.text()};
  return finding;
}

// A version without what stands behind the '+'.
std::string without_local(const std::string& version) {
  return version.substr(0, version.find('+'));
}

bool admits(const std::string& specifier, const Installed& package) {
  std::optional<std::vector<VersionClause>> clauses = read_specifier(specifier);
  return clauses && admits_version(*clauses, package.facts->version).value_or(false);
}

void check_equal(const std::vector<Installed>& members, FindingSet& found) {
  for (const EqualRule& rule : package_families().equal) {
    const Installed* package = find(members, rule.package);
    for (const std::string& name : rule.with) {
      const Installed* other = find(members, name);
      if (!concerns(package, other)) continue;
      std::string wanted = without_local(package->facts->version);
      std::optional<int> order = compare_pep440(wanted, without_local(other->facts->version));
      if (!order || *order == 0) continue;
      Finding& finding = add(found, "FAM-001", Severity::error, *package, *other);
      finding.cause = rule.consequence;
      finding.fix = fmt::format("pip install \"{}=={}\"", name, wanted);
    }
  }
}

// The first two numbers of a version.
std::string minor_of(std::string_view version) {
  std::size_t dot = version.find('.');
  if (dot == std::string_view::npos) return std::string(version);
  return std::string(version.substr(0, version.find_first_not_of("0123456789", dot + 1)));
}

// True when a package itself says which releases of another it goes with.
bool declares(const PackageFacts& package, std::string_view other) {
  return std::any_of(package.requirements.begin(), package.requirements.end(),
                     [&](const std::string& text) {
                       std::optional<Requirement> each = read_pep508(text).requirement;
                       return each && each->name == other && !each->clauses.empty();
                     });
}

void check_pairs(const std::vector<Installed>& members, FindingSet& found) {
  for (const PairRule& rule : package_families().pairs) {
    const Installed* package = find(members, rule.package);
    const Installed* other = find(members, rule.with);
    if (!concerns(package, other) || declares(*package->facts, rule.with)) continue;
    for (const auto& [of, wanted] : rule.releases) {
      if (of != minor_of(package->facts->version)) continue;
      if (wanted == minor_of(other->facts->version)) continue;
      Finding& finding = add(found, "FAM-002", Severity::warning, *package, *other);
      finding.cause = rule.consequence;
      finding.fix = fmt::format("{} {} goes with {} {}", package->facts->name, of,
                                other->facts->name, wanted);
    }
  }
}

bool is_member(const std::vector<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches(pattern, name); });
}

std::string_view machine_of(const Run& run) {
  for (const SceneFile& file : run.scene.files) {
    if (file.target && is_object(file)) {
      return file.facts->elf.machine == 183 ? "aarch64" : "x86_64";  // EM_AARCH64
    }
  }
  return "x86_64";
}

void check_requirement(const Run& run, const DeclaredRule& rule, const Installed& requirer,
                       const std::string& text, const std::vector<Installed>& members,
                       FindingSet& found) {
  std::optional<Requirement> each = read_pep508(text).requirement;
  if (!each || each->clauses.empty() || !is_member(rule.packages, each->name)) return;
  const Installed* other = find(members, each->name);
  if (!concerns(&requirer, other)) return;
  bool all_extras = is_member(rule.with_extras, requirer.name);
  std::string extra = all_extras ? extra_of(text) : std::string();
  MarkerValues values = marker_values(run.scene.python, machine_of(run));
  bool applies = !each->marker || holds(*each->marker, values, extra).value_or(false);
  std::optional<bool> fits = admits_version(each->clauses, other->facts->version);
  if (!applies || fits.value_or(true)) return;
  Finding& finding = add(found, "FAM-003", Severity::warning, requirer, *other);
  add_once(finding.evidence,
           fmt::format("{} requires {}{}", requirer.text(), each->name, each->versions));
  finding.cause = fmt::format(
      "they are of one family ({}), whose releases are built for each other", rule.name);
  finding.fix = fmt::format("pip install \"{}{}\", or another release of {}", each->name,
                            each->versions, requirer.facts->name);
}

void check_declared(const Run& run, const std::vector<Installed>& members, FindingSet& found) {
  for (const DeclaredRule& rule : package_families().declared) {
    for (const Installed& requirer : members) {
      if (!rule.any_requirer && !is_member(rule.packages, requirer.name)) continue;
      for (const std::string& text : requirer.facts->requirements) {
        check_requirement(run, rule, requirer, text, members, found);
      }
    }
  }
}

void check_known(const std::vector<Installed>& members, FindingSet& found) {
  for (const KnownRule& rule : package_families().known) {
    const Installed* package = find(members, rule.package);
    const Installed* other = find(members, rule.with);
    if (!concerns(package, other)) continue;
    bool both = admits(rule.version, *package) && admits(rule.other, *other);
    if (!both) continue;
    Finding& finding = add(found, "FAM-004", Severity::warning, *package, *other);
    finding.cause = rule.why;
    finding.fix = fmt::format("another release of {}", other->facts->name);
  }
}

}  // namespace

std::vector<Finding> check_families(const Run& run) {
  FindingSet found;
  std::vector<Installed> members = members_of(run);
  check_equal(members, found);
  check_pairs(members, found);
  check_declared(run, members, found);
  check_known(members, found);
  return found.take();
}

}  // namespace wheelvet
