#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "answer_json.h"
#include "probe.h"
#include "steps.h"

namespace {

using namespace wheelvet::probe;

enum ExitCode { unwritten = 3, internal = 4 };

void note_signal(int signal) { interrupted_by = signal; }

void catch_signals() {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a failed write, told as such
  struct sigaction action {};
  action.sa_handler = note_signal;  // no SA_RESTART: it ends the wait for children
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

bool write_report(const Request& request, const std::string& text) {
  std::FILE* file = request.output.empty() ? stdout : std::fopen(request.output.c_str(), "w");
  if (!file) return false;
  bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fflush(file) == 0 && (file == stdout || std::fclose(file) == 0) && whole;
}

int run(const Request& request) {
  if (!request.step.empty()) return run_step(request);
  catch_signals();
  Report report = run_probe(request);
  if (request.anonymous) make_anonymous(report);
  bool json = request.format == "json";
  if (!write_report(request,
                    json ? to_json(report) : to_text(report, request.quiet, request.verbose))) {
    fmt::print(stderr, "wheelvet-probe: {} cannot be written\n",
               request.output.empty() ? "standard output" : request.output);
    return unwritten;
  }
  return exit_code(report);
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
