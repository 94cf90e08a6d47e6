// What each of the environment's NCCL_* settings does to the collectives of this machine.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "answer.h"
#include "report.h"
#include "request.h"

namespace wheelvet::probe {

/// The settings of the environment that are varied, as NAME=VALUE: every NCCL_* but those of its
/// log, those that say where the other processes are, and those that --keep names.
std::vector<std::string> varied_settings(const Request& request);

/// Runs the collectives in a process per GPU, with these changes to the environment: NAME=VALUE
/// sets, NAME alone removes.
using MeasuredRun = std::function<StepReport(const std::vector<std::string>& changes)>;

/// How often `tune` runs them.
std::size_t tuning_runs(std::size_t settings, int rounds);

/// In each of several rounds: NCCL without any of the settings, then with each alone, then with
/// all.
Tuning tune(const std::vector<std::string>& settings, int rounds, const MeasuredRun& run);

/// One setting's rounds beside those without it. A difference counts when it is larger than 5 % and
/// larger than the spread of either over the rounds.
TunedSetting compare(const std::string& setting, const std::vector<std::vector<Figure>>& without,
                     const std::vector<std::vector<Figure>>& with);

}  // namespace wheelvet::probe
