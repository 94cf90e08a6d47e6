// A step's process: one step, one answer, and then no destructor of any library.
#include <fmt/format.h>

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include <sys/prctl.h>

#include "answer_json.h"
#include "children.h"
#include "steps.h"

namespace wheelvet::probe {
namespace {

struct NamedStep {
  const char* name;
  void (*run)(Step&);
};

constexpr NamedStep named_steps[] = {
    {"driver", ask_driver},
    {"kernel", run_kernel},
    {"nvrtc", run_nvrtc},
    {"curand", run_curand},
    {"cublas", run_cublas},
    {"nccl", run_nccl_one_process},
    {"nccl-ranks", run_nccl_rank},
    {"nccl-abort", run_nccl_abort},
    {"nccl-hosts", run_nccl_rank},
    {"device-code", run_device_code},
    {"load", run_load},
};

[[noreturn]] void flood() {
  std::string line(4095, 'x');
  line += '\n';
  while (true) (void)!write(1, line.data(), line.size());
}

[[noreturn]] void hang() {
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGINT, SIG_IGN);
  while (true) pause();
}

void run_named(Step& step) {
  for (const NamedStep& named : named_steps) {
    if (step.request.step == named.name) return named.run(step);
  }
  throw std::runtime_error("no step " + step.request.step);
}

/// Where the reason of a step whose calls all succeeded comes from: its checks.
void judge(Answer& answer) {
  for (const Check& check : answer.checks) {
    if (check.agrees) continue;
    answer.outcome = Outcome::fail;
    answer.reason = fmt::format("{}: {} predicted, {} observed", check.subject, check.predicted,
                                check.observed);
    return;
  }
}

}  // namespace

void rehearse(const std::string& fault) {
  if (fault == "exit") std::_Exit(0);
  if (fault == "abort") std::abort();
  if (fault == "segv") std::raise(SIGSEGV);
  if (fault == "flood") flood();
  if (fault == "hang") hang();
}

int run_step(const Request& request) {
  prctl(PR_SET_NAME, "wheelvet-probe");  // it was started by way of /proc/self/exe
  Step step{request, open_channel(request.channel), {}};
  try {
    rehearse(request.rehearse);
    run_named(step);
    judge(step.answer);
  } catch (const StepEnds& end) {
    step.answer.outcome = end.outcome;
    step.answer.reason = end.what();
    step.answer.error = end.error;
  }
  send_frame(step.channel, FrameType::result, to_json(step.answer));
  _exit(step.answer.outcome == Outcome::pass ? step_passed : step_did_not_pass);
}

}  // namespace wheelvet::probe
