#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "cli/commands.h"
#include "input/write_file.h"
#include "report/escape.h"
#include "wheelvet/problem.h"

namespace wheelvet::cli {
namespace {

void write_all(std::FILE* file, const std::string& name, const std::string& text) {
  bool ok = std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
  int error = errno;
  if (!ok) {
    throw Unreadable(Problem{name,
                             {},
                             {},
                             std::nullopt,
                             "could not be written: " + std::generic_category().message(error)});
  }
}

}  // namespace

void write_output(const Options& options, const std::string& text) {
  if (options.output.empty()) {
    write_all(stdout, "standard output", text);
  } else {
    write_file(options.output, text);
  }
}

void write_report(const Options& options, const std::string& text) {
  write_output(options, options.format == "text" ? escape_log(text) : text);
}

bool use_color(const Options& options) {
  if (options.color != "auto") return options.color == "always";
  const char* refused = std::getenv("NO_COLOR");
  return options.output.empty() && !(refused && *refused) && ::isatty(STDOUT_FILENO);
}

}  // namespace wheelvet::cli
