#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/option_table.h"
#include "wheelvet/problem.h"

namespace wheelvet::cli {
namespace {

// "-o,--output" -> "-o --output"
std::string spaced(std::string names) {
  std::replace(names.begin(), names.end(), ',', ' ');
  return names;
}

bool is_positional(const OptionRow& row) { return !row.names.starts_with('-'); }

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::string bash_script(const std::vector<CommandRow>& commands) {
  std::string names, cases;
  for (const CommandRow& command : commands) {
    names += command.name + " ";
    std::string options, values, positional;
    for (const OptionRow& row : command.options) {
      if (is_positional(row)) {
        positional = joined(row.words);
        continue;
      }
      options += spaced(row.names) + " ";
      if (row.words.empty()) continue;
      std::string pattern = row.names;
      std::replace(pattern.begin(), pattern.end(), ',', '|');
      values += fmt::format("        {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                            pattern, joined(row.words));
    }
    cases += fmt::format("    {})\n", command.name);
    if (!values.empty()) cases += "      case $before in\n" + values + "      esac\n";
    cases += fmt::format(
        "      local words='{}'\n      [[ $word == -* ]] && words='{}'\n"
        "      COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n",
        positional, options);
  }
  return "_wheelvet() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         // Readline takes --option=value for three words.
         "  [ \"$word\" != = ] || word=\n"
         "  [ \"$before\" != = ] || before=${COMP_WORDS[COMP_CWORD-2]}\n"
         "  COMPREPLY=()\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         names +
         "--help --version' -- \"$word\"))\n    return\n  fi\n  case ${COMP_WORDS[1]} in\n" +
         cases + "  esac\n}\ncomplete -o default -F _wheelvet wheelvet\n";
}

// Inside single quotes of zsh and fish.
std::string quoted(std::string text) {
  text = text.substr(0, text.find('\n'));
  std::string out;
  for (char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out;
}

std::string zsh_script(const std::vector<CommandRow>& commands) {
  // Descriptions end at a bracket in zsh's own grammar.
  auto plain = [](std::string text) {
    text = quoted(text);
    std::replace(text.begin(), text.end(), '[', '(');
    std::replace(text.begin(), text.end(), ']', ')');
    std::replace(text.begin(), text.end(), ':', ' ');
    return text;
  };
  std::string names, cases;
  for (const CommandRow& command : commands) {
    names += fmt::format("    '{}:{}'\n", command.name, plain(command.text));
    cases += fmt::format("    {}) _arguments", command.name);
    std::string positional = "_files";
    for (const OptionRow& row : command.options) {
      if (is_positional(row)) {
        if (!row.words.empty()) positional = "(" + joined(row.words) + ")";
        continue;
      }
      std::string all = spaced(row.names);
      for (std::size_t at = 0; at < all.size();) {
        std::size_t end = std::min(all.find(' ', at), all.size());
        std::string value = row.value.empty() ? ""
                            : row.words.empty()
                                ? ":" + plain(row.value) + ":_files"
                                : ":" + plain(row.value) + ":(" + joined(row.words) + ")";
        std::string name = all.substr(at, end - at);
        bool joins = name.starts_with("--") && !value.empty();  // --option=value, too
        cases +=
            fmt::format(" \\\n      '*{}{}[{}]{}'", name, joins ? "=" : "", plain(row.text), value);
        at = end + 1;
      }
    }
    cases += " \\\n      '*:argument:" + positional + "' ;;\n";
  }
  return "#compdef wheelvet\n_wheelvet() {\n  local -a commands\n  commands=(\n" + names +
         "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
         "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n" +
         cases + "  esac\n}\n_wheelvet \"$@\"\n";
}

std::string fish_script(const std::vector<CommandRow>& commands) {
  std::string out;
  for (const CommandRow& command : commands) {
    out += fmt::format("complete -c wheelvet -n __fish_use_subcommand -a {} -d '{}'\n",
                       command.name, quoted(command.text));
    for (const OptionRow& row : command.options) {
      std::string line =
          fmt::format("complete -c wheelvet -n '__fish_seen_subcommand_from {}'", command.name);
      if (is_positional(row)) {
        if (!row.words.empty()) out += line + fmt::format(" -f -a '{}'\n", joined(row.words));
        continue;
      }
      std::string all = spaced(row.names);
      for (std::size_t at = 0; at < all.size();) {
        std::size_t end = std::min(all.find(' ', at), all.size());
        std::string name = all.substr(at, end - at);
        bool is_long = name.starts_with("--");
        line += fmt::format(" -{} {}", is_long ? "l" : "s", name.substr(is_long ? 2 : 1));
        at = end + 1;
      }
      if (!row.value.empty()) line += " -r";
      if (!row.words.empty()) line += fmt::format(" -f -a '{}'", joined(row.words));
      out += line + fmt::format(" -d '{}'\n", quoted(row.text));
    }
  }
  return out;
}

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return bash_script(option_table());
  if (shell == "zsh") return zsh_script(option_table());
  return shell == "fish" ? fish_script(option_table()) : "";
}

int run_completion(const Options& options) {
  write_output(options, completion_script(options.targets.front()));
  return 0;
}

}  // namespace wheelvet::cli
