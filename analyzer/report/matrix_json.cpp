#include "report/finding_rows.h"
#include "report/json_document.h"
#include "report/printable.h"
#include "report/render_matrix.h"
#include "report/version.h"

namespace wheelvet {
namespace {

Document header() {
  return table_of({{"schema_version", 1},
                   {"tool", table_of({{"name", "wheelvet"}, {"version", program_version()}})}});
}

Document cell_of(const MatrixCell& cell, const RenderOptions& options) {
  return table_of({{"index", cell.index},
                   {"target", printable(cell.name.target)},
                   {"provider", printable(cell.name.provider)},
                   {"scenario", printable(cell.name.scenario)},
                   {"result", cell_text(cell, options.threshold)},
                   {"fails", cell_fails(cell, options.threshold)}});
}

Document whole_of(const MatrixReport& matrix) {
  Document suppressions = empty_list();
  for (const SuppressionUse& each : matrix.suppressions) {
    suppressions.add(table_of({{"rule", printable(each.rule)},
                               {"reason", printable(each.reason)},
                               {"until", each.until},
                               {"file", printable(each.file)},
                               {"line", each.line},
                               {"in_scope", each.in_scope},
                               {"used", each.used}}));
  }
  return table_of({{"file", printable(matrix.file)},
                   {"run", matrix.run},
                   {"total", matrix.total},
                   {"suppressions", std::move(suppressions)}});
}

// A report is JSON text already; it becomes the last member of an object without being read again.
std::string with_report(const Document& object, const Report& report) {
  std::string out = write_json(object, -1);
  out.pop_back();
  std::string text = render_json(report, false, -1);
  text.pop_back();  // its line end
  return out + ",\"report\":" + text + "}";
}

}  // namespace

std::string render_json_lines(const MatrixReport& matrix, const RenderOptions& options) {
  std::string out;
  for (const MatrixCell& cell : matrix.cells) {
    Document line = header();
    line.set("cell", cell_of(cell, options));
    out += with_report(line, cell.report) + "\n";
  }
  Document last = header();
  last.set("matrix", whole_of(matrix));
  return out + with_report(last, report_of_matrix(matrix)) + "\n";
}

std::string render_json(const MatrixReport& matrix, const RenderOptions& options) {
  Document all = header();
  all.set("matrix", whole_of(matrix));
  std::string out = with_report(all, report_of_matrix(matrix));
  out.pop_back();
  out += ",\"cells\":[";
  bool first = true;
  for (const MatrixCell& cell : matrix.cells) {
    out += first ? "\n" : ",\n";
    first = false;
    out += with_report(table_of({{"cell", cell_of(cell, options)}}), cell.report);
  }
  return out + "\n]}\n";
}

}  // namespace wheelvet
