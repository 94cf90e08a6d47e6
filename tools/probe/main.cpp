#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "across.h"
#include "answer_json.h"
#include "probe.h"
#include "steps.h"

namespace {

using namespace wheelvet::probe;

enum ExitCode { wrong_usage = 2, unwritten = 3, internal = 4 };

void note_signal(int signal) { interrupted_by = signal; }

void catch_signals() {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a failed write, told as such
  struct sigaction action {};
  action.sa_handler = note_signal;  // no SA_RESTART: it ends the wait for children
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

/// To a file, or to standard output when the path is empty.
bool write_text(const std::string& path, const std::string& text) {
  std::FILE* file = path.empty() ? stdout : std::fopen(path.c_str(), "w");
  if (!file) return false;
  bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fflush(file) == 0 && (file == stdout || std::fclose(file) == 0) && whole;
}

int not_written(const std::string& path) {
  fmt::print(stderr, "wheelvet-probe: {} cannot be written\n", path);
  return unwritten;
}

int write_report(const Request& request, Report& report) {
  if (request.anonymous) make_anonymous(report);
  bool json = request.format == "json";
  std::string text = json ? to_json(report) : to_text(report, request.quiet, request.verbose);
  if (!write_text(request.output, text)) {
    return not_written(request.output.empty() ? "standard output" : request.output);
  }
  bool record = report.tuning && !request.record.empty();
  if (record && !write_text(request.record, to_tuning_record(report))) {
    return not_written(request.record);
  }
  return exit_code(report);
}

int run_one_of_several(const Request& request) {
  std::string wrong;
  std::optional<Place> place = find_place(request.launcher, request.rendezvous, wrong);
  if (!place) {
    fmt::print(stderr, "wheelvet-probe: --launcher {}: {}\n", request.launcher, wrong);
    return wrong_usage;
  }
  Across across = run_across(request, *place);
  if (!across.words.empty()) {
    fmt::print(stderr, "wheelvet-probe: rank {}: {}\n", place->rank, printable(across.words));
  }
  if (!across.report) return across.exit_code;
  int code = write_report(request, *across.report);
  dismiss(across, code);
  return code;
}

int run(const Request& request) {
  if (!request.step.empty()) return run_step(request);
  catch_signals();
  if (!request.launcher.empty()) return run_one_of_several(request);
  Report report = run_probe(request);
  return write_report(request, report);
}

}  // namespace

int main(int argc, char** argv) {
  int early = -1;
  Request request = read_request(argc, argv, early);
  if (early >= 0) return early;
  try {
    return run(request);
  } catch (const std::exception& error) {
    fmt::print(stderr, "wheelvet-probe: internal error: {}\n", error.what());
    return internal;
  }
}
