#include <fmt/format.h>
#include <sys/resource.h>

#include <csignal>
#include <exception>

#include "cli/commands.h"
#include "report/escape.h"
#include "report/render.h"
#include "wheelvet/problem.h"

namespace {

using namespace wheelvet;

enum ExitCode { wrong_usage = 2, unanswered = 3, internal = 4 };

int dispatch(const cli::Options& options) {
  switch (options.command) {
    case cli::Command::check:
      return cli::run_check(options);
    case cli::Command::compat:
      return cli::run_compat(options);
    case cli::Command::explain:
      return cli::run_explain(options);
    case cli::Command::inspect:
      return cli::run_inspect(options);
    case cli::Command::diff:
      return cli::run_diff(options);
    case cli::Command::stub:
      return cli::run_stub(options);
    case cli::Command::doctor:
      return cli::run_doctor(options);
    case cli::Command::probe:
      return cli::run_probe(options);
    case cli::Command::rules:
      return cli::run_rules(options);
    case cli::Command::schema:
      return cli::run_schema(options);
    case cli::Command::config:
      return cli::run_config(options);
    case cli::Command::matrix:
      return cli::run_matrix(options);
    case cli::Command::merge:
      return cli::run_merge(options);
    case cli::Command::completion:
      return cli::run_completion(options);
    case cli::Command::manual:
      return cli::run_manual(options);
    case cli::Command::none:
      break;
  }
  return wrong_usage;
}

int report_error(const cli::Options& options, const Problem& problem, int code) {
  if (options.format == "json") {
    fmt::print("{}", render_json_error(problem, code));
  }
  fmt::print(stderr, "wheelvet: {}\n", escape_log(to_line(problem)));
  return code;
}

// Every wheel of a matrix stays open from its first look to its last, so that it is the same file
// in all of them.
void allow_many_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a failed write, told as such
  allow_many_open_files();
  cli::Options options;
  try {
    int early = -1;
    options = cli::read_options(argc, argv, early);
    return early >= 0 ? early : dispatch(options);
  } catch (const WrongUsage& error) {
    return report_error(options, {{}, {}, {}, std::nullopt, error.what()}, wrong_usage);
  } catch (const Unreadable& error) {
    return report_error(options, error.problem(), unanswered);
  } catch (const std::exception& error) {
    std::string reason = fmt::format("internal error: {}", error.what());
    return report_error(options, {{}, {}, {}, std::nullopt, reason}, internal);
  }
}
