#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/option_table.h"
#include "report/version.h"

namespace wheelvet::cli {
namespace {

// A line that begins with "." or "'" is a macro, a backslash begins an escape, a hyphen is no minus
// (groff(7)).
std::string escaped(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_start = c == '\n';
  }
  return out;
}

std::string command_section(const CommandRow& command) {
  std::string out = fmt::format(".SS {}\n{}.\n", escaped(command.name), escaped(command.text));
  for (const OptionRow& row : command.options) {
    out += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", escaped(row.names),
                       row.value.empty() ? "" : " \\fI" + escaped(row.value) + "\\fR",
                       escaped(row.text));
    if (!row.words.empty()) out += escaped(fmt::format("({})\n", fmt::join(row.words, ", ")));
  }
  return command.footer.empty() ? out : out + ".PP\n.nf\n" + escaped(command.footer) + "\n.fi\n";
}

}  // namespace

std::string manual_page() {
  std::string out = fmt::format(
      ".TH WHEELVET 1 \"\" \"wheelvet {}\" \"User commands\"\n"
      ".SH NAME\nwheelvet \\- says before installation whether the native modules of a Python "
      "wheel "
      "will import\n"
      ".SH SYNOPSIS\n\\fBwheelvet\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fITARGET\\fR...]\n"
      ".SH DESCRIPTION\n"
      "Reads the ELF tables of wheels, plays the dynamic loader over them and says which modules\n"
      "will load, which will not, and why. No code of a wheel is run, except by probe.\n"
      ".SH COMMANDS\n",
      program_version());
  for (const CommandRow& command : option_table()) out += command_section(command);
  return out +
         ".SH EXIT STATUS\n"
         "0 nothing at or above the threshold; 1 findings at or above it; 2 wrong usage; 3 a "
         "question\n"
         "could not be answered; 4 internal error; 130 interrupted.\n"
         ".SH FILES\n.TP\n\\fIwheelvet.toml\\fR, \\fIpyproject.toml\\fR\n"
         "the configuration of a project, of this folder or the nearest above\n"
         ".TP\n\\fI~/.cache/wheelvet/results\\fR\nresults that matrix keeps\n"
         ".SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nno colours\n"
         ".TP\n\\fBSOURCE_DATE_EPOCH\\fR\nthe day that suppressions expire by\n"
         ".TP\n\\fBWHEELVET_RULES\\fR\na folder of rules that go before those built in\n";
}

int run_manual(const Options& options) {
  write_output(options, manual_page());
  return 0;
}

}  // namespace wheelvet::cli
