// Whether the files at hand confirm an explanation, and what fails besides.
#pragma once

#include "explain/answer.h"
#include "explain/families.h"
#include "wheelvet/report.h"

namespace wheelvet {

/// True when files or an environment were given.
bool can_simulate(const Question& question);

/// Loads what was given. What it holds becomes known: releases of packages.
Report simulate(const Question& question, Knowledge& knowledge);

/// Says what the simulation found of it: who lacks the same name or library, in which release of
/// which package; and what else the same modules lack.
void confirm(const Report& report, const Said& said, Explanation& explanation);

/// Simulates the repairs that put another torch in place, and says what would fail then.
void try_repairs(const Question& question, const Report& before, const Said& said,
                 Explanation& explanation);

}  // namespace wheelvet
