#include <algorithm>

#include "cli/commands.h"
#include "cli/progress.h"
#include "report/render.h"
#include "run.h"

namespace wheelvet::cli {
namespace {

Severity threshold_of(const std::string& name) {
  if (name == "note") return Severity::note;
  return name == "warning" ? Severity::warning : Severity::error;
}

// Precedence: a proven failure stands although something else was unread.
int exit_code(const Report& report, const Options& options) {
  Severity threshold = threshold_of(options.fail_on);
  bool found = std::any_of(report.findings.begin(), report.findings.end(),
                           [&](const Finding& finding) { return finding.severity >= threshold; });
  if (found) return 1;
  bool rests_on_trust =
      std::any_of(report.assumptions.begin(), report.assumptions.end(),
                  [](const Assumption& each) { return each.kind != "interpreter"; }) ||
      std::any_of(report.inputs.begin(), report.inputs.end(),
                  [](const ReportInput& each) { return each.kind == "stub"; });
  if (!report.complete || (options.strict && rests_on_trust)) return 3;
  return 0;
}

}  // namespace

int run_check(const Options& options) {
  Request request;
  request.targets = options.targets;
  request.providers = options.providers;
  request.python = options.python;
  request.imports = options.imports;
  request.jobs = options.jobs;
  request.hash = options.hash;
  request.with_plans = options.plans || (options.verbose > 0 && options.format == "text");
  Progress progress(!options.quiet);
  request.progress = progress.callback();
  Report report = check(request);
  progress.end();
  TextOptions text{use_color(options), options.quiet ? -1 : options.verbose, options.stats};
  write_output(options, options.format == "json" ? render_json(report, options.stats)
                                                 : render_text(report, text));
  return exit_code(report, options);
}

}  // namespace wheelvet::cli
