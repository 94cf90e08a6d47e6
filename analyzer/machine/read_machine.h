#pragma once

#include <vector>

#include "wheelvet/facts.h"
#include "wheelvet/input.h"
#include "wheelvet/machine.h"

namespace wheelvet {

/// Facts of the machine's own files that the loader could meet: for every name that some file
/// needs, each file of that name in a folder that some search passes (LD_LIBRARY_PATH, the cache,
/// the default folders, and every folder outside the inputs that an RPATH or RUNPATH names) or that
/// a CUDA toolkit has, and
/// what those need in turn; the interpreter and what is preloaded. More than one process would
/// open, so that the search itself reads nothing. The paths are those that a search would use.
InputFacts read_machine(const Machine& machine, const std::vector<Input>& inputs,
                        const Facts& facts);

}  // namespace wheelvet
