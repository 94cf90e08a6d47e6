#include "matrix/matrix_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "config/glob.h"
#include "config/scenario_words.h"
#include "config/suppression.h"
#include "facts/metadata.h"
#include "report/finding_rows.h"
#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

namespace fs = std::filesystem;

// More than this is a pattern gone wrong: one workflow run does not judge so many.
constexpr std::size_t most_cells = 100000;

// "torch==2.10.0" is a release and no path.
bool is_requirement(const std::string& text) { return text.find("==") != std::string::npos; }

// A folder of wheels stands for its wheels, as on the command line.
std::vector<std::string> inputs_of(const TomlTable& in, const fs::path& folder,
                                   const std::string& written, unsigned line) {
  if (is_requirement(written)) return {written};
  std::vector<std::string> out;
  for (const std::string& found : files_matching((folder / written).string())) {
    std::vector<std::string> wheels;
    if (fs::is_directory(found)) wheels = files_matching(found + "/*.whl");
    if (wheels.empty()) wheels.push_back(found);
    out.insert(out.end(), wheels.begin(), wheels.end());
  }
  if (out.empty()) complain(in.file, line, fmt::format("{} matches no file", written));
  return out;
}

unsigned line_of(const TomlTable& in, std::string_view key) {
  const Document* value = in.table->find(key);
  return value ? value->line : in.table->line;
}

std::vector<std::string> read_inputs_of(const TomlTable& in, std::string_view key,
                                        const fs::path& folder) {
  std::vector<std::string> out;
  for (const std::string& written : toml_texts(in, key)) {
    for (std::string& path : inputs_of(in, folder, written, line_of(in, key))) {
      if (std::find(out.begin(), out.end(), path) == out.end()) out.push_back(std::move(path));
    }
  }
  return out;
}

std::string label_of(const std::string& path) {
  return is_requirement(path) ? path : std::string(base_name(path));
}

void read_columns(const TomlTable& top, const fs::path& folder, MatrixPlan& plan) {
  for (std::string& path : read_inputs_of(top, "providers", folder)) {
    plan.columns.push_back({label_of(path), {path}, "", 0, line_of(top, "providers")});
  }
  for (const TomlTable& table : toml_tables(top, "provider")) {
    only_keys(table, {"name", "with", "env"});
    MatrixColumn column{toml_text(table, "name"), read_inputs_of(table, "with", folder),
                        toml_text(table, "env"), line_of(table, "env"), line_of(table, "name")};
    if (!column.environment.empty()) {
      column.environment = (folder / column.environment).lexically_normal().string();
    }
    if (column.name.empty() && column.providers.size() == 1) {
      column.name = label_of(column.providers.front());
    }
    if (column.name.empty()) {
      complain(table.file, table.table->line,
               "[provider] of several inputs, or none, needs a name");
    }
    plan.columns.push_back(std::move(column));
  }
  if (plan.columns.empty()) plan.columns.push_back({"alone", {}, "", 0, 0});
}

void read_scenarios(const TomlTable& top, MatrixPlan& plan) {
  for (const TomlTable& table : toml_tables(top, "scenario")) {
    only_keys(table, {"name", "python", "import", "gpu"});
    MatrixScenario scenario{toml_text(table, "name"), toml_text(table, "python"),
                            toml_texts(table, "import"), toml_texts(table, "gpu"),
                            line_of(table, "name")};
    require_python(scenario.python, table.file, line_of(table, "python"));
    require_gpus(scenario.gpus, table.file, line_of(table, "gpu"));
    if (scenario.name.empty()) scenario.name = scenario.python;
    if (scenario.name.empty() && scenario.gpus.size() == 1) scenario.name = scenario.gpus.front();
    if (scenario.name.empty()) {
      complain(table.file, table.table->line, "[scenario] needs a name, a python or a gpu");
    }
    plan.scenarios.push_back(std::move(scenario));
  }
  if (plan.scenarios.empty()) plan.scenarios.emplace_back();
}

CellPattern read_pattern(const TomlTable& table) {
  return {toml_text(table, "target"), toml_text(table, "provider"), toml_text(table, "scenario")};
}

std::vector<CellPattern> read_patterns(const TomlTable& top, std::string_view key) {
  std::vector<CellPattern> out;
  for (const TomlTable& table : toml_tables(top, key)) {
    only_keys(table, {"target", "provider", "scenario"});
    if (table.table->members.empty()) {
      complain(table.file, table.table->line, fmt::format("[{}] says nothing", table.section));
    }
    out.push_back(read_pattern(table));
  }
  return out;
}

void read_expectations(const TomlTable& top, MatrixPlan& plan) {
  const std::vector<CatalogEntry>& catalog = load_catalog();
  for (const TomlTable& table : toml_tables(top, "expect")) {
    only_keys(table, {"target", "provider", "scenario", "rules", "reason"});
    Expectation out{read_pattern(table), toml_texts(table, "rules"),
                    toml_text(table, "reason", true), table.table->line};
    for (const std::string& rule : out.rules) {
      require_rule(rule, table.file, line_of(table, "rules"), catalog);
    }
    plan.expectations.push_back(std::move(out));
  }
}

