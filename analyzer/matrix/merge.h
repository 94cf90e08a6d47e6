#pragma once

#include <string>
#include <vector>

#include "wheelvet/matrix.h"

namespace wheelvet {

/// Joins the parts of one matrix, in any order: files of JSON or JSON lines that `matrix` wrote.
/// Cells that no part holds are Problems. WrongUsage when the parts are of different matrices or
/// disagree on a cell; Unreadable for a file that is none.
MatrixReport merge_parts(const std::vector<std::string>& paths);

}  // namespace wheelvet
