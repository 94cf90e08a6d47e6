#include "config/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

namespace fs = std::filesystem;

enum class Kind { text, texts, path, paths, flag, number, word, rules };

struct Key {
  std::string_view name;
  Kind kind;
  std::vector<std::string_view> words = {};  // Kind::word
};

const std::vector<Key>& known_keys() {
  static const std::vector<Key> keys = {
      {"with", Kind::paths},    {"env", Kind::path},
      {"sysroot", Kind::path},  {"host", Kind::flag},
      {"python", Kind::text},   {"platform", Kind::word, {"x86_64", "aarch64"}},
      {"import", Kind::texts},  {"gpu", Kind::texts},
      {"driver", Kind::text},   {"fail-on", Kind::word, {"error", "warning", "note"}},
      {"select", Kind::rules},  {"ignore", Kind::rules},
      {"strict", Kind::flag},   {"hash", Kind::flag},
      {"baseline", Kind::path}, {"format", Kind::texts},
      {"jobs", Kind::number},
  };
  return keys;
}

struct Source {
  std::string file;  // as it is named to people
  fs::path folder;   // paths in it are relative to this
};

// A release of the history or a requirement is no path; a pattern is expanded by nobody here.
std::string placed(const Source& source, const std::string& value) {
  if (value.find("==") != std::string::npos || fs::path(value).is_absolute()) return value;
  return (source.folder / value).lexically_normal().string();
}

[[noreturn]] void wrong_kind(const Source& source, const Key& key, const Document& value,
                             std::string_view wanted) {
  complain(source.file, value.line,
           fmt::format("{} has to be {}, not {}", key.name, wanted, kind_text(value)));
}

std::string one_text(const Source& source, const Key& key, const Document& value) {
  if (value.kind != Document::Kind::text) wrong_kind(source, key, value, "a text");
  if (value.text.empty()) complain(source.file, value.line, fmt::format("{} is empty", key.name));
  return value.text;
}

std::vector<std::string> many_texts(const Source& source, const Key& key, const Document& value) {
  if (value.kind == Document::Kind::text) return {one_text(source, key, value)};
  if (value.kind != Document::Kind::list) wrong_kind(source, key, value, "a list of texts");
  std::vector<std::string> out;
  for (const Document& item : value.items) out.push_back(one_text(source, key, item));
  return out;
}

std::string word_of(const Source& source, const Key& key, const Document& value) {
  std::string word = one_text(source, key, value);
  if (std::find(key.words.begin(), key.words.end(), word) == key.words.end()) {
    complain(source.file, value.line,
             fmt::format("{} cannot be {}{}", key.name, word, did_you_mean(word, key.words)));
  }
  return word;
}

Setting setting_of(const Source& source, const Key& key, const Document& value,
                   const std::vector<CatalogEntry>& catalog) {
  Setting out{std::string(key.name), {}, value.line};
  switch (key.kind) {
    case Kind::text:
      out.values = {one_text(source, key, value)};
      break;
    case Kind::path:
      out.values = {placed(source, one_text(source, key, value))};
      break;
    case Kind::word:
      out.values = {word_of(source, key, value)};
      break;
    case Kind::texts:
      out.values = many_texts(source, key, value);
      break;
    case Kind::paths:
      for (const std::string& path : many_texts(source, key, value)) {
        out.values.push_back(placed(source, path));
      }
      break;
    case Kind::rules:
      out.values = many_texts(source, key, value);
      for (const std::string& rule : out.values) {
        require_rule(rule, source.file, value.line, catalog);
      }
      break;
    case Kind::flag:
      if (value.kind != Document::Kind::boolean) wrong_kind(source, key, value, "true or false");
      out.values = {value.truth ? "true" : "false"};
      break;
    case Kind::number:
      if (value.kind != Document::Kind::integer || value.integer < 0 || value.integer > 1024) {
        wrong_kind(source, key, value, "a number from 0 to 1024");
      }
      out.values = {std::to_string(value.integer)};
      break;
  }
  return out;
}

std::vector<SeveritySetting> severities_of(const Source& source, const Document& table,
                                           const std::vector<CatalogEntry>& catalog) {
  if (table.kind != Document::Kind::table) {
    complain(source.file, table.line,
             fmt::format("severity has to be a table of rules, not {}", kind_text(table)));
  }
  Key key{"severity", Kind::word, {"error", "warning", "note"}};
  std::vector<SeveritySetting> out;
  for (const auto& [rule, value] : table.members) {
    require_rule(rule, source.file, value.line, catalog);
    std::string word = word_of(source, key, value);
    Severity severity = word == "error"     ? Severity::error
                        : word == "warning" ? Severity::warning
                                            : Severity::note;
    out.push_back({rule, severity, value.line});
  }
  return out;
}

