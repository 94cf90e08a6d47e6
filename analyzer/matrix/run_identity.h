// What the parts of one run have in common, so that `merge` joins no others.
#pragma once

#include <string>

#include "matrix/run_matrix.h"

namespace wheelvet {

/// SHA-256 over the program's version and rules, the cells and scenarios, the options and the gate.
/// Paths, threads and folders of machines are not in it: parts are judged on several. `baseline`:
/// the file's path, or empty.
std::string run_identity(const MatrixPlan& plan, const MatrixRequest& request, const Gate& gate,
                         const std::string& baseline);

}  // namespace wheelvet
