#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "input/write_file.h"
#include "matrix/merge.h"
#include "matrix/result_cache.h"
#include "matrix/run_identity.h"
#include "matrix/run_matrix.h"
#include "report/finding_rows.h"
#include "report/render_matrix.h"

namespace wheelvet::cli {
namespace {

std::string rendered(const MatrixReport& matrix, const std::string& format, const Options& options,
                     bool color) {
  RenderOptions render{threshold_of(options.fail_on)};
  if (format == "json") return render_json(matrix, render);
  if (format == "jsonl") return render_json_lines(matrix, render);
  if (format == "junit") return render_junit(matrix, render);
  if (format == "markdown") return render_markdown(matrix, render);
  if (format == "html") return render_html(matrix, render);
  if (format == "github") return render_github(matrix, render);
  if (format == "sarif") {
    Report itself = report_of_matrix(matrix);
    return render_sarif(named_reports(matrix, itself), load_catalog(), render);
  }
  TextOptions text{color, options.quiet ? -1 : options.verbose, false};
  return render_text(matrix, text, render.threshold);
}

int exit_code(const MatrixReport& matrix, const Options& options) {
  Severity threshold = threshold_of(options.fail_on);
  bool counted = std::any_of(matrix.findings.begin(), matrix.findings.end(),
                             [&](const Finding& each) { return counts(each, threshold); });
  bool complete = matrix.problems.empty() && !(options.strict && !options.probe.empty());
  for (const MatrixCell& cell : matrix.cells) {
    counted = counted || cell_fails(cell, threshold);
    complete = complete && cell.report.complete;
    if (options.strict && rests_on_trust(cell.report)) complete = false;
  }
  return counted ? 1 : complete ? 0 : 3;
}

int finish(const MatrixReport& matrix, const Options& options) {
  for (const auto& [format, path] : options.format_files) {
    write_file(path, rendered(matrix, format, options, false));
  }
  write_report(options, rendered(matrix, options.format, options, use_color(options)));
  return exit_code(matrix, options);
}

// "2/8"
void read_shard(const std::string& text, MatrixRequest& request) {
  if (text.empty()) return;
  std::size_t slash = std::min(text.find('/'), text.size());
  const char* end = text.data() + text.size();
  auto part = std::from_chars(text.data(), text.data() + slash, request.part);
  bool ok = slash < text.size() && part.ec == std::errc() && part.ptr == text.data() + slash;
  if (ok) {
    auto parts = std::from_chars(text.data() + slash + 1, end, request.parts);
    ok = parts.ec == std::errc() && parts.ptr == end;
  }
  if (!ok || request.part < 1 || request.part > request.parts || request.parts > 100000) {
    throw WrongUsage(fmt::format("--shard {} is not I/N with I from 1 to N", text));
  }
}

}  // namespace

int run_matrix(const Options& typed) {
  Settings settings = settle(typed);
  const Options& options = settings.options;
  MatrixPlan plan = read_matrix_file(options.targets.front());
  MatrixRequest request;
  read_shard(options.shard, request);
  request.each.jobs = options.jobs;
  request.each.hash = options.hash;
  request.each.python = options.python;
  request.each.platform = options.platform;
  request.each.imports = options.imports;
  request.each.gpus = options.gpus;
  request.each.driver = options.driver;
  if (!options.probe.empty()) ask_as_probed(typed, request.each);
  request.threshold = threshold_of(options.fail_on);
  if (!options.no_cache) {
    request.cache = options.cache.empty() ? default_cache_folder() : options.cache;
  }
  Progress progress(!options.quiet);
  request.each.progress = progress.callback();
  Gate gate = gate_of(settings);
  std::optional<Baseline> baseline;
  if (!options.baseline.empty()) baseline = read_baseline(options.baseline);
  MatrixReport matrix = wheelvet::run_matrix(plan, request, gate, baseline ? &*baseline : nullptr);
  progress.end();
  matrix.run = run_identity(plan, request, gate, options.baseline);
  for (MatrixCell& cell : matrix.cells) {
    if (!options.probe.empty()) cell.report.scope.push_back(scope_of_probe(options.probe));
  }
  for (const Suppression& each : gate.suppressions) {
    matrix.suppressions.push_back(
        {each.rule, each.reason, each.until, each.file, each.line, each.in_scope, each.used});
  }
  // Of a part it cannot be told what the others use: `merge` does.
  if (request.parts == 1) {
    for (Finding& finding : judge_gate(gate)) matrix.findings.push_back(std::move(finding));
    sort_findings(matrix.findings);
  }
  return finish(matrix, options);
}

int run_merge(const Options& options) { return finish(merge_parts(options.targets), options); }

}  // namespace wheelvet::cli
