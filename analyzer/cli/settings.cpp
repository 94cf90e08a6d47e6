#include "cli/settings.h"

#include <fmt/format.h>

#include <filesystem>

#include "config/glob.h"
#include "config/scenario_words.h"
#include "machine/environment.h"
#include "wheelvet/problem.h"

namespace wheelvet::cli {
namespace {

void take(const std::vector<std::string>& values, std::string& option) { option = values.front(); }
void take(const std::vector<std::string>& values, std::vector<std::string>& option) {
  option = values;
}
void take(const std::vector<std::string>& values, bool& option) {
  option = values.front() == "true";
}
void take(const std::vector<std::string>& values, unsigned& option) {
  option = static_cast<unsigned>(std::stoul(values.front()));
}

// Paths of a setting, patterns expanded. "torch==2.10.0" is a release and no path.
std::vector<std::string> paths_of(const Setting& setting, const std::string& file) {
  std::vector<std::string> out;
  for (const std::string& value : setting.values) {
    if (value.find("==") != std::string::npos) {
      out.push_back(value);
      continue;
    }
    std::vector<std::string> found = files_matching(value);
    if (found.empty()) {
      complain(file, setting.line, fmt::format("{}: {} matches no file", setting.key, value));
    }
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

// Looked at here, where the line is known.
void require_environment(const std::string& prefix, const std::string& file, unsigned line) {
  try {
    find_environment("", std::filesystem::absolute(prefix).lexically_normal().string(), "");
  } catch (const WrongUsage& wrong) {
    complain(file, line, fmt::format("env: {}", wrong.what()));
  }
}

void apply(const Setting& setting, const std::string& file, Options& options) {
  const std::string& key = setting.key;
  bool path = key == "with" || key == "env" || key == "sysroot" || key == "baseline";
  std::vector<std::string> values = path ? paths_of(setting, file) : setting.values;
  if (values.empty()) return;
  if (key == "env" && options.sysroot.empty())
    require_environment(values.front(), file, setting.line);
  if (key == "python") require_python(values.front(), file, setting.line);
  if (key == "gpu") require_gpus(values, file, setting.line);
  if (key == "driver") require_driver(values.front(), file, setting.line);
  if (key == "with") take(values, options.providers);
  if (key == "env") take(values, options.environment);
  if (key == "sysroot") take(values, options.sysroot);
  if (key == "host") take(values, options.host);
  if (key == "python") take(values, options.python);
  if (key == "platform") take(values, options.platform);
  if (key == "import") take(values, options.imports);
  if (key == "gpu") take(values, options.gpus);
  if (key == "driver") take(values, options.driver);
  if (key == "fail-on") take(values, options.fail_on);
  if (key == "select") take(values, options.select);
  if (key == "ignore") take(values, options.ignore);
  if (key == "strict") take(values, options.strict);
  if (key == "hash") take(values, options.hash);
  if (key == "baseline") take(values, options.baseline);
  if (key == "jobs") take(values, options.jobs);
  // `config` prints in a format of its own; it only has to make sense there.
  if (key == "format") {
    Options tried;
    std::string reason =
        choose_formats(values, options.command == Command::config ? tried : options);
    if (!reason.empty()) complain(file, setting.line, "format: " + reason);
  }
}

// What `doctor` takes from the file: where and what to examine is not a project's to say.
bool concerns(const Options& typed, const std::string& key) {
  return typed.command != Command::doctor || key == "fail-on" || key == "select" ||
         key == "ignore" || key == "jobs";
}

}  // namespace

Settings settle(const Options& typed) {
  Settings out{typed, {}, {}};
  if (!typed.no_config) {
    out.configuration =
        typed.config.empty() ? find_configuration(".") : read_configuration(typed.config);
  }
  for (const std::string& key : setting_keys()) out.origins[key] = "default";
  for (const Setting& setting : out.configuration.settings) {
    if (typed.typed.contains(setting.key) || !concerns(typed, setting.key)) continue;
    apply(setting, out.configuration.file, out.options);
    out.origins[setting.key] = fmt::format("{}:{}", out.configuration.file, setting.line);
  }
  for (const std::string& key : setting_keys()) {
    bool own_format = key == "format" && typed.command == Command::config;
    if (typed.typed.contains(key) && !own_format) out.origins[key] = "command line";
  }
  for (const auto* list : {&typed.select, &typed.ignore}) {
    for (const std::string& rule : *list) {
      require_rule(rule, "command line", 1, load_catalog());
    }
  }
  return out;
}

Gate gate_of(const Settings& settings) {
  Gate gate;
  gate.file = settings.configuration.file;
  gate.select = settings.options.select;
  gate.ignore = settings.options.ignore;
  gate.severities = settings.configuration.severities;
  gate.suppressions = settings.configuration.suppressions;
  gate.today = today();
  return gate;
}

}  // namespace wheelvet::cli