Configuration configuration_of(const Source& source, const std::string& section,
                               const Document& table) {
  const std::vector<CatalogEntry>& catalog = load_catalog();
  TomlTable in{source.file, section, &table};
  std::vector<std::string_view> names = {"severity", "suppress"};
  for (const Key& key : known_keys()) names.push_back(key.name);
  only_keys(in, names);
  Configuration out;
  out.file = source.file;
  for (const Key& key : known_keys()) {
    const Document* value = table.find(key.name);
    if (value) out.settings.push_back(setting_of(source, key, *value, catalog));
  }
  if (const Document* severity = table.find("severity")) {
    out.severities = severities_of(source, *severity, catalog);
  }
  out.suppressions = read_suppressions(toml_tables(in, "suppress"), catalog);
  return out;
}

const Document* tool_table(const Document& file) {
  const Document* tool = file.find("tool");
  return tool && tool->kind == Document::Kind::table ? tool->find("wheelvet") : nullptr;
}

std::string shown_path(const fs::path& path) {
  fs::path near = path.lexically_proximate(fs::current_path());
  return (near.empty() ? path : near).generic_string();
}

// Nothing when a pyproject.toml does not speak of us.
std::optional<Configuration> read_one(const fs::path& path) {
  Source source{shown_path(path), shown_path(path.parent_path())};
  Document file = read_toml_file(path.string(), source.file);
  if (path.filename() != "pyproject.toml") return configuration_of(source, "", file);
  const Document* table = tool_table(file);
  if (!table) return std::nullopt;
  if (table->kind != Document::Kind::table) {
    complain(source.file, table->line, "tool.wheelvet has to be a table");
  }
  return configuration_of(source, "tool.wheelvet", *table);
}

std::vector<Finding> stale(const Gate& gate, bool of_doctor) {
  std::vector<Finding> out = judge_suppressions(gate.suppressions, gate.today, of_doctor);
  for (Finding& finding : out) {
    for (const SeveritySetting& each : gate.severities) {
      if (matches_rule(each.rule, finding.id)) finding.severity = each.severity;
    }
  }
  return out;
}

bool chosen(const std::vector<std::string>& patterns, const std::string& id) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches_rule(pattern, id); });
}

}  // namespace

std::vector<std::string> setting_keys() {
  std::vector<std::string> out;
  for (const Key& key : known_keys()) out.emplace_back(key.name);
  return out;
}

Configuration find_configuration(const std::string& folder) {
  std::error_code error;
  for (fs::path at = fs::absolute(folder).lexically_normal();; at = at.parent_path()) {
    std::optional<Configuration> own, project;
    // A folder or a link to nothing of that name is a mistake, and not the lack of a file.
    if (fs::exists(fs::symlink_status(at / "wheelvet.toml", error))) {
      own = read_one(at / "wheelvet.toml");
    }
    if (fs::is_regular_file(at / "pyproject.toml", error)) {
      project = read_one(at / "pyproject.toml");
    }
    if (own && project) {
      throw WrongUsage(fmt::format("{} and {} both configure wheelvet: keep one of them", own->file,
                                   project->file));
    }
    if (own || project) return own ? *own : *project;
    if (at == at.parent_path()) return {};
  }
}

Configuration read_configuration(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw WrongUsage(fmt::format("no configuration file {}", path));
  }
  std::optional<Configuration> read = read_one(fs::absolute(path).lexically_normal());
  if (!read) throw WrongUsage(fmt::format("{} has no [tool.wheelvet]", path));
  return *read;
}

void apply_gate(Gate& gate, Report& report) {
  report.configuration = gate.file;
  for (Finding& finding : report.findings) {
    for (const SeveritySetting& each : gate.severities) {
      if (matches_rule(each.rule, finding.id)) finding.severity = each.severity;
    }
    if (!gate.select.empty() && !chosen(gate.select, finding.id)) {
      finding.suppressed = "not among the rules selected";
    } else if (chosen(gate.ignore, finding.id)) {
      finding.suppressed = "the rule is ignored";
    }
  }
  apply_suppressions(gate.suppressions, gate.today, report);
  sort_findings(report.findings);
}

std::vector<Finding> judge_gate(const Gate& gate) { return stale(gate, false); }

void apply_gate_of_doctor(Gate& gate, std::vector<Finding>& findings) {
  Report report;
  report.findings = std::move(findings);
  apply_gate(gate, report);
  findings = std::move(report.findings);
  for (Finding& finding : stale(gate, true)) findings.push_back(std::move(finding));
  sort_findings(findings);
}

}  // namespace wheelvet
