// The same formats over a matrix: a table first, then what is worth reading of its cells.
#pragma once

#include <string>
#include <vector>

#include "report/render.h"
#include "wheelvet/document.h"
#include "wheelvet/matrix.h"

namespace wheelvet {

/// What a cell shows in a table: "loads", "FAILS SYM-001", "undecided", "expected SYM-001".
std::string cell_text(const MatrixCell& cell, Severity threshold);

/// True when some finding of the cell counts.
bool cell_fails(const MatrixCell& cell, Severity threshold);

/// "torch 2.9.1, 3.12"
std::string column_of(const CellName& name);

/// The reports of the cells by their columns, and last, as a report, what is said of the matrix
/// itself, which has to outlive the result.
std::vector<NamedReport> named_reports(const MatrixReport& matrix, const Report& itself);
Report report_of_matrix(const MatrixReport& matrix);

std::string render_text(const MatrixReport& matrix, const TextOptions& options, Severity threshold);
std::string render_markdown(const MatrixReport& matrix, const RenderOptions& options);
std::string render_html(const MatrixReport& matrix, const RenderOptions& options);
std::string render_junit(const MatrixReport& matrix, const RenderOptions& options);
std::string render_github(const MatrixReport& matrix, const RenderOptions& options);
std::string render_json(const MatrixReport& matrix, const RenderOptions& options);

/// A line per cell, then one about the whole, so that parts can be joined.
std::string render_json_lines(const MatrixReport& matrix, const RenderOptions& options);

/// A table with its names in the order of the cells.
struct MatrixTable {
  std::vector<std::string> rows, columns;
  std::vector<std::vector<const MatrixCell*>> cells;  ///< by row and column; null: no such cell
};
MatrixTable lay_out(const MatrixReport& matrix);

/// Names of rows or columns as short as they can be told apart, for a table; not escaped.
std::vector<std::string> shown_names(const std::vector<std::string>& names);

}  // namespace wheelvet
