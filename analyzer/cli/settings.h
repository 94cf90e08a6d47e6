// The command line over the configuration file over the defaults.
#pragma once

#include <map>
#include <string>

#include "cli/options.h"
#include "config/configuration.h"

namespace wheelvet::cli {

struct Settings {
  Options options;                             ///< with what the file says filled in
  Configuration configuration;                 ///< the file obeyed
  std::map<std::string, std::string> origins;  ///< key -> "command line", "pyproject.toml:12"
};

/// Finds and reads the configuration, unless --no-config refuses it. WrongUsage names file and line
/// of what makes no sense.
Settings settle(const Options& typed);

/// What the settings do to a report's findings.
Gate gate_of(const Settings& settings);

}  // namespace wheelvet::cli
