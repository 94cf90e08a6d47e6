// Every format escapes by its own rules, and none of them shows fewer findings than another.
#include <doctest/doctest.h>

#include "report/escape.h"
#include "report/finding_rows.h"
#include "report/html_page.h"
#include "report/json_document.h"
#include "report/parameters.h"
#include "report/render.h"
#include "wheelvet/problem.h"

using namespace wheelvet;

namespace {

Report report_of(const std::string& name) {
  Report report;
  report.verdict = Status::fails;
  report.headline = name + " 1.0: 1 of 1 modules";
  ReportInput& input = report.inputs.emplace_back();
  input.label = name + "-1.0-py3-none-any.whl";
  input.kind = "wheel";
  input.target = true;
  input.packages = {name + " 1.0"};
  ReportRoot& root = report.roots.emplace_back();
  root.path = name + "/m.so";
  root.package = name + " 1.0";
  root.status = Status::fails;
  Finding& finding = report.findings.emplace_back();
  finding.id = "SYM-001";
  finding.title = name + " 1.0 imports 1 symbol";
  finding.objects = finding.roots = {root.path};
  finding.symbols.push_back({"_Z1fi", "f(int)", "", {root.path}, {}});
  return report;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("markup keeps no character that ends an element or an attribute") {
  CHECK(escape_markup("<a href=\"x\">&'") == "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  CHECK(escape_markup(std::string("a\0b\x1b", 4)) == "a\\x00b\\x1b");
}

TEST_CASE("Markdown text neither formats, nor mentions, nor links") {
  CHECK(escape_markdown("a*b_c [x](y) <b>") == "a\\*b\\_c \\[x\\](y) \\<b\\>");
  CHECK(escape_markdown("by @somebody in #12") == "by `@somebody` in `#12`");
  CHECK(escape_markdown("http://a.b") == "`http://a.b`");
  CHECK(escape_markdown("@a`b|c") == "`@a'b\\|c`");
}

TEST_CASE("a code span holds any run of backquotes") {
  CHECK(markdown_code("f(int)", false) == "`f(int)`");
  CHECK(markdown_code("a``b", false) == "```a``b```");
  CHECK(markdown_code("`", false) == "`` ` ``");
  CHECK(markdown_code("a|b", true) == "`a\\|b`");
}

TEST_CASE("a workflow command ends where we end it") {
  CHECK(escape_command("50%\n::error::x") == "50%25%0A::error::x");
  CHECK(escape_command_property("a:b,c") == "a%3Ab%2Cc");
  Report report = report_of("a,b::c\n::stop-commands::x");
  for (std::string line : {render_github(report, "", {})}) {
    CHECK(count(line, "\n::stop") == 0);
    CHECK(line.starts_with("::error title=SYM-001 error in a%2Cb%3A%3Ac"));
  }
}

TEST_CASE("a log in text holds no line that a CI service takes for a command") {
  Report report = report_of("p");
  report.findings[0].symbols[0].symbol = "::stop-commands::x";
  report.headline = "a ##[error]x";
  std::string text = escape_log(render_text(report, {}));
  CHECK(count(text, "\\::stop-commands::x") == 1);
  CHECK(count(text, "  ::stop") == 0);
  CHECK(count(text, "##\\[error]x") == 1);
  CHECK(count(text, "##[") == 0);
  CHECK(escape_log("a\n::b\n\t::c\nd::e") == "a\n\\::b\n\t\\::c\nd::e");
}

TEST_CASE("parameters are split at the commas of their own list") {
  NameParts parts = split_name("ns::f<a, b>(int, std::map<k, v>, void (*)(int, int)) const");
  CHECK(parts.before == "ns::f<a, b>(");
  CHECK(parts.parameters ==
        std::vector<std::string>{"int", "std::map<k, v>", "void (*)(int, int)"});
  CHECK(parts.after == ") const");
  CHECK(split_name("name").before == "name");
  CHECK(split_name(")").before == ")");
  CHECK(split_name("a->b)").before == "a->b)");
}

TEST_CASE("HTML marks the parameters that differ and no other") {
  Report report = report_of("p");
  report.findings[0].symbols[0].readable = "f(int, int)";
  report.findings[0].symbols[0].near_misses.push_back(
      {"_Z1fij", "f(int, unsigned)", "lib.so", "d"});
  std::string html = render_html(report);
  CHECK(count(html, "f(int, <mark>int</mark>)") == 1);
  CHECK(count(html, "f(int, <mark>unsigned</mark>)") == 1);
}

TEST_CASE("a name from a file cannot write HTML, XML or Markdown") {
  Report report = report_of("<script>alert(1)</script>");
  CHECK(count(render_html(report), "<script>alert") == 0);
  CHECK(count(render_junit(report, {}), "<script") == 0);
  std::string markdown = render_markdown(report, {});
  CHECK(count(markdown, "<script") == count(markdown, "`<script") + count(markdown, "\\<script"));
}

TEST_CASE("a suppressed finding fails nothing and is shown") {
  Report report = report_of("p");
  report.findings[0].suppressed = "known to us";
  CHECK_FALSE(counts(report.findings[0], Severity::error));
  std::string junit = render_junit(report, {});
  CHECK(count(junit, "<failure") == 0);
  CHECK(count(junit, "suppressed: known to us") == 1);
  CHECK(render_github(report, "", {}).starts_with("::notice"));
  CHECK(count(render_sarif({{"", &report}}, {}, {}), "\"justification\": \"known to us\"") == 1);
}

TEST_CASE("warnings fail JUnit from the threshold on") {
  Report report = report_of("p");
  report.findings[0].severity = Severity::warning;
  CHECK(count(render_junit(report, {}), "<failure") == 0);
  CHECK(count(render_junit(report, {Severity::warning}), "<failure") == 2);
}

TEST_CASE("content keys outlive a new version and a moved object") {
  Report before = report_of("p"), after = report_of("p");
  after.inputs[0].packages = {"p 2.0"};
  after.findings[0].title = "p 2.0 imports 7 symbols";
  after.findings[0].objects = {"p/sub/m.so"};
  after.findings[0].symbols[0].wanted_by = {"p/sub/m.so"};
  CHECK(content_keys(before, before.findings[0]) == content_keys(after, after.findings[0]));
  after.findings[0].symbols[0].symbol = "_Z1gi";
  CHECK(content_keys(before, before.findings[0]) != content_keys(after, after.findings[0]));
}

TEST_CASE("JSON that nests too deeply, or is none, is refused") {
  CHECK_THROWS_AS(read_json(std::string(1000000, '[')), Unreadable);
  CHECK_THROWS_AS(read_json("{\"a\": "), Unreadable);
  CHECK_THROWS_AS(read_json(""), Unreadable);
  Document read = read_json("{\"b\": [1, true, null, \"[[[\"], \"a\": 1.5}");
  CHECK(write_json(read, -1) == "{\"b\":[1,true,null,\"[[[\"],\"a\":1.5}");
}
