#include "step_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "answer_json.h"
#include "nccl_log.h"
#include "progress.h"

namespace wheelvet::probe {
namespace {

bool about_nccl(const std::string& step) { return step.starts_with("nccl"); }

std::string log_path(const PrivateFolder& folder, const std::string& step, int rank) {
  return fmt::format("{}/{}-{}.log", folder.path, step, rank);
}

std::vector<std::string> step_environment(const PrivateFolder& folder, const std::string& step,
                                          int rank) {
  // A warm cache of compiled kernels hides a JIT compiler that is missing, and lies in the user's
  // home.
  std::vector<std::string> environment{"CUDA_CACHE_DISABLE=1"};
  if (!about_nccl(step) || folder.path.empty()) return environment;
  environment.push_back("NCCL_DEBUG=INFO");
  environment.push_back("NCCL_DEBUG_SUBSYS=INIT,ENV,P2P,SHM,NET");
  environment.push_back("NCCL_DEBUG_FILE=" + log_path(folder, step, rank));
  return environment;
}

std::vector<ChildSpec> specs(const Request& request, const PrivateFolder& folder,
                             const StepPlan& plan) {
  std::vector<ChildSpec> out;
  for (int here = 0; here < plan.processes; ++here) {
    Request one = request;
    int rank = one.rank = plan.first_rank + here;
    one.ranks = plan.ranks ? plan.ranks : plan.processes;
    one.local_rank = plan.first_local_rank + here;
    ChildSpec spec{step_arguments(one, plan.step), step_environment(folder, plan.step, rank)};
    spec.environment.insert(spec.environment.end(), plan.changes.begin(), plan.changes.end());
    out.push_back(std::move(spec));
  }
  return out;
}

std::string how_it_ended(const ChildRun& run, double limit) {
  switch (run.ended) {
    case Ended::answered:
      return "";
    case Ended::exited:
      return fmt::format("its process ended with exit code {} {}", run.code,
                         run.answer.empty() ? "and no answer" : "after its answer");
    case Ended::signalled:
      return fmt::format("its process was ended by signal {} (SIG{})", run.code,
                         sigabbrev_np(run.code));
    case Ended::timeout:
      return fmt::format("no end within {:g} s; killed", limit);
    case Ended::flood:
      return fmt::format("{} bytes of output; killed", run.output.bytes + run.errors.bytes);
    case Ended::forged:
      return "what came on the private descriptor was not written by the step; not believed";
    case Ended::stopped:
      return "killed, since another rank failed";
    case Ended::interrupted:
      return "interrupted";
    case Ended::not_started:
      return "its process could not be started";
    case Ended::absent:
      return "it never came";
    case Ended::lost:
      return "the connection to it ended before it answered";
  }
  return "";
}

/// One process's part of a step.
struct Judged {
  Outcome outcome = Outcome::fail;
  std::string reason;
  Answer answer;
};

Judged judge(const ChildRun& run, double limit) {
  Judged judged;
  if (!run.answer.empty()) {
    try {
      judged.answer = parse_answer(run.answer);
    } catch (const std::runtime_error& error) {
      judged.reason = fmt::format("its answer is none: {}", error.what());
      return judged;
    }
  }
  if (run.ended == Ended::answered) {
    judged.outcome = judged.answer.outcome;
    judged.reason = judged.answer.reason;
    return judged;
  }
  bool followed = run.ended == Ended::stopped || run.ended == Ended::interrupted;
  judged.outcome = followed ? Outcome::interrupted : Outcome::fail;
  judged.reason = how_it_ended(run, limit);
  if (!run.stage.empty()) judged.reason += "; it was at: " + run.stage;
  for (const std::string& process : run.left) judged.reason += "; still there: " + process;
  return judged;
}

/// Ranks measure the same collectives in the same order; the slowest one's time counts.
void merge_figures(std::vector<Figure>& into, const std::vector<Figure>& other) {
  into.resize(std::min(into.size(), other.size()));
  for (std::size_t i = 0; i < into.size(); ++i) {
    into[i].correct = into[i].correct && other[i].correct;
    if (other[i].microseconds <= into[i].microseconds) continue;
    double scale = into[i].microseconds / other[i].microseconds;
    into[i].microseconds = other[i].microseconds;
    into[i].algorithm_gb_s *= scale;
    if (into[i].bus_gb_s) *into[i].bus_gb_s *= scale;
  }
}

std::string name_of(const ChildRun& run) {
  return run.host.empty() ? fmt::format("rank {}", run.rank)
                          : fmt::format("rank {} on {}", run.rank, run.host);
}

void merge_rank(StepReport& step, const Judged& judged, const ChildRun& run) {
  if (&run == &step.processes.front()) {
    step.answer = judged.answer;
  } else {
    merge_figures(step.answer.figures, judged.answer.figures);
    for (Check check : judged.answer.checks) {
      check.subject = fmt::format("{}: {}", name_of(run), check.subject);
      step.answer.checks.push_back(check);
    }
  }
  // A failure goes before what followed from it.
  bool worse = judged.outcome == Outcome::fail && step.outcome != Outcome::fail;
  bool first = judged.outcome != Outcome::pass && step.outcome == Outcome::pass;
  if (!worse && !first) return;
  step.outcome = judged.outcome;
  step.reason = judged.reason;
  step.answer.error = judged.answer.error;
  if (step.processes.size() > 1) step.reason = fmt::format("{}: {}", name_of(run), judged.reason);
}

void read_logs(StepReport& step, const PrivateFolder& folder, const StepPlan& plan) {
  step.answer.nccl.emplace();
  for (int here = 0; here < plan.processes; ++here) {
    std::string path = log_path(folder, plan.step, plan.first_rank + here);
    read_nccl_log(path, *step.answer.nccl);
    std::error_code ignored;
    std::filesystem::remove(path, ignored);  // the step may run again
  }
}

/// A few times a second, what is being done.
std::function<void(double, const std::string&)> watch_of(const Request& request,
                                                         const StepPlan& plan) {
  if (!shows_progress(request.quiet)) return {};
  std::string what = plan.step + (plan.part.empty() ? "" : " " + plan.part);
  double next = 0;
  return [what, next](double seconds, const std::string& stage) mutable {
    if (seconds < next) return;
    next = seconds + 0.25;
    show_progress(what, seconds, stage);
  };
}

}  // namespace

PrivateFolder::PrivateFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "wheelvet-probe-XXXXXX").string();
  if (mkdtemp(pattern.data())) path = pattern;
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (!path.empty()) std::filesystem::remove_all(path, ignored);
}

void judge_ranks(StepReport& step, double limit) {
  step.outcome = Outcome::pass;
  for (const ChildRun& run : step.processes) merge_rank(step, judge(run, limit), run);
  // Ranks that only followed are no interruption of the probe.
  if (step.outcome == Outcome::interrupted && !interrupted_by) step.outcome = Outcome::fail;
}

StepReport carry_out(const Request& request, const PrivateFolder& folder, const StepPlan& plan) {
  StepReport step;
  step.name = plan.step;
  ChildLimits limits;
  limits.seconds = request.limit;
  limits.watch = watch_of(request, plan);
  auto start = std::chrono::steady_clock::now();
  step.processes = run_children(specs(request, folder, plan), limits, plan.elsewhere);
  step.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  clear_progress();
  for (std::size_t here = 0; here < step.processes.size(); ++here) {
    step.processes[here].rank = plan.first_rank + static_cast<int>(here);
  }
  judge_ranks(step, request.limit);
  if (about_nccl(plan.step)) read_logs(step, folder, plan);
  return step;
}

}  // namespace wheelvet::probe
