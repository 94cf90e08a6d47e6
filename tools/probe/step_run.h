// One step from its start to what the report says of it.
#pragma once

#include <string>
#include <vector>

#include "report.h"
#include "request.h"

namespace wheelvet::probe {

/// A folder that only this user reads, gone with the object.
struct PrivateFolder {
  std::string path;
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
};

/// What one run of a step consists of.
struct StepPlan {
  std::string step;
  int processes = 1;
  std::vector<std::string> changes = {};  // to the environment
  int first_rank = 0;
  int ranks = 0;  // in all; 0: as many as processes
  int first_local_rank = 0;
  const Elsewhere* elsewhere = nullptr;
  std::string part = {};  // of what, for the progress line: "3 of 12"
};

StepReport carry_out(const Request& request, const PrivateFolder& folder, const StepPlan& plan);

/// Puts the answers of a step's ranks together; `step.processes` holds how each ended.
void judge_ranks(StepReport& step, double limit);

}  // namespace wheelvet::probe
