#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "report/escape.h"
#include "report/finding_rows.h"
#include "report/html_page.h"
#include "report/parameters.h"
#include "report/render.h"

namespace wheelvet {
namespace {

std::string code(std::string_view text) { return "<code>" + escape_markup(text) + "</code>"; }

std::string row(std::string_view label, const std::string& html) {
  return fmt::format("<dt>{}</dt><dd>{}</dd>\n", label, html);
}

std::string status_text(Status status) {
  return fmt::format("<span class=\"status {0}\">{0}</span>", to_string(status));
}

// A name whose parameters that differ from the other's, by their place, are marked.
std::string marked(const std::string& name, const std::string& other) {
  NameParts shown = split_name(name), beside = split_name(other);
  if (shown.before != beside.before) return code(name);
  std::string out = escape_markup(shown.before);
  for (std::size_t i = 0; i < shown.parameters.size(); ++i) {
    std::string text = escape_markup(shown.parameters[i]);
    bool same = i < beside.parameters.size() && beside.parameters[i] == shown.parameters[i];
    out += (i ? ", " : "") + (same ? text : "<mark>" + text + "</mark>");
  }
  return "<code>" + out + escape_markup(shown.after) + "</code>";
}

std::string symbol_rows(const SymbolEvidence& symbol, const Finding& finding) {
  std::string version = symbol.version.empty() ? "" : "@" + symbol.version;
  std::string wanted = symbol.near_misses.empty()
                           ? code(symbol.readable)
                           : marked(symbol.readable, symbol.near_misses.front().readable);
  std::string out = row("wanted", wanted + escape_markup(version));
  if (symbol.readable != symbol.symbol) {
    out += row("symbol", "<span class=\"faint\">" + code(symbol.symbol) + "</span>");
  }
  if (symbol.wanted_by.size() != finding.objects.size()) {
    out += row("by", code(fmt::format("{}", fmt::join(symbol.wanted_by, ", "))));
  }
  if (symbol.near_misses.empty()) out += row("exported", "nothing of that name");
  for (const NearMiss* near : shown_near_misses(symbol)) {
    out += row("exported", marked(near->readable, symbol.readable) + " by " + code(near->provider));
    out += row("differs", "<strong>" + escape_markup(near->difference) + "</strong>");
  }
  return out;
}

std::string finding_article(const Finding& finding) {
  std::string remark = remark_of(finding);
  std::string out = fmt::format(
      "<article>\n<h3>{0} <span class=\"status {1}\">{1}</span> {2}{3}</h3>\n<dl>\n", finding.id,
      to_string(finding.severity), escape_markup(finding.title),
      remark.empty() ? "" : " <span class=\"faint\">(" + escape_markup(remark) + ")</span>");
  const std::vector<std::string>& where = finding.objects.empty() ? finding.roots : finding.objects;
  std::string places;
  for (const std::string& path : where) places += (places.empty() ? "" : ", ") + code(path);
  if (!places.empty()) out += row("in", places);
  for (const SymbolEvidence& symbol : finding.symbols) out += symbol_rows(symbol, finding);
  for (const std::string& line : finding.evidence) out += row("seen", code(line));
  if (!finding.cause.empty()) out += row("cause", escape_markup(finding.cause));
  if (!finding.fix.empty()) {
    out += row("fix", escape_markup(finding.fix) +
                          (finding.fix_verified ? " (verified)" : " (not verified)"));
  }
  return out + "</dl>\n</article>\n";
}

std::string table(std::initializer_list<const char*> heads, const std::string& rows) {
  std::string out = "<div class=\"wide\"><table class=\"sortable\"><thead><tr>";
  for (const char* head : heads) {
    out += fmt::format("<th scope=\"col\"><button type=\"button\">{}</button></th>", head);
  }
  return out + "</tr></thead><tbody>\n" + rows + "</tbody></table></div>\n";
}

std::string roots_table(const Report& report) {
  std::string rows;
  for (const ReportRoot& root : report.roots) {
    rows += fmt::format("<tr><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        status_text(root.status), root.excused ? " (alternative)" : "",
                        code(root.path), root.missing, root.bound + root.assumed);
  }
  return table({"verdict", "module or library", "missing", "bound"}, rows);
}

std::string assumptions_table(const Report& report) {
  std::string rows;
  for (const Assumption& each : report.assumptions) {
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", code(each.library),
                        escape_markup(each.owner.empty() ? each.kind : each.owner),
                        escape_markup(each.because));
  }
  return table({"library", "comes with", "because"}, rows);
}

struct Tree {
  const ReportPlan& plan;
  std::map<std::string, std::vector<std::size_t>> children;  // by the name of the requester
  std::set<std::string> shown;  // a name twice in one plan is drawn once