// Names stand for cells in patterns and in reports.
template <class List>
void require_different(const List& list, const std::string& file, std::string_view what) {
  std::set<std::string> names;
  for (const auto& each : list) {
    if (!names.insert(each.name).second) {
      complain(file, each.named, fmt::format("two {} are called {}", what, each.name));
    }
  }
}

bool part_matches(const std::string& pattern, const std::string& name) {
  return pattern.empty() || matches_glob(pattern, name);
}

bool matches_some(const std::vector<CellPattern>& patterns, const CellName& name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const CellPattern& each) { return matches_cell(each, name); });
}

bool by_some(const std::vector<std::string>& rules, const std::string& id) {
  return rules.empty() || std::any_of(rules.begin(), rules.end(), [&](const std::string& rule) {
           return matches_rule(rule, id);
         });
}

}  // namespace

MatrixPlan read_matrix_file(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) throw WrongUsage(fmt::format("no matrix file {}", path));
  MatrixPlan plan;
  plan.file = base_name(path);
  Document document = read_toml_file(path, plan.file);
  TomlTable top{plan.file, "", &document};
  only_keys(top, {"targets", "providers", "provider", "scenario", "include", "exclude", "expect"});
  fs::path folder = fs::path(path).parent_path();
  plan.targets = read_inputs_of(top, "targets", folder);
  if (plan.targets.empty()) complain(plan.file, 1, "targets names nothing to judge");
  read_columns(top, folder, plan);
  read_scenarios(top, plan);
  plan.include = read_patterns(top, "include");
  plan.exclude = read_patterns(top, "exclude");
  read_expectations(top, plan);
  require_different(plan.columns, plan.file, "providers");
  require_different(plan.scenarios, plan.file, "scenarios");
  std::set<std::string> labels;
  for (const std::string& target : plan.targets) {
    if (!labels.insert(label_of(target)).second) {
      complain(plan.file, line_of(top, "targets"),
               fmt::format("two targets are called {}", label_of(target)));
    }
  }
  return plan;
}

bool matches_cell(const CellPattern& pattern, const CellName& name) {
  return part_matches(pattern.target, name.target) &&
         part_matches(pattern.provider, name.provider) &&
         part_matches(pattern.scenario, name.scenario);
}

std::vector<PlannedCell> plan_cells(const MatrixPlan& plan) {
  std::size_t product = plan.targets.size() * plan.columns.size() * plan.scenarios.size();
  if (product > most_cells) {
    throw WrongUsage(fmt::format("{}: {} cells are more than {}", plan.file, product, most_cells));
  }
  std::vector<PlannedCell> out;
  for (std::size_t t = 0; t < plan.targets.size(); ++t) {
    for (std::size_t c = 0; c < plan.columns.size(); ++c) {
      for (std::size_t s = 0; s < plan.scenarios.size(); ++s) {
        CellName name{label_of(plan.targets[t]), plan.columns[c].name, plan.scenarios[s].name};
        bool wanted = plan.include.empty() || matches_some(plan.include, name);
        if (wanted && !matches_some(plan.exclude, name)) out.push_back({out.size(), t, c, s, name});
      }
    }
  }
  if (out.empty()) throw WrongUsage(plan.file + ": include and exclude leave no cell");
  return out;
}

std::vector<PlannedCell> shard_of(const std::vector<PlannedCell>& cells, std::size_t part,
                                  std::size_t parts) {
  auto begin = static_cast<std::ptrdiff_t>(cells.size() * (part - 1) / parts);
  auto end = static_cast<std::ptrdiff_t>(cells.size() * part / parts);
  return {cells.begin() + begin, cells.begin() + end};
}

void apply_expectations(const MatrixPlan& plan, Severity threshold, MatrixCell& cell) {
  for (const Expectation& each : plan.expectations) {
    if (!matches_cell(each.cells, cell.name)) continue;
    bool met = false;
    std::string reason = fmt::format("expected: {} ({}:{})", each.reason, plan.file, each.line);
    for (Finding& finding : cell.report.findings) {
      if (finding.severity < threshold || !by_some(each.rules, finding.id)) continue;
      // What is suppressed or known besides fails all the same.
      if (counts(finding, threshold)) finding.suppressed = reason;
      met = true;
    }
    // A cell that could not be judged neither fails nor passes.
    if (met || !cell.report.complete) continue;
    Finding& surprise = cell.report.findings.emplace_back();
    surprise.id = "CFG-004";
    surprise.title = "passes although it is expected to fail";
    surprise.evidence = {reason};
    surprise.fix = "remove the expectation";
    sort_findings(cell.report.findings);
  }
}

std::vector<Finding> judge_expectations(const MatrixPlan& plan,
                                        const std::vector<PlannedCell>& cells) {
  std::vector<Finding> out;
  for (const Expectation& each : plan.expectations) {
    bool used = std::any_of(cells.begin(), cells.end(), [&](const PlannedCell& cell) {
      return matches_cell(each.cells, cell.name);
    });
    if (used) continue;
    Finding& finding = out.emplace_back();
    finding.id = "CFG-003";
    finding.severity = Severity::warning;
    finding.title = "an expectation speaks of no cell of the matrix";
    finding.evidence = {fmt::format("{}:{}: {}", plan.file, each.line, each.reason)};
    finding.fix = "remove it, or mend its patterns";
  }
  return out;
}

}  // namespace wheelvet
