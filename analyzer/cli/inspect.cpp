#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/progress.h"
#include "report/inspection.h"
#include "stub.h"

namespace wheelvet::cli {

int run_inspect(const Options& options) {
  InspectOptions wanted;
  wanted.imports = options.list_imports;
  wanted.exports = options.list_exports;
  wanted.headers = options.headers;
  wanted.mangled = options.mangled;
  wanted.match = options.symbols;
  wanted.python = options.python;
  wanted.platform = options.platform;
  wanted.show = Progress(!options.quiet).callback() != nullptr;
  wanted.device = options.device || options.kernels;
  wanted.kernels = options.kernels;
  // A pattern alone asks for both directions.
  if (!wanted.match.empty() && !wanted.imports && !wanted.exports && !wanted.kernels) {
    wanted.imports = wanted.exports = true;
  }
  Inspection inspection = inspect(options.targets, wanted);
  write_report(options, options.format == "json" ? render_json(inspection)
                                                 : render_text(inspection, use_color(options)));
  return inspection.problems.empty() ? 0 : 3;
}

int run_stub(const Options& options) {
  Progress progress(!options.quiet);
  bool shown = progress.callback() != nullptr;
  StubResult result =
      make_stub(options.targets.front(), options.output,
                {options.python, options.platform, {}, shown, false}, progress.callback());
  progress.end();
  fmt::print(stderr, "{}: {} objects, {:.1f} MB from {:.1f} MB\n", result.path, result.objects,
             static_cast<double>(result.size) / 1e6, static_cast<double>(result.origin) / 1e6);
  return 0;
}

}  // namespace wheelvet::cli
