#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/settings.h"
#include "report/json_document.h"
#include "report/printable.h"
#include "report/version.h"

namespace wheelvet::cli {
namespace {

struct Row {
  std::string key;
  std::vector<std::string> values;
  std::string origin;
};

std::vector<std::string> flag(bool value) { return {value ? "true" : "false"}; }

std::vector<std::string> value_of(const std::string& key, const Settings& settings) {
  const Options& options = settings.options;
  auto one = [](const std::string& value) {
    return value.empty() ? std::vector<std::string>() : std::vector<std::string>{value};
  };
  if (key == "with") return options.providers;
  if (key == "env") return one(options.environment);
  if (key == "sysroot") return one(options.sysroot);
  if (key == "host") return flag(options.host);
  if (key == "python") return one(options.python);
  if (key == "import") return options.imports;
  if (key == "gpu") return options.gpus;
  if (key == "driver") return one(options.driver);
  if (key == "fail-on") return one(options.fail_on);
  if (key == "select") return options.select;
  if (key == "ignore") return options.ignore;
  if (key == "strict") return flag(options.strict);
  if (key == "hash") return flag(options.hash);
  if (key == "baseline") return one(options.baseline);
  if (key == "jobs") return one(options.jobs ? std::to_string(options.jobs) : "");
  for (const Setting& setting : settings.configuration.settings) {
    if (setting.key == key) return setting.values;
  }
  return {"text"};
}

std::string suppression_text(const Suppression& each) {
  std::string out = each.rule;
  const std::pair<const char*, const std::string*> parts[] = {{"object", &each.object},
                                                              {"symbol", &each.symbol},
                                                              {"target", &each.target},
                                                              {"provider", &each.provider},
                                                              {"until", &each.until}};
  for (const auto& [name, value] : parts) {
    if (!value->empty()) out += fmt::format(" {} {}", name, *value);
  }
  return out + ": " + each.reason;
}

std::vector<Row> rows_of(const Settings& settings) {
  std::vector<Row> rows;
  for (const std::string& key : setting_keys()) {
    rows.push_back({key, value_of(key, settings), settings.origins.at(key)});
  }
  for (const SeveritySetting& each : settings.configuration.severities) {
    rows.push_back({"severity",
                    {fmt::format("{} = {}", each.rule, to_string(each.severity))},
                    fmt::format("{}:{}", settings.configuration.file, each.line)});
  }
  for (const Suppression& each : settings.configuration.suppressions) {
    rows.push_back(
        {"suppress", {suppression_text(each)}, fmt::format("{}:{}", each.file, each.line)});
  }
  return rows;
}

std::string json_of(const Settings& settings) {
  Document list = empty_list();
  for (const Row& row : rows_of(settings)) {
    Document values = empty_list();
    for (const std::string& value : row.values) values.add(printable(value));
    list.add(table_of({{"key", row.key}, {"values", values}, {"origin", printable(row.origin)}}));
  }
  Document out =
      table_of({{"schema_version", 1},
                {"tool", table_of({{"name", "wheelvet"}, {"version", program_version()}})},
                {"file", printable(settings.configuration.file)},
                {"settings", std::move(list)}});
  return write_json(out, 2) + "\n";
}

}  // namespace

int run_config(const Options& options) {
  Settings settings = settle(options);
  if (options.format == "json") {
    write_output(options, json_of(settings));
    return 0;
  }
  const std::string& file = settings.configuration.file;
  std::string out = fmt::format("{:<10}{}\n\n", "file", file.empty() ? "none" : printable(file));
  for (const Row& row : rows_of(settings)) {
    std::string values = fmt::format("{}", fmt::join(row.values, ", "));
    out += fmt::format("{:<10}{:<40} {}\n", row.key, values.empty() ? "-" : printable(values),
                       printable(row.origin));
  }
  write_output(options, out);
  return 0;
}

}  // namespace wheelvet::cli
