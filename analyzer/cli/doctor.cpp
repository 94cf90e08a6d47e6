#include "doctor/doctor.h"

#include <algorithm>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "report/finding_rows.h"
#include "report/render.h"

namespace wheelvet::cli {

int run_doctor(const Options& typed) {
  Settings settings = settle(typed);
  const Options& options = settings.options;
  Gate gate = gate_of(settings);
  DoctorRequest request;
  request.environment = options.environment;
  if (request.environment.empty() && options.sysroot.empty()) {
    for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
      const char* prefix = std::getenv(name);
      if (request.environment.empty() && prefix && *prefix) request.environment = prefix;
    }
  }
  request.sysroot = options.sysroot;
  while (request.sysroot.size() > 1 && request.sysroot.ends_with('/')) request.sysroot.pop_back();
  request.user = options.user;
  request.units = options.units;
  request.records = options.tuning;
  request.parse_with_python = options.ask_python;
  request.write_fix = options.write_fix;
  request.expect = options.expect;
  request.record = options.record;
  request.jobs = options.jobs;
  request.gate = [&gate](std::vector<Finding>& findings) { apply_gate_of_doctor(gate, findings); };
  Progress progress(!options.quiet);
  request.progress = progress.callback();
  DoctorReport report = examine(request);
  progress.end();
  report.configuration = gate.file;
  TextOptions text{use_color(options), options.quiet ? -1 : options.verbose, options.stats};
  write_report(options, options.format == "json" ? render_json(report, options.stats)
                                                 : render_text(report, text));
  Severity threshold = threshold_of(options.fail_on);
  bool found = std::any_of(report.findings.begin(), report.findings.end(),
                           [&](const Finding& each) { return counts(each, threshold); });
  return found ? 1 : report.complete ? 0 : 3;
}

}  // namespace wheelvet::cli
