// The least that a host must have for the files of a wheel.
#pragma once

#include <string>
#include <vector>

#include "history/history.h"
#include "rules/rules.h"
#include "wheelvet/compat.h"
#include "wheelvet/facts.h"

namespace wheelvet {

/// The floors of the wheel's own objects, raised to those of the oldest release of torch that it
/// loads with (null for none).
std::vector<CompatFloor> floors_of(const Rules& rules, const InputFacts& wheel,
                                   const HistoryBuild* torch, const BuildFacts* torch_facts);

/// Major releases of CUDA that the objects name in DT_NEEDED, as "12".
std::vector<std::string> cuda_majors(const InputFacts& wheel);

}  // namespace wheelvet
