// Corrected files, and the commands for what no file can correct.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rules/toml_text.h"
#include "wheelvet/doctor_report.h"
#include "wheelvet/finding.h"
#include "wheelvet/host.h"

namespace wheelvet {

struct FixedFile {
  std::string path;    ///< on the machine
  std::string before;  ///< empty: a new file
  std::string after;
  std::vector<std::string> settles;
};

struct FixCommand {
  std::string line;  ///< for a shell
  std::string settles, why;
};

struct FixPlan {
  std::vector<FixedFile> files;
  std::vector<FixCommand> commands;
  std::vector<std::pair<std::string, std::string>> constraints;  ///< line for pip -c, finding
};

/// The corrections that the findings ask for. Policy: the right package first; else the place that
/// the variable's reader reads. Nothing is changed here.
FixPlan plan_fixes(const HostFacts& host, const std::vector<Finding>& findings,
                   const TomlText& rules);

/// Writes root/PATH for each file, changes.diff, commands.sh and constraints.txt into a folder that
/// is made when it is not there. Unreadable when something cannot be written.
std::vector<WrittenFix> write_fixes(const FixPlan& plan, const std::string& folder);

/// Unified diff with three lines of context.
std::string unified_diff(const std::string& path, const std::string& before,
                         const std::string& after);

}  // namespace wheelvet
