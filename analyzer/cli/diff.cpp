#include "diff/difference.h"

#include <algorithm>

#include "cli/commands.h"
#include "cli/progress.h"

namespace wheelvet::cli {

int run_diff(const Options& options) {
  DifferenceRequest request;
  request.before = options.targets.at(0);
  request.now = options.targets.at(1);
  request.users = options.users;
  request.providers = options.providers;
  request.python = options.python;
  request.platform = options.platform;
  request.jobs = options.jobs;
  Progress progress(!options.quiet);
  request.progress = progress.callback();
  Difference difference = find_difference(request);
  progress.end();
  TextOptions text{use_color(options), options.quiet ? -1 : options.verbose, options.stats};
  write_report(options, options.format == "json" ? render_json(difference, options.stats)
                                                 : render_text(difference, text));
  Severity threshold = threshold_of(options.fail_on);
  bool found = difference.breaks ||
               std::any_of(difference.changes.begin(), difference.changes.end(),
                           [&](const Change& change) { return change.severity >= threshold; });
  if (found) return 1;
  return difference.complete ? 0 : 3;
}

}  // namespace wheelvet::cli
