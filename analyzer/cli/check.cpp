#include <algorithm>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "compare_ranks.h"
#include "config/baseline.h"
#include "facts/metadata.h"
#include "input/write_file.h"
#include "machine/probe_facts.h"
#include "report/finding_rows.h"
#include "report/render.h"
#include "run.h"
#include "wheelvet/problem.h"

namespace wheelvet::cli {
namespace {

// Precedence: a proven failure stands although something else was unread.
int exit_code(const Report& report, const Options& options) {
  Severity threshold = threshold_of(options.fail_on);
  bool found = std::any_of(report.findings.begin(), report.findings.end(),
                           [&](const Finding& finding) { return counts(finding, threshold); });
  if (found) return 1;
  bool trusts = rests_on_trust(report) || !options.probe.empty();
  if (!report.complete || (options.strict && trusts)) return 3;
  return 0;
}

std::string rendered(const Report& report, const std::string& format, const Options& options,
                     bool color) {
  RenderOptions render{threshold_of(options.fail_on)};
  if (format == "json") return render_json(report, options.stats);
  if (format == "sarif") return render_sarif({{"", &report}}, load_catalog(), render);
  if (format == "junit") return render_junit(report, render);
  if (format == "markdown") return render_markdown(report, render);
  if (format == "html") return render_html(report);
  if (format == "github") return render_github(report, "", render);
  return render_text(report, {color, options.quiet ? -1 : options.verbose, options.stats});
}

bool writes(const Options& options, std::string_view format) {
  return options.format == format ||
         std::any_of(options.format_files.begin(), options.format_files.end(),
                     [&](const auto& each) { return each.first == format; });
}

// The environment asked for; without any target the one that is active.
std::string environment_of(const Options& options) {
  if (!options.environment.empty() || !options.targets.empty()) return options.environment;
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const char* prefix = std::getenv(name);
    if (prefix && *prefix) return prefix;
  }
  throw WrongUsage(
      "check: nothing to check: name a wheel, a folder or --env PREFIX, or activate an "
      "environment");
}

}  // namespace

void ask_as_probed(const Options& typed, Request& request) {
  if (!typed.gpus.empty() || !typed.driver.empty()) {
    throw WrongUsage("--probe stands for --gpu and --driver: give one or the other");
  }
  ProbeFacts facts = read_probe(typed.probe);
  request.gpus = facts.gpus;
  request.driver = facts.driver;
}

std::string scope_of_probe(const std::string& file) {
  return "GPUs and driver as a result of the probe has them, which is not signed: " +
         std::string(base_name(file));
}

Severity threshold_of(const std::string& name) {
  if (name == "note") return Severity::note;
  return name == "warning" ? Severity::warning : Severity::error;
}

bool rests_on_trust(const Report& report) {
  return std::any_of(report.assumptions.begin(), report.assumptions.end(),
                     [](const Assumption& each) { return each.kind != "interpreter"; }) ||
         std::any_of(report.inputs.begin(), report.inputs.end(),
                     [](const ReportInput& each) { return each.kind == "stub"; });
}

int run_check(const Options& typed) {
  Settings settings = settle(typed);
  const Options& options = settings.options;
  Gate gate = gate_of(settings);
  std::optional<Baseline> baseline;
  if (!options.baseline.empty()) baseline = read_baseline(options.baseline);
  Request request;
  request.targets = options.targets;
  request.providers = options.providers;
  request.python = options.python;
  request.platform = options.platform;
  request.driver = options.driver;
  request.environment = environment_of(options);
  request.sysroot = options.sysroot;
  request.host = options.host;
  request.alone = options.alone;
  request.imports = options.imports;
  request.gpus = options.gpus;
  if (!options.probe.empty()) ask_as_probed(typed, request);
  request.jobs = options.jobs;
  request.hash = options.hash;
  request.with_plans =
      options.plans || writes(options, "html") || (options.verbose > 0 && options.format == "text");
  Progress progress(!options.quiet);
  request.progress = progress.callback();
  if (!options.rank_environments.empty() && request.environment.empty()) {
    throw WrongUsage("--rank-env: name the environment that is compared with --env");
  }
  Report report = check(request);
  compare_ranks(request, options.rank_environments, report);
  progress.end();
  if (!options.probe.empty()) report.scope.push_back(scope_of_probe(options.probe));
  apply_gate(gate, report);
  for (Finding& finding : judge_gate(gate)) report.findings.push_back(std::move(finding));
  sort_findings(report.findings);
  if (baseline) apply_baseline(*baseline, report);
  for (const auto& [format, path] : options.format_files) {
    write_file(path, rendered(report, format, options, false));
  }
  write_report(options, rendered(report, options.format, options, use_color(options)));
  return exit_code(report, options);
}

}  // namespace wheelvet::cli
