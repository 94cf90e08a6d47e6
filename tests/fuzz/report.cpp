// Reports and parts of a matrix in JSON, as baselines and `merge` read them: what is read is
// written and read again as the same, and every format can show it.
#include "config/baseline.h"
#include "matrix/merge.h"
#include "report/json_document.h"
#include "report/read_report.h"
#include "report/render.h"
#include "report/render_matrix.h"
#include "require.h"
#include "support/temporary_file.h"

using namespace wheelvet;
using namespace wheelvet::fuzz;

namespace {

void show(const Report& report) {
  require_plain(render_text(report, {false, 1, false}));
  require_plain(render_markdown(report, {}));
  require_plain(render_github(report, "name", {}));
  require_plain(render_junit(report, {}));
  require_plain(render_html(report));
  require_plain(render_sarif({{"name", &report}}, load_catalog(), {}));
}

void use_report(Report report, const Baseline& baseline) {
  std::string written = render_json(report, false);
  require_plain(written);
  require(render_json(read_report(read_json(written)), false) == written,
          "a report reads as it was written");
  show(report);
  apply_baseline(baseline, report);
  for (const Finding& finding : report.findings) require(finding.known, "a baseline knows its own");
}

void use_matrix(const std::string& path) {
  MatrixReport once = merge_parts({path});
  MatrixReport twice = merge_parts({path, path});
  require(render_json(once, {}) == render_json(twice, {}), "a part joined with itself is itself");
  require_plain(render_text(once, {false, 1, false}, Severity::error));
  require_plain(render_markdown(once, {}));
  require_plain(render_html(once, {}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const test::TemporaryFile file("");
  file.replace(text_of(data, size));
  std::string path = file.path();
  may_refuse([&] {
    Baseline baseline = read_baseline(path);
    for (Report& report : read_reports(path)) use_report(std::move(report), baseline);
  });
  may_refuse([&] { use_matrix(path); });
  return 0;
}
