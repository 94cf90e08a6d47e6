// The matrix file: what is to be judged beside what.
#pragma once

#include <string>
#include <vector>

#include "config/toml.h"
#include "rules/rules.h"
#include "wheelvet/matrix.h"

namespace wheelvet {

/// Inputs by the names they are opened with.
struct MatrixColumn {
  std::string name;
  std::vector<std::string> providers;  ///< empty: the target alone
  std::string environment;             ///< prefix that the target is laid over; empty: none
  unsigned line = 0;                   ///< where the environment is named
  unsigned named = 0;                  ///< where it gets its name
};

struct MatrixScenario {
  std::string name;
  std::string python;
  std::vector<std::string> imports;
  std::vector<std::string> gpus;
  unsigned named = 0;  ///< line that gives it its name
};

/// Cells by patterns of their names; an empty one matches all.
struct CellPattern {
  std::string target, provider, scenario;
};

/// Cells that are known to fail.
struct Expectation {
  CellPattern cells;
  std::vector<std::string> rules;  ///< patterns of the rules they fail by; empty: any
  std::string reason;
  unsigned line = 0;
};

struct MatrixPlan {
  std::string file;
  std::vector<std::string> targets;
  std::vector<MatrixColumn> columns;
  std::vector<MatrixScenario> scenarios;
  std::vector<CellPattern> include, exclude;
  std::vector<Expectation> expectations;
};

/// A cell to be judged, by indices into the plan.
struct PlannedCell {
  std::size_t index = 0, target = 0, column = 0, scenario = 0;
  CellName name;
};

/// WrongUsage, with file and line, for anything that makes no sense: a pattern of files that
/// matches none as well.
MatrixPlan read_matrix_file(const std::string& path);

/// The cells in the order targets, columns, scenarios. WrongUsage when none is left.
std::vector<PlannedCell> plan_cells(const MatrixPlan& plan);

/// A part of them: the I-th of N runs of neighbours, so that a part reads few targets.
std::vector<PlannedCell> shard_of(const std::vector<PlannedCell>& cells, std::size_t part,
                                  std::size_t parts);

/// True when the cell's names match.
bool matches_cell(const CellPattern& pattern, const CellName& name);

/// Marks what was expected as suppressed, and gives a cell that passes against expectation a
/// finding. `threshold`: what counts as failing.
void apply_expectations(const MatrixPlan& plan, Severity threshold, MatrixCell& cell);

/// CFG-003 for each expectation that speaks of no cell at all.
std::vector<Finding> judge_expectations(const MatrixPlan& plan,
                                        const std::vector<PlannedCell>& cells);

}  // namespace wheelvet
