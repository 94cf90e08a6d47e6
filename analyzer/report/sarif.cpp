// SARIF 2.1.0 (OASIS, 27 March 2020). Section numbers below are its own.
#include <fmt/format.h>

#include <algorithm>
#include <map>

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

std::string uri_of(const ReportInput& input) { return escape_uri(printable(input.label)); }

// The artifacts of all reports, each once.
struct Artifacts {
  std::map<std::string, std::size_t> places;  // by URI and role
  Document list = empty_list();

  std::size_t add(const ReportInput& input);
};

std::size_t Artifacts::add(const ReportInput& input) {
  std::string role = input.target ? "analysisTarget" : "referencedOnCommandLine";
  auto [place, fresh] = places.try_emplace(role + " " + uri_of(input), list.items.size());
  if (!fresh) return place->second;
  Document roles = empty_list(), packages = empty_list();
  roles.add(role);
  for (const std::string& package : input.packages) packages.add(printable(package));
  Document artifact = table_of({{"location", table_of({{"uri", uri_of(input)}})},
                                {"roles", std::move(roles)},
                                {"properties", table_of({{"kind", input.kind},
                                                         {"directorySha256", input.identity},
                                                         {"packages", std::move(packages)}})}});
  if (input.size) artifact.set("length", input.size);
  list.add(std::move(artifact));
  return place->second;
}

std::string prefix_of(const NamedReport& named) {
  return named.name.empty() ? "" : "beside " + printable(named.name) + ": ";
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
Document locations_of(const Report& report, const Finding& finding, Artifacts& artifacts) {
  Document logical = empty_list();
  const std::vector<std::string>& paths = finding.objects.empty() ? finding.roots : finding.objects;
  for (const std::string& path : paths) {
    logical.add(table_of({{"fullyQualifiedName", printable(path)}, {"kind", "module"}}));
  }
  Document location = empty_table();
  std::size_t input = input_of(report, finding);
  if (input != none) {
    const ReportInput& artifact = report.inputs[input];
    location.set("physicalLocation",
                 table_of({{"artifactLocation", table_of({{"uri", uri_of(artifact)},
                                                          {"index", artifacts.add(artifact)}})},
                           {"region", table_of({{"startLine", 1}})}}));
  }
  if (!logical.items.empty()) location.set("logicalLocations", std::move(logical));
  Document out = empty_list();
  out.add(std::move(location));
  return out;
}

std::string fingerprint_of(const Report& report, const Finding& finding, const std::string& name) {
  std::string all = name;
  for (const std::string& key : content_keys(report, finding)) all += key + "\n\n";
  return sha256_hex(Bytes(reinterpret_cast<const std::uint8_t*>(all.data()), all.size()));
}

Document result_of(const NamedReport& named, const Finding& finding,
                   const std::vector<CatalogEntry>& catalog, const RenderOptions& options,
                   Artifacts& artifacts) {
  const Report& report = *named.report;
  Document out = table_of({{"ruleId", finding.id}});
  auto rule = std::find_if(catalog.begin(), catalog.end(),
                           [&](const CatalogEntry& entry) { return entry.id == finding.id; });
  if (rule != catalog.end()) {
    out.set("ruleIndex", static_cast<std::size_t>(rule - catalog.begin()));
  }
  out.set("level", level_of(to_string(finding.severity)));
  out.set("message", message(prefix_of(named) + text_of(finding)));
  out.set("locations", locations_of(report, finding, artifacts));
  out.set("partialFingerprints",
          table_of({{"wheelvetContent/v1", fingerprint_of(report, finding, named.name)}}));
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

Document notification(std::string_view level, const NamedReport& named, const std::string& text) {
  return table_of({{"level", level}, {"message", message(prefix_of(named) + text)}});
}

// What could not be read or decided is not a result but a notification of the run (3.58).
void add_notifications(const NamedReport& named, Document& notes) {
  const Report& report = *named.report;
  for (const Problem& problem : report.problems) {
    notes.add(notification("error", named, to_line(problem)));
  }
  for (const Undecided& each : report.undecided) {
    notes.add(notification("warning", named,
                           fmt::format("{} imports may belong to {}, which is not among the inputs",
                                       each.count, printable(each.owner))));
  }
  for (const std::string& line : report.scope) {
    notes.add(notification("note", named, printable(line)));
  }
}

}  // namespace

std::string render_sarif(const std::vector<NamedReport>& reports,
                         const std::vector<CatalogEntry>& catalog, const RenderOptions& options) {
  Artifacts artifacts;
  Document results = empty_list(), notes = empty_list(), verdicts = empty_list();
  bool all_read = true;
  for (const NamedReport& named : reports) {
    for (const ReportInput& input : named.report->inputs) artifacts.add(input);
    for (const Finding& finding : named.report->findings) {
      results.add(result_of(named, finding, catalog, options, artifacts));
    }
    add_notifications(named, notes);
    all_read = all_read && named.report->problems.empty();
    verdicts.add(table_of({{"name", printable(named.name)},
                           {"verdict", to_string(named.report->verdict)},
                           {"headline", printable(named.report->headline)},
                           {"complete", named.report->complete}}));
  }
  Document invocations = empty_list(), runs = empty_list();
  invocations.add(table_of(
      {{"executionSuccessful", all_read}, {"toolExecutionNotifications", std::move(notes)}}));
  runs.add(table_of({{"tool", tool_of(catalog)},
                     {"invocations", std::move(invocations)},
                     {"artifacts", std::move(artifacts.list)},
                     {"results", std::move(results)},
                     {"columnKind", "unicodeCodePoints"},
                     {"properties", table_of({{"verdicts", std::move(verdicts)}})}}));
  // The schema's own address (3.13.3).
  Document log = table_of({{"$schema",
                            "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                            "sarif-schema-2.1.0.json"},
                           {"version", "2.1.0"},
                           {"runs", std::move(runs)}});
  return write_json(log, 2) + "\n";
}

}  // namespace wheelvet
