#include "config/suppression.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "config/glob.h"
#include "facts/metadata.h"
#include "rules/toml_document.h"
#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

bool matches_any(const std::string& pattern, std::string_view text) {
  return pattern.empty() || matches_glob(pattern, text);
}

bool matches_object(const std::string& pattern, const std::string& path) {
  return matches_any(pattern, path) || matches_any(pattern, base_name(path));
}

// By its file, "name version" or "name==version".
bool matches_input(const std::string& pattern, const ReportInput& input) {
  if (matches_glob(pattern, input.label)) return true;
  return std::any_of(input.packages.begin(), input.packages.end(), [&](std::string package) {
    if (matches_glob(pattern, package)) return true;
    std::size_t blank = package.find(' ');
    if (blank == std::string::npos) return false;
    return matches_glob(pattern, package.replace(blank, 1, "=="));
  });
}

bool in_scope(const Suppression& suppression, const Report& report) {
  auto some = [&](const std::string& pattern, bool target) {
    return pattern.empty() ||
           std::any_of(report.inputs.begin(), report.inputs.end(), [&](const ReportInput& input) {
             return input.target == target && matches_input(pattern, input);
           });
  };
  return some(suppression.target, true) && some(suppression.provider, false);
}

bool expired(const Suppression& suppression, const std::string& today) {
  return !suppression.until.empty() && suppression.until < today;
}

bool covers(const Suppression& s, const Finding& finding, const std::string& object,
            const SymbolEvidence* symbol) {
  if (!matches_rule(s.rule, finding.id) || !matches_object(s.object, object)) return false;
  if (s.symbol.empty()) return true;
  return symbol &&
         (matches_glob(s.symbol, symbol->symbol) || matches_glob(s.symbol, symbol->readable));
}

// The first that covers one symbol of one object; all that do are of use.
const Suppression* cover(std::vector<Suppression>& suppressions, const std::string& today,
                         const Finding& finding, const std::string& object,
                         const SymbolEvidence* symbol, const Report& report) {
  const Suppression* first = nullptr;
  for (Suppression& each : suppressions) {
    if (!in_scope(each, report) || !covers(each, finding, object, symbol)) continue;
    each.used = true;
    if (!first && !expired(each, today)) first = &each;
  }
  return first;
}

std::string reason_of(std::vector<Suppression>& suppressions, const std::string& today,
                      const Finding& finding, const Report& report) {
  std::string reason;
  bool whole = true;
  auto ask = [&](const std::string& object, const SymbolEvidence* symbol) {
    const Suppression* by = cover(suppressions, today, finding, object, symbol, report);
    if (!by) whole = false;
    if (by && reason.empty()) reason = fmt::format("{} ({}:{})", by->reason, by->file, by->line);
  };
  for (const SymbolEvidence& symbol : finding.symbols) {
    for (const std::string& object : symbol.wanted_by) ask(object, &symbol);
  }
  if (finding.symbols.empty()) {
    const std::vector<std::string>& paths =
        finding.objects.empty() ? finding.roots : finding.objects;
    for (const std::string& object : paths) ask(object, nullptr);
    if (paths.empty()) ask("", nullptr);
  }
  return whole ? reason : "";
}

// YYYY-MM-DD of a day that exists.
bool is_date(const std::string& text) {
  int year = 0;
  unsigned month = 0, day = 0;
  if (text.size() != 10 || std::sscanf(text.c_str(), "%4d-%2u-%2u", &year, &month, &day) != 3) {
    return false;
  }
  std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{month},
                                   std::chrono::day{day}};
  return date.ok() && text == fmt::format("{:04}-{:02}-{:02}", year, month, day);
}

std::string date_of(const TomlTable& table, std::string_view key) {
  const Document* value = table.table->find(key);
  if (!value) return {};
  bool written = value->kind == Document::Kind::date || value->kind == Document::Kind::text;
  if (!written || !is_date(value->text)) {
    complain(table.file, value->line, fmt::format("{} has to be a day, as in 2027-01-31", key));
  }
  return value->text;
}

// A pattern that is written and empty would hide more than it seems to.
std::string pattern_of(const TomlTable& table, std::string_view key) {
  std::string pattern = toml_text(table, key);
  const Document* value = table.table->find(key);
  if (value && pattern.empty()) {
    complain(table.file, value->line, fmt::format("{} is empty: leave it out for any", key));
  }
  return pattern;
}

// Whatever the second matches, the first matches too, as far as their patterns tell.
bool overlaps(const Suppression& first, const Suppression& second) {
  auto part = [](const std::string& a, const std::string& b) {
    return a.empty() || a == b || (!b.empty() && matches_glob(a, b));
  };
  bool rule = matches_rule(first.rule, second.rule) || first.rule == second.rule;
  return rule && part(first.object, second.object) && part(first.symbol, second.symbol) &&
         part(first.target, second.target) && part(first.provider, second.provider);
}