  std::string draw(const std::string& parent) {
    auto found = children.find(parent);
    if (found == children.end()) return "";
    std::string out = "<ul>\n";
    for (std::size_t index : found->second) {
      const ReportObject& object = plan.objects[index];
      std::string text = fmt::format("{} <span class=\"faint\">{}</span>", code(object.name),
                                     escape_markup(object.found));
      std::string below = shown.insert(object.name).second ? draw(object.name) : "";
      out += below.empty() ? "<li>" + text + "</li>\n"
                           : "<li><details open><summary>" + text + "</summary>" + below +
                                 "</details></li>\n";
    }
    return out + "</ul>\n";
  }
};

std::string plan_tree(const ReportPlan& plan) {
  Tree tree{plan, {}, {}};
  for (std::size_t i = 0; i < plan.objects.size(); ++i) {
    tree.children[plan.objects[i].requested_by].push_back(i);
  }
  return fmt::format("<details class=\"tree\"><summary>{}, {} objects</summary>{}</details>\n",
                     code(plan.root), plan.objects.size(), tree.draw(""));
}

std::string rest_of(const Report& report) {
  std::string out;
  for (const Undecided& each : report.undecided) {
    out += fmt::format(
        "<li><span class=\"undecided\">undecided</span>: {} imports may belong to "
        "{}, which is not among the inputs</li>\n",
        each.count, code(each.owner));
  }
  for (const Problem& problem : report.problems) {
    out +=
        "<li><span class=\"error\">could not be read</span>: " + escape_markup(to_line(problem)) +
        "</li>\n";
  }
  for (const std::string& line : report.scope) out += "<li>" + escape_markup(line) + "</li>\n";
  if (!report.configuration.empty()) {
    out += "<li>configuration: " + code(report.configuration) + "</li>\n";
  }
  return "<ul>\n" + out + "</ul>\n";
}

}  // namespace

std::string html_report(const Report& report) {
  std::string out =
      fmt::format("<h1>{} {}</h1>\n", status_text(report.verdict), escape_markup(report.headline));
  std::string shown, quiet;
  for (const Finding& finding : report.findings) {
    bool aside = !finding.suppressed.empty() || finding.known;
    (aside ? quiet : shown) += finding_article(finding);
  }
  if (!shown.empty()) out += "<h2>Findings</h2>\n" + shown;
  if (!quiet.empty()) {
    out += "<details><summary>suppressed or in the baseline</summary>\n" + quiet + "</details>\n";
  }
  if (!report.roots.empty()) out += "<h2>Modules and libraries</h2>\n" + roots_table(report);
  if (!report.plans.empty()) out += "<h2>Load plans</h2>\n";
  for (const ReportPlan& plan : report.plans) out += plan_tree(plan);
  if (!report.assumptions.empty()) out += "<h2>Assumed</h2>\n" + assumptions_table(report);
  return out + "<h2>Scope</h2>\n" + rest_of(report);
}

std::string render_html(const Report& report) {
  return html_page("wheelvet: " + report.headline, html_report(report));
}

}  // namespace wheelvet
