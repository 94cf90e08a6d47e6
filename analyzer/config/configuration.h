// A project's configuration: [tool.wheelvet] of pyproject.toml, or wheelvet.toml.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/suppression.h"
#include "wheelvet/finding.h"

namespace wheelvet {

/// A setting that stands for an option of the command line.
struct Setting {
  std::string key;                  ///< the option's name without its dashes
  std::vector<std::string> values;  ///< paths already relative to where we are; flags: "true"
  unsigned line = 0;
};

struct SeveritySetting {
  std::string rule;
  Severity severity = Severity::error;
  unsigned line = 0;
};

struct Configuration {
  std::string file;  ///< as it is named to people: relative to where we are; empty for none
  std::vector<Setting> settings;
  std::vector<SeveritySetting> severities;  ///< in the order of the file's keys
  std::vector<Suppression> suppressions;
};

/// The keys that stand for options, in the order in which they are shown.
std::vector<std::string> setting_keys();

/// Walks up from a folder: the first wheelvet.toml, or pyproject.toml that has a [tool.wheelvet].
/// WrongUsage, with file and line, for anything in it that makes no sense.
Configuration find_configuration(const std::string& folder);

/// Reads the named file.
Configuration read_configuration(const std::string& path);

/// Severities and suppressions of a run; `select` and `ignore` are patterns of rules, what they
/// leave out is suppressed with that reason.
struct Gate {
  std::string file;
  std::vector<std::string> select, ignore;
  std::vector<SeveritySetting> severities;
  std::vector<Suppression> suppressions;
  std::string today;
};
void apply_gate(Gate& gate, Report& report);

/// What is to be said of the suppressions once all reports went through the gate.
std::vector<Finding> judge_gate(const Gate& gate);

/// Both for what `doctor` found on a host, where there are no targets and providers.
void apply_gate_of_doctor(Gate& gate, std::vector<Finding>& findings);

}  // namespace wheelvet
