// What was typed, as one plain structure.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace wheelvet::cli {

enum class Command {
  none,
  check,
  compat,
  explain,
  inspect,
  diff,
  stub,
  doctor,
  probe,
  rules,
  schema,
  config,
  matrix,
  merge,
  completion,
  manual
};

struct Options {
  Command command = Command::none;
  std::vector<std::string> targets;  ///< positional arguments of any command
  std::vector<std::string> providers;
  std::vector<std::string> users;  ///< diff: --used-by
  std::vector<std::string> imports;
  std::string environment, sysroot;
  std::vector<std::string> rank_environments;
  std::string python, driver;
  std::string platform;         ///< machine of wheels from the index
  std::string format = "text";  ///< of the output; check and matrix know more than text and json
  /// Further formats with the file each goes to: ("sarif", "out.sarif").
  std::vector<std::pair<std::string, std::string>> format_files;
  std::string output;  ///< file, empty for standard output
  std::string color = "auto";
  std::string fail_on = "error";
  std::vector<std::string> gpus;
  std::string symbols;                      ///< inspect: pattern for --imports and --exports
  std::vector<std::string> select, ignore;  ///< patterns of rules
  std::string baseline;
  std::string config;  ///< configuration file; empty: found by walking up
  bool no_config = false;
  std::string shard;  ///< matrix: "2/8"
  std::string cache;  ///< matrix: folder of kept results; empty: the usual one
  bool no_cache = false;
  std::set<std::string> typed;  ///< names of the options that were on the command line
  std::string user, write_fix, expect, record;  ///< doctor
  std::vector<std::string> units, tuning;       ///< doctor
  bool ask_python = false;                      ///< doctor
  bool list_imports = false, list_exports = false, headers = false, mangled = false;
  bool device = false, kernels = false;  ///< inspect: device code, and the kernels in it
  bool host = false, alone = false, hash = false;
  bool quiet = false, stats = false, strict = false, plans = false;
  int verbose = 0;
  unsigned jobs = 0;
  std::string probe;  ///< result of the probe, which stands for --gpu and --driver
};

/// The formats that a report has, in the order of the documentation; a matrix has one more.
const std::vector<std::string>& report_formats(bool of_matrix);

/// Sets format and format_files from words such as "json" (the output) and "sarif=out.sarif" (that
/// file). Returns what is wrong with them, or nothing.
std::string choose_formats(const std::vector<std::string>& words, Options& options);

/// Parses the command line. When it asks for help or the version, or makes no sense, the text is
/// printed and `exit_code` is set to 0 or 2; otherwise `exit_code` is -1.
Options read_options(int argc, char** argv, int& exit_code);

}  // namespace wheelvet::cli
