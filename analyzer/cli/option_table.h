// The options as data, for what is made from them: completions and the manual.
#pragma once

#include <string>
#include <vector>

namespace wheelvet::cli {

struct OptionRow {
  std::string names;  ///< "-o,--output"; a positional has no dashes
  std::string value;  ///< "FILE"; empty for a flag
  std::string text;
  std::vector<std::string> words;  ///< the only values there are; empty for any
};

struct CommandRow {
  std::string name, text, footer;
  std::vector<OptionRow> options;
};

/// All commands with their options, as `--help` knows them.
std::vector<CommandRow> option_table();

/// A completion script for "bash", "zsh" or "fish"; empty for another shell.
std::string completion_script(const std::string& shell);

/// The manual page, section 1, in man(7)'s macros.
std::string manual_page();

}  // namespace wheelvet::cli
