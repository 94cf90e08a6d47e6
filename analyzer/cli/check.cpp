#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>

#include "cli/commands.h"
#include "report/render.h"
#include "run.h"

namespace wheelvet::cli {
namespace {

// A line on the terminal for work that takes longer than a second; nothing otherwise.
class Progress {
 public:
  void operator()(std::uint64_t done, std::uint64_t total) {
    using namespace std::chrono;
    auto now = duration_cast<milliseconds>(steady_clock::now() - start_).count();
    std::int64_t due = next_.load();
    if (now < due || !next_.compare_exchange_strong(due, now + 200)) return;
    fmt::print(stderr, "\r\x1b[Kreading: {} of {} MB", done / 1000000, total / 1000000);
    std::fflush(stderr);
    shown_ = true;
  }
  void end() const {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<std::int64_t> next_{1000};
  std::atomic<bool> shown_{false};
};

Severity threshold_of(const std::string& name) {
  if (name == "note") return Severity::note;
  return name == "warning" ? Severity::warning : Severity::error;
}

// Precedence: a proven failure stands although something else was unread.
int exit_code(const Report& report, const Options& options) {
  Severity threshold = threshold_of(options.fail_on);
  bool found = std::any_of(
      report.findings.begin(), report.findings.end(),
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
  request.with_plans = options.plans || (options.verbose > 0 && options.format == "text");
  auto progress = std::make_shared<Progress>();
  if (::isatty(STDERR_FILENO) && !options.quiet) {
    request.progress = [progress](std::uint64_t done, std::uint64_t total) {
      (*progress)(done, total);
    };
  }
  Report report = check(request);
  progress->end();
  TextOptions text{use_color(options), options.quiet ? -1 : options.verbose, options.stats};
  write_output(options, options.format == "json" ? render_json(report, options.stats)
                                                 : render_text(report, text));
  return exit_code(report, options);
}

}  // namespace wheelvet::cli
