#include "probe.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "job.h"
#include "step_run.h"
#include "sweep.h"
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

int processes_of(const PlannedStep& planned, int gpus) {
  return std::string(planned.name) == "nccl-ranks" ? gpus : 1;
}

/// A step that measures NCCL again and again, if there is one to measure.
StepReport measure_nccl(const Request& request, const char* name, const Report& report,
                        const std::string& why_not, std::size_t runs,
                        const std::function<std::string(const MeasuredRun&)>& measure,
                        const PrivateFolder& folder, int gpus) {
  Request everything = request;
  everything.steps.clear();
  StepReport step = unstarted(everything, {name, &Targets::nccl, "libnccl"}, &report.steps.front());
  if (step.reason.empty() && !why_not.empty()) {
    step.outcome = Outcome::not_run;
    step.reason = why_not;
  }
  if (!step.reason.empty()) return step;
  auto start = std::chrono::steady_clock::now();
  std::size_t done = 0;
  step.reason = measure([&](const std::vector<std::string>& changes) {
    StepPlan plan{.step = "nccl-ranks", .processes = gpus, .changes = changes};
    plan.part = fmt::format("{} of {} for {}", ++done, runs, name);
    return carry_out(request, folder, plan);
  });
  step.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  step.outcome = step.reason.empty() ? Outcome::pass : Outcome::fail;
  if (interrupted_by) step.outcome = Outcome::interrupted;
  return step;
}

/// It passes when NCCL runs without the settings that are varied.
void tune_nccl(const Request& request, const PrivateFolder& folder, int gpus, Report& report) {
  std::vector<std::string> settings = varied_settings(request);
  auto measure = [&](const MeasuredRun& run) {
    report.tuning = tune(settings, request.rounds, run);
    return report.tuning->failure;
  };
  std::string why_not = settings.empty() ? "no NCCL_* setting in the environment to vary" : "";
  std::size_t runs = tuning_runs(settings.size(), request.rounds);
  report.steps.push_back(
      measure_nccl(request, "nccl-tune", report, why_not, runs, measure, folder, gpus));
}

/// It passes when NCCL runs in the environment as it is, whatever blocks of the grid do.
void sweep_nccl(const Request& request, const PrivateFolder& folder, int gpus, Report& report) {
  std::string wrong;
  std::vector<SettingBlock> grid =
      grid_of(request.grid.empty() ? default_axes() : request.grid, wrong);
  auto measure = [&](const MeasuredRun& run) {
    report.sweep = sweep(grid, request.rounds, run);
    return report.sweep->failure;
  };
  std::size_t runs = most_sweep_runs(grid.size(), request.rounds);
  report.steps.push_back(
      measure_nccl(request, "nccl-sweep", report, wrong, runs, measure, folder, gpus));
}

/// One step for each entry of the job.
template <typename Entry>
void run_entries(const Request& request, const PrivateFolder& folder, const char* name,
                 const std::vector<Entry>& entries, std::string Entry::*subject, Report& report) {
  if (entries.empty() && !request.steps.empty() && asked(request, name)) {
    StepReport& nothing = report.steps.emplace_back();
    nothing.name = name;
    nothing.outcome = Outcome::not_run;
    nothing.reason =
        "`wheelvet probe` named nothing for it: --package NAME, or for device code a wheel";
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    StepReport step = unstarted(request, {name, nullptr, ""}, &report.steps.front());
    if (step.reason.empty()) {
      Request one = request;
      one.item = static_cast<int>(i);
      std::string part = fmt::format("{} of {}, {}", i + 1, entries.size(), entries[i].*subject);
      step = carry_out(one, folder, {.step = name, .part = part});
    }
    step.subject = entries[i].*subject;
    report.steps.push_back(std::move(step));
  }
}

void describe_host(Report& report) {
  utsname names{};
  if (uname(&names) != 0) return;
  report.host = names.nodename;
  report.kernel = names.release;
  report.machine = names.machine;
}

}  // namespace

void describe(const Request& request, Report& report) {
  report.environment = request.environment;
  report.limit = request.limit;
  describe_host(report);
  conclude(report);
  if (interrupted_by) report.verdict = Outcome::interrupted;
}

Report run_probe(Request request) {
  Report report;
  Job job = request.job.empty() ? Job{} : read_job(request.job);
  report.notes = job.notes;
  find_targets(request, report.notes);
  adopt_orphans();
  PrivateFolder folder;
  int gpus = 1;
  std::optional<StepReport> driver;
  for (const PlannedStep& planned : planned_steps) {
    StepReport step = unstarted(request, planned, driver ? &*driver : nullptr);
    if (step.reason.empty()) {
      step = carry_out(request, folder,
                       {.step = planned.name, .processes = processes_of(planned, gpus)});
    }
    if (!driver) {
      driver = step;
      gpus = std::max(1, static_cast<int>(step.answer.devices.size()));
    }
    report.steps.push_back(std::move(step));
  }
  run_entries(request, folder, "device-code", job.code, &CodeLibrary::library, report);
  run_entries(request, folder, "load", job.loads, &PlannedLoad::root, report);
  if (request.tune) tune_nccl(request, folder, gpus, report);
  if (request.sweep) sweep_nccl(request, folder, gpus, report);
  describe(request, report);
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
