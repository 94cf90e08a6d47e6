// Configuration, suppressions and the matrix's cells, on text and structures made here.
#include <doctest/doctest.h>

#include "config/baseline.h"
#include "config/configuration.h"
#include "config/glob.h"
#include "matrix/matrix_file.h"
#include "report/json_document.h"
#include "report/printable.h"
#include "report/read_report.h"
#include "report/render.h"
#include "report/render_matrix.h"
#include "rules/toml_document.h"
#include "wheelvet/problem.h"

using namespace wheelvet;

namespace {

// Every field that JSON has is set, and to something that needs escaping where it can be.
Report full_report() {
  Report report;
  report.verdict = Status::fails;
  report.headline = "p 1.0: \x1b[31m\\";
  report.complete = false;
  report.python = "3.12";
  report.python_reason = "tag of p";
  report.inputs.push_back({"p-1.0.whl",
                           "stub",
                           true,
                           {"p 1.0"},
                           7,
                           std::string(64, 'a'),
                           StubOrigin{"p.whl", 9, std::string(64, 'b')}});
  ReportRoot& root = report.roots.emplace_back();
  root.path = "p/\xff.so";
  root.name = "m";
  root.package = "p 1.0";
  root.module = root.excused = true;
  root.status = Status::undecided;
  root.alternatives = "GPU";
  root.imports_first = {"torch"};
  root.opens_first = {{"a.so", true}};
  root.opener = "p/x.py:3";
  root.bound = 1, root.assumed = 2, root.undecided = 3, root.missing = 4;
  root.missing_libraries = {"libx.so"};
  root.missing_symbols = {"f@V"};
  root.missing_versions = {"V of libx.so"};
  Finding& finding = report.findings.emplace_back();
  finding.id = "SYM-001";
  finding.severity = Severity::warning;
  finding.title = "t\u202e";
  finding.objects = finding.roots = {root.path};
  finding.symbols.push_back({"_Z1fi", "f(int)", "V", {root.path}, {{"_Z1fj", "f(u)", "l", "d"}}});
  finding.evidence = {"e"};
  finding.cause = "c";
  finding.fix = "x";
  finding.fix_verified = finding.alternative = finding.known = true;
  finding.suppressed = "why";
  report.assumptions.push_back({"libcuda.so.1", "driver", "NVIDIA driver", "b", 5});
  report.undecided.push_back({"torch", 6, {"g"}, {root.path}});
  report.cuda.driver = "525.60.13";
  report.cuda.driver_because = "CUDA 12";
  report.cuda.libraries.push_back(
      {"libcudart.so.12", "cuda", "needed", "found", "p", "o", "12.8", "12", "torch", {"r"}});
  report.cuda.modules.push_back({"m", "12", "525", "b", {"cuInit"}, "2.27", {"ncclSend"}});
  report.gpus.push_back({"sm_120", {"RTX"}, "570", "PTX 8.7", {}});
  LibraryCoverage& coverage = report.gpus.back().libraries.emplace_back();
  coverage.path = "p";
  coverage.containers = 1, coverage.own = 2, coverage.family = 3, coverage.older = 4;
  coverage.compiled = 5, coverage.unserved = 6, coverage.elsewhere = 7, coverage.unjudged = 8;
  coverage.kernels_without = 9;
  coverage.architectures = coverage.gap_architectures = coverage.examples = {"a"};
  coverage.ptx_version = coverage.not_used = "n";
  report.problems.push_back({"in", "member", "field", 8, "reason"});
  report.problems.push_back({"in", "", "", std::nullopt, "reason"});
  report.scope = {"s"};
  report.configuration = "wheelvet.toml";
  return report;
}

MatrixPlan plan_of(std::size_t targets, std::size_t columns) {
  MatrixPlan plan;
  plan.file = "m.toml";
  for (std::size_t i = 0; i < targets; ++i) plan.targets.push_back("t" + std::to_string(i));
  for (std::size_t i = 0; i < columns; ++i)
    plan.columns.push_back({"c" + std::to_string(i), {}, "", 0});
  plan.scenarios.emplace_back();
  return plan;
}

std::vector<Suppression> suppressions_of(const std::string& text) {
  static Document document;  // what is read refers to it
  document = read_toml(text, "f");
  return read_suppressions(toml_tables({"f", "", &document}, "suppress"), load_catalog());
}

}  // namespace

TEST_CASE("a star matches any run, a slash too, in time that is bounded") {
  CHECK(matches_glob("sgl*/flash_*.so", "sgl_kernel/x/flash_ops.so"));
  CHECK(matches_glob("*", ""));
  CHECK(matches_glob("a?c*", "abc"));
  CHECK_FALSE(matches_glob("a*b", "ac"));
  CHECK_FALSE(matches_glob("", "a"));
  std::string pattern, text(20000, 'a');
  for (int i = 0; i < 1000; ++i) pattern += "*a";
  CHECK_FALSE(matches_glob(pattern + "b", text));
}

TEST_CASE("the nearest key is named when it is near") {
  std::vector<std::string_view> keys = {"fail-on", "ignore", "select"};
  CHECK(nearest("fail_on", keys) == "fail-on");
  CHECK(nearest("ignored", keys) == "ignore");
  CHECK(nearest("zzzzzzz", keys).empty());
  CHECK(nearest(std::string(1000000, 'x'), keys).empty());
}

TEST_CASE("a rule is named by its id, its family or a pattern") {
  CHECK(matches_rule("SYM-001", "SYM-001"));
  CHECK(matches_rule("SYM", "SYM-001"));
  CHECK(matches_rule("S*", "SYM-001"));
  CHECK_FALSE(matches_rule("SY", "SYM-001"));
  CHECK_FALSE(matches_rule("SYM-001", "SYM-002"));
}

