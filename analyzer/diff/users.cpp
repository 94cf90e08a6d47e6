#include "diff/users.h"

#include <algorithm>
#include <map>
#include <utility>

#include "checks/checks.h"
#include "checks/explain.h"
#include "link/scene.h"

namespace wheelvet {
namespace {

// Some inputs of the cast as those of one run; their facts are borrowed, and given back at the end.
class Stage {
 public:
  Stage(Cast& cast, const std::vector<std::size_t>& roles) : cast_(cast), roles_(roles) {
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      inputs.push_back(cast.inputs[roles_[i]]);
      facts.inputs.push_back(std::move(cast.facts.inputs[roles_[i]]));
      facts.inputs.back().input = i;
    }
  }
  ~Stage() {
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      facts.inputs[i].input = roles_[i];
      cast_.facts.inputs[roles_[i]] = std::move(facts.inputs[i]);
    }
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  std::vector<Input> inputs;
  Facts facts;

 private:
  Cast& cast_;
  std::vector<std::size_t> roles_;
};

Report report_beside(Cast& cast, std::size_t user, std::size_t side, const Rules& rules,
                     const std::string& python, unsigned jobs) {
  std::vector<std::size_t> roles = {user, side};
  roles.insert(roles.end(), cast.providers.begin(), cast.providers.end());
  Stage stage(cast, roles);
  Machine machine;
  Scene scene = set_scene(stage.inputs, stage.facts, rules, machine, python);
  LinkOptions options;
  options.jobs = jobs;
  Links links = link_scene(scene, options);
  Run run{stage.inputs, stage.facts, scene, links};
  std::vector<RootView> roots = view_roots(run);
  return explain(run, roots, run_checks(run, roots), false);
}

bool stands(const ReportRoot& root) { return root.status != Status::fails || root.excused; }

// Findings about modules that break, and about nothing else.
void keep_reasons(Report& report, const std::set<std::string>& broken) {
  std::erase_if(report.findings, [&](Finding& finding) {
    bool concerned = std::any_of(finding.roots.begin(), finding.roots.end(),
                                 [&](const std::string& root) { return broken.contains(root); });
    return finding.severity != Severity::error || !concerned;
  });
}

}  // namespace

UserOutcome judge_user(Cast& cast, std::size_t user, const Rules& rules, const std::string& python,
                       unsigned jobs) {
  UserOutcome out;
  out.label = cast.inputs[user].label;
  Report before = report_beside(cast, user, cast.before, rules, python, jobs);
  out.now = report_beside(cast, user, cast.now, rules, python, jobs);
  std::map<std::string, const ReportRoot*> was;
  for (const ReportRoot& root : before.roots) was.emplace(root.path, &root);
  std::set<std::string> broken;
  for (const ReportRoot& root : out.now.roots) {
    UserModule& module = out.modules.emplace_back();
    module.path = root.path;
    module.name = root.name;
    module.now = root.status;
    auto old = was.find(root.path);
    if (old == was.end()) continue;
    module.before = old->second->status;
    module.breaks = stands(*old->second) && !stands(root);
    if (module.breaks) broken.insert(root.path);
    bool told = module.before != Status::undecided && module.now != Status::undecided;
    out.complete = out.complete && (told || module.breaks);
  }
  out.breaks = !broken.empty();
  keep_reasons(out.now, broken);
  return out;
}

std::set<std::string, std::less<>> names_used(const Cast& cast) {
  std::set<std::string, std::less<>> out;
  for (std::size_t user : cast.users) {
    for (const FileFacts& file : cast.facts.inputs[user].files) {
      if (file.kind != FileKind::elf || file.problem) continue;
      const SymbolTable& symbols = file.elf.symbols;
      for (std::size_t i = 1; i < symbols.count; ++i) {
        bool needed = symbols.undefined(i) && symbols.relocations[i] != used_by_none;
        if (needed) out.emplace(symbols.name(i));
      }
    }
  }
  return out;
}

}  // namespace wheelvet
