// Renderers: one format each over the same report, without logic of their own.
#pragma once

#include <string>
#include <vector>

#include "rules/rules.h"
#include "wheelvet/doctor_report.h"
#include "wheelvet/finding.h"
#include "wheelvet/report.h"

namespace wheelvet {

struct TextOptions {
  bool color = false;
  int verbosity = 0;  ///< -1 verdict only, 0 usual, 1 also notes, load plans and plain assumptions
  bool stats = false;
};

std::string render_text(const Report& report, const TextOptions& options);

/// The findings of a report alone, as `render_text` shows them.
std::string render_findings(const Report& report, const TextOptions& options);

struct RenderOptions {
  Severity threshold = Severity::error;  ///< findings below it do not count
};

/// A report with what it is called among others: "torch 2.9.1, 3.12", or nothing.
struct NamedReport {
  std::string name;
  const Report* report = nullptr;
};

/// SARIF 2.1.0: the rules of the catalogue in its order, a result per finding. One run, whatever
/// the number of reports: services limit the number of runs in a file.
std::string render_sarif(const std::vector<NamedReport>& reports,
                         const std::vector<CatalogEntry>& catalog, const RenderOptions& options);

/// JUnit XML: a suite per target, a case per root and per finding.
std::string render_junit(const Report& report, const RenderOptions& options);

/// The suites of one report, and the document around the suites of any number of reports. `prefix`
/// goes before the name of each suite.
std::string junit_suites(const Report& report, const std::string& prefix, Severity threshold);
std::string junit_document(const std::string& suites);

/// GitHub's Markdown.
std::string render_markdown(const Report& report, const RenderOptions& options);

/// One HTML file that refers to nothing outside itself, and what goes into its body.
std::string render_html(const Report& report);
std::string html_report(const Report& report);

/// GitHub workflow commands; `name` goes into the titles.
std::string render_github(const Report& report, const std::string& name,
                          const RenderOptions& options);

/// JSON of the report schema; no time stamps, no absolute paths. `indent`: blanks per level, -1 for
/// one line.
std::string render_json(const Report& report, bool stats, int indent = 2);

/// What `doctor` says.
std::string render_text(const DoctorReport& report, const TextOptions& options);
std::string render_json(const DoctorReport& report, bool stats);

/// The error envelope of JSON mode.
std::string render_json_error(const Problem& problem, int exit_code);

/// The catalogue as JSON.
std::string render_json_rules(const std::vector<CatalogEntry>& catalog);

/// A JSON Schema (2020-12) by name, one of `json_schema_names`. Empty for an unknown name.
std::string json_schema(const std::string& name);
std::vector<std::string> json_schema_names();

}  // namespace wheelvet
