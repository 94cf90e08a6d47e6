// Judges the cells of a matrix. Every input is opened and read once, however many cells use it.
#pragma once

#include <string>
#include <vector>

#include "config/baseline.h"
#include "config/configuration.h"
#include "matrix/matrix_file.h"
#include "run.h"

namespace wheelvet {

struct MatrixRequest {
  Request each;       ///< what holds for every cell: threads, hashes, an interpreter
  std::string cache;  ///< folder of kept results; empty: none is kept
  std::size_t part = 1, parts = 1;
  Severity threshold = Severity::error;
};

/// The cells of the part, judged, put through the gate and compared with what was expected. What
/// the gate's suppressions were good for is noted in it.
MatrixReport run_matrix(const MatrixPlan& plan, const MatrixRequest& request, Gate& gate,
                        const Baseline* baseline);

}  // namespace wheelvet
