#include "report/finding_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "facts/metadata.h"

namespace wheelvet {
namespace {

void add_symbol(const SymbolEvidence& symbol, const Finding& finding,
                std::vector<FindingRow>& rows) {
  std::string version = symbol.version.empty() ? "" : "@" + symbol.version;
  rows.push_back({"wanted", symbol.readable + version});
  if (symbol.readable != symbol.symbol) rows.push_back({"symbol", symbol.symbol});
  if (symbol.wanted_by.size() != finding.objects.size()) {
    rows.push_back({"by", fmt::format("{}", fmt::join(symbol.wanted_by, ", "))});
  }
  if (symbol.near_misses.empty()) rows.push_back({"exported", "nothing of that name"});
  for (const NearMiss* near : shown_near_misses(symbol)) {
    rows.push_back({"exported", near->readable});
    rows.push_back({"provider", near->provider});
    rows.push_back({"differs", near->difference});
  }
}

// The title without the versions of the packages that are judged.
std::string title_key(const Report& report, std::string title) {
  for (const ReportInput& input : report.inputs) {
    for (const std::string& package : input.packages) {
      std::string name = package.substr(0, package.find(' '));
      for (std::size_t at = title.find(package); at != std::string::npos && !package.empty();
           at = title.find(package, at + name.size())) {
        title.replace(at, package.size(), name);
      }
    }
  }
  return title;
}

}  // namespace

std::vector<const NearMiss*> shown_near_misses(const SymbolEvidence& symbol) {
  std::vector<const NearMiss*> out;
  for (const NearMiss& near : symbol.near_misses) {
    bool again = std::any_of(out.begin(), out.end(), [&](const NearMiss* other) {
      return other->readable == near.readable && other->provider == near.provider &&
             other->difference == near.difference;
    });
    if (!again) out.push_back(&near);
  }
  return out;
}

std::vector<FindingRow> rows_of(const Finding& finding) {
  std::vector<FindingRow> rows;
  const std::vector<std::string>& where = finding.objects.empty() ? finding.roots : finding.objects;
  for (const std::string& path : where) rows.push_back({"in", path});
  for (const SymbolEvidence& symbol : finding.symbols) add_symbol(symbol, finding, rows);
  for (const std::string& line : finding.evidence) rows.push_back({"seen", line});
  if (!finding.cause.empty()) rows.push_back({"cause", finding.cause});
  if (!finding.fix.empty()) {
    rows.push_back(
        {"fix", finding.fix + (finding.fix_verified ? " (verified)" : " (not verified)")});
  }
  return rows;
}

std::string remark_of(const Finding& finding) {
  if (!finding.suppressed.empty()) return "suppressed: " + finding.suppressed;
  if (finding.known) return "known: the baseline has it";
  return finding.alternative ? "an alternative; another one loads" : "";
}

bool counts(const Finding& finding, Severity threshold) {
  return finding.severity >= threshold && finding.suppressed.empty() && !finding.known;
}

std::size_t input_of(const Report& report, const Finding& finding) {
  std::size_t first = none;
  std::string package;
  for (const ReportRoot& root : report.roots) {
    bool concerned =
        std::find(finding.roots.begin(), finding.roots.end(), root.path) != finding.roots.end();
    if (concerned && package.empty()) package = root.package;
  }
  for (std::size_t i = 0; i < report.inputs.size(); ++i) {
    const ReportInput& input = report.inputs[i];
    if (!input.target) continue;
    if (first == none) first = i;
    bool owner =
        std::find(input.packages.begin(), input.packages.end(), package) != input.packages.end();
    if (owner) return i;
  }
  return first;
}

std::vector<std::string> content_keys(const Report& report, const Finding& finding) {
  std::vector<std::string> keys;
  for (const SymbolEvidence& symbol : finding.symbols) {
    std::string name =
        symbol.version.empty() ? symbol.symbol : symbol.symbol + "@" + symbol.version;
    for (const std::string& object : symbol.wanted_by) {
      keys.push_back(fmt::format("{}\n{}\n{}", finding.id, base_name(object), name));
    }
  }
  if (keys.empty()) {
    std::string title = title_key(report, finding.title);
    for (const std::string& object : finding.objects) {
      keys.push_back(fmt::format("{}\n{}\n{}", finding.id, base_name(object), title));
    }
    if (keys.empty()) keys.push_back(fmt::format("{}\n\n{}", finding.id, title));
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace wheelvet
