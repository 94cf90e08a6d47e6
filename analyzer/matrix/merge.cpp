#include "matrix/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/suppression.h"
#include "report/printable.h"
#include "report/read_report.h"
#include "report/render.h"
#include "wheelvet/document.h"
#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

using Kind = Document::Kind;

const Document& member(const Document& table, std::string_view name, Kind kind) {
  const Document* found = table.find(name);
  if (!found || found->kind != kind) {
    throw Unreadable(std::string(name), std::nullopt, "is missing: no part of a matrix");
  }
  return *found;
}

std::string text(const Document& table, std::string_view name) {
  return from_printable(member(table, name, Kind::text).text);
}

std::size_t number(const Document& table, std::string_view name) {
  std::int64_t value = member(table, name, Kind::integer).integer;
  if (value < 0) throw Unreadable(std::string(name), std::nullopt, "is negative");
  return static_cast<std::size_t>(value);
}

struct Joined {
  MatrixReport matrix;
  std::map<std::size_t, MatrixCell> cells;
  std::map<std::string, std::string> identities;                       // of targets, by name
  std::map<std::pair<std::string, std::size_t>, SuppressionUse> uses;  // by file and line
  std::set<std::string> said;                                          // findings, by their JSON
  bool begun = false;
};

void add_cell(const Document& line, Joined& out) {
  const Document& from = member(line, "cell", Kind::table);
  MatrixCell cell;
  cell.index = number(from, "index");
  cell.name = {text(from, "target"), text(from, "provider"), text(from, "scenario")};
  cell.report = read_report(member(line, "report", Kind::table));
  for (const ReportInput& input : cell.report.inputs) {
    if (!input.target || input.identity.empty()) continue;
    const std::string& known =
        out.identities.try_emplace(cell.name.target, input.identity).first->second;
    if (known == input.identity) continue;
    throw WrongUsage(fmt::format("merge: parts of different runs: {} is another file in each",
                                 printable(cell.name.target)));
  }
  auto [place, fresh] = out.cells.try_emplace(cell.index, cell);
  bool same = fresh || render_json(place->second.report, false) == render_json(cell.report, false);
  if (!same) {
    throw WrongUsage(fmt::format("merge: two parts disagree on {} beside {}", cell.name.target,
                                 cell.name.provider));
  }
}

void add_use(const Document& from, Joined& out) {
  SuppressionUse use{text(from, "rule"),
                     text(from, "reason"),
                     text(from, "until"),
                     text(from, "file"),
                     number(from, "line"),
                     member(from, "in_scope", Kind::boolean).truth,
                     member(from, "used", Kind::boolean).truth};
  SuppressionUse& known = out.uses.try_emplace({use.file, use.line}, use).first->second;
  known.in_scope = known.in_scope || use.in_scope;
  known.used = known.used || use.used;
}

void add_whole(const Document& line, Joined& out) {
  const Document& from = member(line, "matrix", Kind::table);
  std::string file = text(from, "file");
  std::size_t total = number(from, "total");
  if (out.begun && (file != out.matrix.file || total != out.matrix.total)) {
    throw WrongUsage(fmt::format("merge: parts of different matrices: {} of {} cells and {} of {}",
                                 out.matrix.file, out.matrix.total, file, total));
  }
  std::string run = text(from, "run");
  if (out.begun && run != out.matrix.run) {
    throw WrongUsage(fmt::format(
        "merge: parts of different runs of {}: the program, its rules, the matrix file, the "
        "configuration or an option changed between them",
        printable(file)));
  }
  out.begun = true;
  out.matrix.run = run;
  out.matrix.file = file;
  out.matrix.total = total;
  Report itself = read_report(member(line, "report", Kind::table));
  out.matrix.configuration = itself.configuration;
  for (const Document& use : member(from, "suppressions", Kind::list).items) add_use(use, out);
  for (Finding& finding : itself.findings) {
    // What is said of suppressions holds for the part alone: it is judged anew.
    bool of_suppressions = finding.id == "CFG-001" || finding.id == "CFG-002";
    std::string key = finding.id + finding.title;
    for (const std::string& evidence : finding.evidence) key += evidence;
    if (!of_suppressions && out.said.insert(key).second) {
      out.matrix.findings.push_back(std::move(finding));
    }
  }
}

void add_part(const std::string& path, Joined& out) {
  try {
    bool whole = false;
    for (const Document& line : read_json_file(path)) {
      if (line.find("cell")) add_cell(line, out);
      if (!line.find("matrix")) continue;
      whole = true;
      add_whole(line, out);
      if (const Document* cells = line.find("cells")) {
        for (const Document& cell : cells->items) add_cell(cell, out);
      }
    }
    if (!whole) throw Unreadable("matrix", std::nullopt, "is missing: cut off, or no part");
  } catch (const Unreadable& error) {
    throw Unreadable(error.in(path, ""));
  }
}

void add_suppressions(Joined& joined) {
  std::vector<Suppression> suppressions;
  for (auto& [place, use] : joined.uses) {
    Suppression& each = suppressions.emplace_back();
    each.rule = use.rule;
    each.reason = use.reason;
    each.until = use.until;
    each.file = use.file;
    each.line = static_cast<unsigned>(use.line);
    each.in_scope = use.in_scope;
    each.used = use.used;
    joined.matrix.suppressions.push_back(use);
  }
  for (Finding& finding : judge_suppressions(suppressions, today())) {
    joined.matrix.findings.push_back(std::move(finding));
  }
}

}  // namespace

MatrixReport merge_parts(const std::vector<std::string>& paths) {
  Joined joined;
  for (const std::string& path : paths) add_part(path, joined);
  std::size_t held = 0;
  for (auto& [index, cell] : joined.cells) {
    held += index < joined.matrix.total ? 1 : 0;
    joined.matrix.cells.push_back(std::move(cell));
  }
  if (held != joined.matrix.total) {
    joined.matrix.problems.push_back(
        {joined.matrix.file,
         {},
         {},
         std::nullopt,
         fmt::format("{} of {} cells are in none of the parts", joined.matrix.total - held,
                     joined.matrix.total)});
  }
  add_suppressions(joined);
  sort_findings(joined.matrix.findings);
  return std::move(joined.matrix);
}

}  // namespace wheelvet
