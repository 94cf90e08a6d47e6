// Renderers: one format each over the same report, without logic of their own.
#pragma once

#include <string>
#include <vector>

#include "rules/rules.h"
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

/// Pretty-printed JSON of the report schema; no time stamps, no absolute paths.
std::string render_json(const Report& report, bool stats);

/// The error envelope of JSON mode.
std::string render_json_error(const Problem& problem, int exit_code);

/// The catalogue as JSON.
std::string render_json_rules(const std::vector<CatalogEntry>& catalog);

/// A JSON Schema (2020-12) by name: "report", "load-plan", "inspect", "probe", "tuning". Empty for
/// an unknown name.
std::string json_schema(const std::string& name);
std::vector<std::string> json_schema_names();

}  // namespace wheelvet
