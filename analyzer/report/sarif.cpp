// SARIF 2.1.0 (OASIS, 27 March 2020). Section numbers below are its own.
#include <fmt/format.h>

#include <algorithm>

#include "input/hash.h"
#include "report/escape.h"
#include "report/finding_rows.h"
#include "report/json_document.h"
#include "report/printable.h"
#include "report/render.h"
#include "report/version.h"

namespace wheelvet {
namespace {

Document message(const std::string& text) { return table_of({{"text", text}}); }

std::string_view level_of(std::string_view severity) {
  return severity == "error" ? "error" : severity == "warning" ? "warning" : "note";
}

Document rule_of(const CatalogEntry& entry) {
  return table_of({{"id", entry.id},
                   {"shortDescription", message(entry.title)},
                   {"fullDescription", message(entry.why)},
                   {"help", message(entry.fix)},
                   {"defaultConfiguration", table_of({{"level", level_of(entry.severity)}})},
                   {"properties", table_of({{"source", entry.source}})}});
}

Document tool_of(const std::vector<CatalogEntry>& catalog) {
  Document rules = empty_list();
  for (const CatalogEntry& entry : catalog) rules.add(rule_of(entry));
  return table_of({{"driver", table_of({{"name", "wheelvet"},
                                        {"semanticVersion", program_version()},
                                        {"rules", std::move(rules)}})}});
}

Document location_of_input(const Report& report, std::size_t input) {
  return table_of({{"uri", escape_uri(printable(report.inputs[input].label))}, {"index", input}});
}

Document artifacts_of(const Report& report) {
  Document out = empty_list();
  for (std::size_t i = 0; i < report.inputs.size(); ++i) {
    const ReportInput& input = report.inputs[i];
    Document roles = empty_list();
    roles.add(input.target ? "analysisTarget" : "referencedOnCommandLine");
    Document packages = empty_list();
    for (const std::string& package : input.packages) packages.add(printable(package));
    Document& artifact = out.items.emplace_back(
        table_of({{"location", table_of({{"uri", escape_uri(printable(input.label))}})},
                  {"roles", std::move(roles)},
                  {"properties", table_of({{"kind", input.kind},
                                           {"directorySha256", input.identity},
                                           {"packages", std::move(packages)}})}}));
    if (input.kind != "folder") artifact.set("length", input.size);
  }
  return out;
}

std::string text_of(const Finding& finding) {
  std::string out = printable(finding.title);
  for (const FindingRow& row : rows_of(finding)) {
    out += fmt::format("\n{}: {}", row.label, printable(row.text));
  }
  return out;
}

// The wheel is the artifact, the object inside it a logical location (3.33). A region is there
// because GitHub shows no result without one; a wheel has no lines, so that it is the first.
Document locations_of(const Report& report, const Finding& finding) {
  Document logical = empty_list();
  const std::vector<std::string>& paths = finding.objects.empty() ? finding.roots : finding.objects;
  for (const std::string& path : paths) {
    logical.add(table_of({{"fullyQualifiedName", printable(path)}, {"kind", "module"}}));
  }
  Document location = empty_table();
  std::size_t input = input_of(report, finding);
  if (input != none) {
    location.set("physicalLocation",
                 table_of({{"artifactLocation", location_of_input(report, input)},
                           {"region", table_of({{"startLine", 1}})}}));
  }
  if (!logical.items.empty()) location.set("logicalLocations", std::move(logical));
  Document out = empty_list();
  out.add(std::move(location));
  return out;
}

std::string fingerprint_of(const Report& report, const Finding& finding) {
  std::string all;
  for (const std::string& key : content_keys(report, finding)) all += key + "\n\n";
  return sha256_hex(Bytes(reinterpret_cast<const std::uint8_t*>(all.data()), all.size()));
}

Document result_of(const Report& report, const Finding& finding,
                   const std::vector<CatalogEntry>& catalog, const RenderOptions& options) {
  Document out = table_of({{"ruleId", finding.id}});
  auto rule = std::find_if(catalog.begin(), catalog.end(),
                           [&](const CatalogEntry& entry) { return entry.id == finding.id; });
  if (rule != catalog.end()) {
    out.set("ruleIndex", static_cast<std::size_t>(rule - catalog.begin()));
  }
  out.set("level", level_of(to_string(finding.severity)));
  out.set("message", message(text_of(finding)));
  out.set("locations", locations_of(report, finding));
  out.set("partialFingerprints",
          table_of({{"wheelvetContent/v1", fingerprint_of(report, finding)}}));
  if (finding.known) out.set("baselineState", "unchanged");
  if (!finding.suppressed.empty()) {
    Document list = empty_list();
    list.add(table_of({{"kind", "external"}, {"justification", printable(finding.suppressed)}}));
    out.set("suppressions", std::move(list));
  }
  out.set("properties", table_of({{"counts", counts(finding, options.threshold)},
                                  {"alternative", finding.alternative},
                                  {"fixVerified", finding.fix_verified}}));
  return out;
}

Document notification(std::string_view level, const std::string& text) {
  return table_of({{"level", level}, {"message", message(text)}});
}

// What could not be read or decided is not a result but a notification of the run (3.58).
Document invocations_of(const Report& report) {
  Document notes = empty_list();
  for (const Problem& problem : report.problems) notes.add(notification("error", to_line(problem)));
  for (const Undecided& each : report.undecided) {
    notes.add(notification("warning",
                           fmt::format("{} imports may belong to {}, which is not among the inputs",
                                       each.count, printable(each.owner))));
  }
  for (const std::string& line : report.scope) notes.add(notification("note", printable(line)));
  Document out = empty_list();
  out.add(table_of({{"executionSuccessful", report.problems.empty()},
                    {"toolExecutionNotifications", std::move(notes)}}));
  return out;
}

}  // namespace

std::string render_sarif(const Report& report, const std::vector<CatalogEntry>& catalog,
                         const RenderOptions& options) {
  Document results = empty_list();
  for (const Finding& finding : report.findings) {
    results.add(result_of(report, finding, catalog, options));
  }
  Document run = table_of({{"tool", tool_of(catalog)},
                           {"invocations", invocations_of(report)},
                           {"artifacts", artifacts_of(report)},
                           {"results", std::move(results)},
                           {"columnKind", "unicodeCodePoints"},
                           {"properties", table_of({{"verdict", to_string(report.verdict)},
                                                    {"headline", printable(report.headline)},
                                                    {"complete", report.complete}})}});
  Document runs = empty_list();
  runs.add(std::move(run));
  // The schema's own address (3.13.3).
  Document log = table_of({{"$schema",
                            "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                            "sarif-schema-2.1.0.json"},
                           {"version", "2.1.0"},
                           {"runs", std::move(runs)}});
  return write_json(log, 2) + "\n";
}

}  // namespace wheelvet
