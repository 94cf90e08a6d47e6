#pragma once

#include <set>
#include <string>
#include <vector>

#include "wheelvet/facts.h"
#include "wheelvet/input.h"

namespace wheelvet {

/// Reads the Python source of the targets that matters to the loader: the __init__ files that are
/// run before an extension module is imported, with the modules of the same input that they import;
/// and, of packages that hold libraries which nothing in the input needs by name, the files that
/// may open one. Packages in `known` (their first folder) are left out: rules/ says what they load.
/// What cannot be read is left out: nothing is concluded from a file that was not read.
void read_python(const std::vector<Input>& inputs, const std::set<std::string>& known, Facts& facts,
                 unsigned jobs);

}  // namespace wheelvet
