#include "probe.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "answer_json.h"
#include "nccl_log.h"
#include "tuning.h"

namespace wheelvet::probe {
namespace {

struct PlannedStep {
  const char* name;
  std::string Targets::*library;  // what it asks; null: the driver alone
  const char* package;
};

constexpr PlannedStep planned_steps[] = {
    {"driver", nullptr, ""},
    {"kernel", nullptr, ""},
    {"nvrtc", &Targets::nvrtc, "libnvrtc"},
    {"curand", &Targets::curand, "libcurand"},
    {"cublas", &Targets::cublas, "libcublas"},
    {"nccl", &Targets::nccl, "libnccl"},
    {"nccl-ranks", &Targets::nccl, "libnccl"},
    {"nccl-abort", &Targets::nccl, "libnccl"},
};

bool about_nccl(const std::string& step) { return step.starts_with("nccl"); }

/// A folder that only this user reads, gone with the object.
struct PrivateFolder {
  std::string path;
  PrivateFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "wheelvet-probe-XXXXXX").string();
    if (mkdtemp(pattern.data())) path = pattern;
  }
  ~PrivateFolder() {
    std::error_code ignored;
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
};

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

/// What one run of a step consists of.
struct Plan {
  std::string step;
  int processes = 1;
  std::vector<std::string> changes;  // to the environment
};

std::vector<ChildSpec> specs(const Request& request, const PrivateFolder& folder,
                             const Plan& plan) {
  std::vector<ChildSpec> out;
  for (int rank = 0; rank < plan.processes; ++rank) {
    Request one = request;
    one.rank = rank;
    one.ranks = plan.processes;
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

void merge_rank(StepReport& step, const Judged& judged, std::size_t rank) {
  if (rank == 0) {
    step.answer = judged.answer;
  } else {
    merge_figures(step.answer.figures, judged.answer.figures);
    for (Check check : judged.answer.checks) {
      check.subject = fmt::format("rank {}: {}", rank, check.subject);
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
  if (step.processes.size() > 1) step.reason = fmt::format("rank {}: {}", rank, judged.reason);
}

void read_logs(StepReport& step, const PrivateFolder& folder, const Plan& plan) {
  step.answer.nccl.emplace();
  for (int rank = 0; rank < plan.processes; ++rank) {
    std::string path = log_path(folder, plan.step, rank);
    read_nccl_log(path, *step.answer.nccl);
    std::error_code ignored;
    std::filesystem::remove(path, ignored);  // the step may run again
  }
}

StepReport carry_out(const Request& request, const PrivateFolder& folder, const Plan& plan) {
  StepReport step;
  step.name = plan.step;
  step.outcome = Outcome::pass;
  ChildLimits limits;
  limits.seconds = request.limit;
  auto start = std::chrono::steady_clock::now();
  step.processes = run_children(specs(request, folder, plan), limits);
  step.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (std::size_t rank = 0; rank < step.processes.size(); ++rank) {
    merge_rank(step, judge(step.processes[rank], request.limit), rank);
  }
  // Ranks that only followed are no interruption of the probe.
  if (step.outcome == Outcome::interrupted && !interrupted_by) step.outcome = Outcome::fail;
  if (about_nccl(plan.step)) read_logs(step, folder, plan);
  return step;
}

bool asked(const Request& request, const std::string& step) {
  // The driver's answer decides how the others are run.
  return step == "driver" || request.steps.empty() ||
         std::find(request.steps.begin(), request.steps.end(), step) != request.steps.end();
}

/// Why a step is not even started; empty when it is.
StepReport unstarted(const Request& request, const PlannedStep& planned, const StepReport* driver) {
  StepReport step;
  step.name = planned.name;
  bool named = !request.steps.empty() && asked(request, planned.name);
  if (!asked(request, planned.name)) {
    step.reason = "not among --steps";
  } else if (planned.library && (request.targets.*planned.library).empty()) {
    step.outcome = named ? Outcome::not_run : Outcome::not_asked;
    step.reason = request.environment.empty()
                      ? fmt::format("no {} named: give --env or its option", planned.package)
                      : fmt::format("no {} in the environment", planned.package);
  } else if (interrupted_by) {
    step.outcome = Outcome::not_run;
    step.reason = "interrupted before it began";
  } else if (driver && driver->outcome == Outcome::not_run) {
    step.outcome = Outcome::not_run;
    step.reason = "there is no driver or GPU to run it on";
  }
  return step;
}

void show_progress(const Request& request, const StepReport* done, const char* next) {
  if (request.quiet || !isatty(STDERR_FILENO)) return;
  if (done) fmt::print(stderr, "{}  {:.1f} s\n", word(done->outcome), done->seconds);
  if (next) fmt::print(stderr, "{:<11} ... ", next);
}

int processes_of(const PlannedStep& planned, int gpus) {
  return std::string(planned.name) == "nccl-ranks" ? gpus : 1;
}

/// A step of its own in the report: it passes when NCCL runs without the settings that are varied.
void tune_nccl(const Request& request, const PrivateFolder& folder, int gpus, Report& report) {
  PlannedStep planned{"nccl-tune", &Targets::nccl, "libnccl"};
  Request everything = request;
  everything.steps.clear();
  StepReport step = unstarted(everything, planned, &report.steps.front());
  std::vector<std::string> settings = varied_settings(request);
  if (step.reason.empty() && settings.empty()) {
    step.outcome = Outcome::not_run;
    step.reason = "no NCCL_* setting in the environment to vary";
  }
  if (step.reason.empty()) {
    auto start = std::chrono::steady_clock::now();
    report.tuning = tune(settings, request.rounds, [&](const std::vector<std::string>& changes) {
      show_progress(request, nullptr, planned.name);
      StepReport once = carry_out(request, folder, {"nccl-ranks", gpus, changes});
      show_progress(request, &once, nullptr);
      return once;
    });
    step.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    step.reason = report.tuning->failure;
    step.outcome = step.reason.empty() ? Outcome::pass : Outcome::fail;
    if (interrupted_by) step.outcome = Outcome::interrupted;
  }
  report.steps.push_back(std::move(step));
}

void describe_host(Report& report) {
  utsname names{};
  if (uname(&names) != 0) return;
  report.host = names.nodename;
  report.kernel = names.release;
  report.machine = names.machine;
}

}  // namespace

Report run_probe(Request request) {
  Report report;
  report.environment = request.environment;
  report.limit = request.limit;
  describe_host(report);
  find_targets(request, report.notes);
  adopt_orphans();
  PrivateFolder folder;
  int gpus = 1;
  std::optional<StepReport> driver;
  for (const PlannedStep& planned : planned_steps) {
    StepReport step = unstarted(request, planned, driver ? &*driver : nullptr);
    if (step.reason.empty()) {
      show_progress(request, nullptr, planned.name);
      step = carry_out(request, folder, {planned.name, processes_of(planned, gpus), {}});
      show_progress(request, &step, nullptr);
    }
    if (!driver) {
      driver = step;
      gpus = std::max(1, static_cast<int>(step.answer.devices.size()));
    }
    report.steps.push_back(std::move(step));
  }
  if (request.tune) tune_nccl(request, folder, gpus, report);
  conclude(report);
  if (interrupted_by) report.verdict = Outcome::interrupted;
  return report;
}

int exit_code(const Report& report) {
  switch (report.verdict) {
    case Outcome::pass:
      return 0;
    case Outcome::fail:
      return 1;
    case Outcome::interrupted:
      return 130;
    case Outcome::not_run:
    case Outcome::not_asked:
      break;
  }
  return 3;
}

}  // namespace wheelvet::probe