bool reported_by_doctor_alone(const std::string& rule, const std::vector<CatalogEntry>& catalog) {
  static const std::vector<std::string> patterns = [] {
    Document own = read_toml(rules_text("doctor.toml"), "rules/doctor.toml");
    return toml_texts({"rules/doctor.toml", "", &own}, "own-rules");
  }();
  return std::all_of(catalog.begin(), catalog.end(), [&](const CatalogEntry& entry) {
    return !matches_rule(rule, entry.id) ||
           std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return matches_rule(pattern, entry.id); });
  });
}

Finding finding_of(const Suppression& suppression, const std::string& id, const std::string& title,
                   const std::string& fix) {
  Finding out;
  out.id = id;
  out.severity = Severity::warning;
  out.title = title;
  out.evidence.push_back(
      fmt::format("{}:{}: {}", suppression.file, suppression.line, suppression.reason));
  out.fix = fix;
  return out;
}

}  // namespace

bool matches_rule(const std::string& pattern, const std::string& id) {
  return matches_glob(pattern, id) || (id.starts_with(pattern) && id[pattern.size()] == '-');
}

void require_rule(const std::string& pattern, const std::string& file, unsigned line,
                  const std::vector<CatalogEntry>& catalog) {
  std::vector<std::string_view> ids;
  for (const CatalogEntry& entry : catalog) {
    if (matches_rule(pattern, entry.id)) return;
    ids.push_back(entry.id);
  }
  std::string near = nearest(pattern, ids);
  complain(
      file, line,
      fmt::format("no rule is called {}; {}", pattern,
                  near.empty() ? "`wheelvet rules` lists them" : "did you mean " + near + "?"));
}

std::vector<Suppression> read_suppressions(const std::vector<TomlTable>& tables,
                                           const std::vector<CatalogEntry>& catalog) {
  std::vector<Suppression> out;
  for (const TomlTable& table : tables) {
    only_keys(table, {"rule", "object", "symbol", "target", "provider", "reason", "until"});
    Suppression suppression;
    suppression.rule = toml_text(table, "rule", true);
    suppression.object = pattern_of(table, "object");
    suppression.symbol = pattern_of(table, "symbol");
    suppression.target = pattern_of(table, "target");
    suppression.provider = pattern_of(table, "provider");
    suppression.reason = toml_text(table, "reason", true);
    suppression.until = date_of(table, "until");
    suppression.file = table.file;
    suppression.line = table.table->line;
    require_rule(suppression.rule, table.file, suppression.line, catalog);
    suppression.of_doctor = reported_by_doctor_alone(suppression.rule, catalog);
    for (const Suppression& other : out) {
      if (overlaps(other, suppression) || overlaps(suppression, other)) {
        complain(table.file, suppression.line,
                 fmt::format("overlaps the suppression in line {}: one of the two is of no use",
                             other.line));
      }
    }
    out.push_back(std::move(suppression));
  }
  return out;
}

void apply_suppressions(std::vector<Suppression>& suppressions, const std::string& today,
                        Report& report) {
  for (Suppression& each : suppressions) {
    if (in_scope(each, report)) each.in_scope = true;
  }
  for (Finding& finding : report.findings) {
    if (!finding.suppressed.empty()) continue;
    finding.suppressed = reason_of(suppressions, today, finding, report);
  }
}

std::vector<Finding> judge_suppressions(const std::vector<Suppression>& suppressions,
                                        const std::string& today, bool of_doctor) {
  std::vector<Finding> out;
  for (const Suppression& each : suppressions) {
    if (!each.in_scope || each.of_doctor != of_doctor) continue;
    if (!each.used) {
      out.push_back(finding_of(each, "CFG-001",
                               fmt::format("a suppression of {} matches nothing", each.rule),
                               "remove it, or mend its patterns"));
    } else if (expired(each, today)) {
      out.push_back(
          finding_of(each, "CFG-002",
                     fmt::format("a suppression of {} has expired on {}", each.rule, each.until),
                     "mend what it hid, or give it a new date and reason"));
    }
  }
  return out;
}

void sort_findings(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return a.severity != b.severity ? a.severity > b.severity : a.id < b.id;
  });
}

std::string today() {
  using namespace std::chrono;
  sys_days day = floor<days>(system_clock::now());
  const char* epoch = std::getenv("SOURCE_DATE_EPOCH");
  if (epoch && *epoch) {
    char* end = nullptr;
    long long seconds_since = std::strtoll(epoch, &end, 10);
    if (*end) throw WrongUsage("SOURCE_DATE_EPOCH is no number of seconds");
    day = floor<days>(sys_seconds(seconds(seconds_since)));
  }
  year_month_day date(day);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

}  // namespace wheelvet
