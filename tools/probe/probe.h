// The whole run: every step in turn, then the report.
#pragma once

#include "report.h"
#include "request.h"

namespace wheelvet::probe {

Report run_probe(Request request);

/// Fills in what is known of this host and the verdict, once the steps are there.
void describe(const Request& request, Report& report);

/// 0 all passed, 1 one failed, 3 one did not run, 130 interrupted.
int exit_code(const Report& report);

}  // namespace wheelvet::probe
