#include "report/compat_report.h"
#include "report/json_document.h"
#include "report/printable.h"
#include "report/version.h"
#include "wheelvet/document.h"

namespace wheelvet {
namespace {

Document document_of(const SymbolEvidence& symbol);
Document document_of(const Finding& finding);
Document document_of(const CompatRelease& release);
Document document_of(const CompatRoot& root);
Document document_of(const CompatBound& bound);
Document document_of(const CompatFloor& floor);
Document document_of(const Problem& problem);

template <class List>
Document all(const List& list) {
  Document out = empty_list();
  for (const auto& each : list) out.add(document_of(each));
  return out;
}

Document document_of(const SymbolEvidence& symbol) {
  Document near = empty_list();
  for (const NearMiss& each : symbol.near_misses) {
    near.add(table_of({{"symbol", printable(each.symbol)},
                       {"demangled", printable(each.readable)},
                       {"provider", printable(each.provider)},
                       {"difference", printable(each.difference)}}));
  }
  return table_of({{"symbol", printable(symbol.symbol)},
                   {"demangled", printable(symbol.readable)},
                   {"version", printable(symbol.version)},
                   {"wanted_by", printable_list(symbol.wanted_by)},
                   {"near_misses", near}});
}

Document document_of(const Finding& finding) {
  return table_of({{"id", finding.id},
                   {"severity", to_string(finding.severity)},
                   {"title", printable(finding.title)},
                   {"objects", printable_list(finding.objects)},
                   {"roots", printable_list(finding.roots)},
                   {"symbols", all(finding.symbols)},
                   {"evidence", printable_list(finding.evidence)},
                   {"cause", printable(finding.cause)},
                   {"fix", printable(finding.fix)}});
}

Document document_of(const CompatRelease& release) {
  Document roots = empty_list();
  for (Status status : release.roots) roots.add(to_string(status));
  return table_of({{"version", release.version},
                   {"build", release.label},
                   {"cuda", release.cuda},
                   {"requires_python", release.python},
                   {"status", to_string(release.status)},
                   {"python_fits", release.python_fits},
                   {"permitted", release.permitted},
                   {"only_cuda", release.only_cuda},
                   {"roots", roots}});
}

Document document_of(const CompatRoot& root) {
  return table_of({{"path", printable(root.path)},
                   {"name", printable(root.name)},
                   {"module", root.module},
                   {"loads_with", root.loads_with},
                   {"aside", root.aside},
                   {"stable_abi", root.stable_abi},
                   {"stable_since", root.stable_since},
                   {"stable_by", printable(root.stable_by)}});
}

Document document_of(const CompatBound& bound) {
  return table_of(
      {{"side", bound.side}, {"version", bound.version}, {"findings", all(bound.findings)}});
}

Document document_of(const CompatFloor& floor) {
  return table_of({{"what", printable(floor.what)},
                   {"least", printable(floor.least)},
                   {"by", printable(floor.by)}});
}

Document document_of(const Problem& problem) {
  Document offset;
  if (problem.offset) offset = Document(static_cast<std::size_t>(*problem.offset));
  return table_of({{"input", printable(problem.input)},
                   {"member", printable(problem.member)},
                   {"field", printable(problem.field)},
                   {"offset", offset},
                   {"reason", printable(problem.reason)}});
}

}  // namespace

std::string render_json(const Compat& compat, bool stats) {
  Document out =
      table_of({{"schema_version", 1},
                {"tool", table_of({{"name", "wheelvet"}, {"version", program_version()}})},
                {"headline", printable(compat.headline)},
                {"package", printable(compat.package)},
                {"machine", compat.machine},
                {"pythons", compat.pythons},
                {"needs_torch", compat.needs_torch},
                {"complete", compat.complete},
                {"history", compat.history},
                {"window", compat.window},
                {"declared", printable(compat.declared)},
                {"pin", compat.pin},
                {"releases", all(compat.releases)},
                {"roots", all(compat.roots)},
                {"bounds", all(compat.bounds)},
                {"floors", all(compat.floors)},
                {"findings", all(compat.findings)},
                {"problems", all(compat.problems)},
                {"scope", printable_list(compat.scope)}});
  if (stats) {
    Document seconds = empty_table();
    for (const auto& [stage, value] : compat.stats.seconds) {
      Document number;
      number.kind = Document::Kind::real;
      number.real = value;
      seconds.set(stage, number);
    }
    out.set("stats", table_of({{"bytes_read", static_cast<std::size_t>(compat.stats.bytes_read)},
                               {"seconds", seconds}}));
  }
  return write_json(out, 2) + "\n";
}

}  // namespace wheelvet
