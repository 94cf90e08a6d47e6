// A matrix: targets beside providers in scenarios, and what became of each cell.
#pragma once

#include <string>
#include <vector>

#include "wheelvet/report.h"

namespace wheelvet {

/// One combination, by the names that people gave.
struct CellName {
  std::string target, provider, scenario;  ///< scenario: empty when there is only the usual one
};

struct MatrixCell {
  std::size_t index = 0;  ///< in the whole matrix, whatever the shard
  CellName name;
  Report report;  ///< of an expected failure the findings are suppressed
};

/// What a suppression was good for in some part of the matrix.
struct SuppressionUse {
  std::string rule, reason, until, file;
  std::size_t line = 0;
  bool in_scope = false, used = false;
};

struct MatrixReport {
  std::string file;               ///< name of the matrix file
  std::string run;                ///< what all parts of one run have in common, as a hash
  std::size_t total = 0;          ///< cells of the whole matrix
  std::vector<MatrixCell> cells;  ///< by index; of a shard only its own
  std::vector<Finding> findings;  ///< about suppressions and expectations
  std::vector<Problem> problems;  ///< cells that no part holds
  std::string configuration;
  std::vector<SuppressionUse> suppressions;
  std::size_t from_cache = 0;
};

}  // namespace wheelvet
