#include "compat/compat.h"

#include <algorithm>

#include "cli/commands.h"
#include "cli/progress.h"
#include "report/compat_report.h"

namespace wheelvet::cli {
namespace {

int exit_code(const Compat& compat, const Options& options) {
  auto reached = [&](const Finding& finding) {
    return to_string(finding.severity) == options.fail_on || finding.severity == Severity::error ||
           (finding.severity == Severity::warning && options.fail_on == "note");
  };
  if (std::any_of(compat.findings.begin(), compat.findings.end(), reached)) return 1;
  return compat.complete ? 0 : 3;
}

}  // namespace

int run_compat(const Options& options) {
  CompatRequest request;
  request.wheel = options.targets.front();
  request.providers = options.providers;
  request.python = options.python;
  request.platform = options.platform;
  request.jobs = options.jobs;
  Progress progress(!options.quiet);
  request.progress = progress.callback();
  Compat compat = compare_with_releases(request);
  progress.end();
  TextOptions text{use_color(options), options.quiet ? -1 : options.verbose, options.stats};
  write_report(options, options.format == "json" ? render_json(compat, options.stats)
                                                 : render_text(compat, text));
  return exit_code(compat, options);
}

}  // namespace wheelvet::cli