TEST_CASE("what was made printable comes back as it was") {
  for (std::string text :
       {std::string("a\0b", 3), std::string("\\x41\\\\"), std::string("\xff\xfe"),
        std::string("\u202e\u2028\U000e0001"), std::string("plain\\")}) {
    CHECK(from_printable(printable(text)) == text);
  }
  CHECK(printable(from_printable("\\")) == "");  // no text that printable() makes
}

TEST_CASE("a report read from its JSON is the report") {
  std::string text = render_json(full_report(), false);
  CHECK(render_json(read_report(read_json(text)), false) == text);
}

TEST_CASE("a report that lacks a field, or has one of another kind, is refused") {
  Document whole = read_json(render_json(full_report(), false));
  for (std::size_t i = 0; i < whole.members.size(); ++i) {
    std::string name = whole.members[i].first;
    bool later = name == "configuration" || name == "cuda" || name == "gpus" ||
                 name == "load_plans" || name == "schema_version" || name == "tool";
    if (later) continue;
    CAPTURE(name);
    Document without = whole, other = whole;
    without.members.erase(without.members.begin() + static_cast<std::ptrdiff_t>(i));
    other.members[i].second = 3;
    CHECK_THROWS_AS(read_report(without), Unreadable);
    CHECK_THROWS_AS(read_report(other), Unreadable);
  }
}

TEST_CASE("parts of any number hold every cell once, in order") {
  std::vector<PlannedCell> all = plan_cells(plan_of(5, 7));
  REQUIRE(all.size() == 35);
  for (std::size_t parts : {1u, 2u, 3u, 8u, 35u, 50u}) {
    std::size_t next = 0;
    for (std::size_t part = 1; part <= parts; ++part) {
      for (const PlannedCell& cell : shard_of(all, part, parts)) CHECK(cell.index == next++);
    }
    CHECK(next == all.size());
  }
}

TEST_CASE("a cell's place follows from the plan alone") {
  std::vector<PlannedCell> all = plan_cells(plan_of(2, 2));
  CHECK(all[1].name.target == "t0");
  CHECK(all[1].name.provider == "c1");
  CHECK(all[2].name.target == "t1");
  MatrixPlan plan = plan_of(2, 2);
  plan.exclude.push_back({"t0", "", ""});
  CHECK(plan_cells(plan).size() == 2);
  plan.exclude.push_back({"", "*", ""});
  CHECK_THROWS_AS(plan_cells(plan), WrongUsage);
}

TEST_CASE("an expectation suppresses what it names and no other finding") {
  MatrixPlan plan = plan_of(1, 1);
  plan.expectations.push_back({{"", "c*", ""}, {"SYM-001"}, "old", 3});
  MatrixCell cell;
  cell.name = {"t0", "c0", ""};
  cell.report.findings.resize(2);
  cell.report.findings[0].id = "SYM-001";
  cell.report.findings[1].id = "LIB-001";
  apply_expectations(plan, Severity::error, cell);
  CHECK(cell.report.findings[0].suppressed == "expected: old (m.toml:3)");
  CHECK(cell.report.findings[1].suppressed.empty());
  CHECK(cell_text(cell, Severity::error) == "FAILS LIB-001");
}

TEST_CASE("a cell that was not judged is no pass against expectation") {
  MatrixPlan plan = plan_of(1, 1);
  plan.expectations.push_back({{"", "", ""}, {}, "old", 3});
  MatrixCell cell;
  cell.report.complete = false;
  apply_expectations(plan, Severity::error, cell);
  CHECK(cell.report.findings.empty());
  cell.report.complete = true;
  apply_expectations(plan, Severity::error, cell);
  REQUIRE(cell.report.findings.size() == 1);
  CHECK(cell.report.findings[0].id == "CFG-004");
}

TEST_CASE("a suppression is scoped by target and provider") {
  std::vector<Suppression> list = suppressions_of(
      "[[suppress]]\nrule = 'SYM'\ntarget = 'p==1.*'\nprovider = 'torch 2.9*'\nreason = 'r'\n");
  Report report = full_report();
  report.findings[0].suppressed.clear();
  apply_suppressions(list, "2026-01-01", report);
  CHECK(report.findings[0].suppressed.empty());
  CHECK(judge_suppressions(list, "2026-01-01").empty());  // not in scope, so not stale
  report.inputs.push_back({"torch.whl", "wheel", false, {"torch 2.9.1"}, 0, "", std::nullopt});
  apply_suppressions(list, "2026-01-01", report);
  CHECK(report.findings[0].suppressed == "r (f:1)");
}

TEST_CASE("the last day of a suppression is a day it holds") {
  std::vector<Suppression> list =
      suppressions_of("[[suppress]]\nrule = 'SYM'\nreason = 'r'\nuntil = 2026-05-31\n");
  for (const char* day : {"2026-05-31", "2026-06-01"}) {
    Report report = full_report();
    report.findings[0].suppressed.clear();
    apply_suppressions(list, day, report);
    CHECK(report.findings[0].suppressed.empty() == (std::string(day) == "2026-06-01"));
  }
  REQUIRE(judge_suppressions(list, "2026-06-01").size() == 1);
  CHECK(judge_suppressions(list, "2026-06-01")[0].id == "CFG-002");
}

TEST_CASE("TOML keeps the line of every value") {
  Document document = read_toml("a = 1\n\n[t]\nb = ['x',\n 'y']\nd = 2027-01-31\n", "f");
  CHECK(document.find("a")->line == 1);
  const Document* list = document.find("t")->find("b");
  CHECK(list->items[1].line == 5);
  CHECK(document.find("t")->find("d")->text == "2027-01-31");
  CHECK_THROWS_AS(read_toml("a = ", "f"), WrongUsage);
}
