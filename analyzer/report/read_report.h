// Reports back from their JSON: for baselines, for joining the parts of a matrix, for its cache.
#pragma once

#include <string>
#include <vector>

#include "wheelvet/document.h"
#include "wheelvet/report.h"

namespace wheelvet {

/// The report that a JSON object of the report schema holds; load plans and figures are left out.
/// Unreadable when something of it is missing or of another kind.
Report read_report(const Document& document);

Finding read_finding(const Document& document);

/// All reports of a file: one report, one matrix, or lines of either.
std::vector<Report> read_reports(const std::string& path);

/// The documents of a file of JSON, or of JSON lines. Unreadable for more than 1 GB.
std::vector<Document> read_json_file(const std::string& path);

}  // namespace wheelvet
