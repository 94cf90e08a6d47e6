// What the probe reports: the parent's view of every step.
#pragma once

#include <string>
#include <vector>

#include "answer.h"
#include "children.h"
#include "request.h"

namespace wheelvet::probe {

struct StepReport {
  std::string name;
  std::string subject;  // which library, of the steps that run once for each
  Outcome outcome = Outcome::not_asked;
  std::string reason;  // of every outcome but pass
  double seconds = 0;
  Answer answer;                    // of all its processes together
  std::vector<ChildRun> processes;  // by rank
};

/// A collective at one size, without a setting and with it.
struct TunedCell {
  std::string collective;
  std::uint64_t bytes = 0;
  double without = 0;  // microseconds, median over the rounds
  double with = 0;
  double change = 0;  // percent of speed; above 0 the setting is faster
  bool beyond_noise = false;
};

struct TunedSetting {
  std::string setting;
  std::string effect;  // helps, harms, mixed, none, fails
  std::string reason;  // of fails
  std::vector<TunedCell> cells;
};

struct Tuning {
  int rounds = 0;
  std::string failure;  // of NCCL without any of the settings
  std::vector<TunedSetting> settings;
};

/// A grid of settings tried.
struct Sweep {
  int rounds = 0;
  int tried = 0;
  int failed = 0;
  std::string failure;               // of NCCL in the environment as it is
  std::vector<TunedSetting> finals;  // the fastest blocks, beside the environment as it is
  std::vector<std::string> best;     // lines for a shell; empty: nothing helps beyond noise
  double gain = 0;                   // percent of speed over all collectives and sizes
};

/// A host of a run over several.
struct HostFacts {
  std::string name;  // marked in the schema: left out by --anonymous
  std::vector<int> ranks;
  std::optional<DriverFacts> driver;
  std::vector<std::string> gpus;  // by name
};

struct World {
  std::string launcher;
  int ranks = 0;
  std::vector<HostFacts> hosts;
};

/// What one rank of a run over several hosts saw.
struct RankPart {
  int rank = 0;
  std::string host;
  ChildRun driver;
  ChildRun nccl;
  NcclLog log;
};

struct Report {
  Outcome verdict = Outcome::not_run;
  std::string headline;
  bool anonymous = false;
  double limit = 0;
  std::string host;  // marked in the schema: left out by --anonymous
  std::string kernel;
  std::string machine;
  std::string environment;
  std::vector<std::string> notes;
  std::vector<StepReport> steps;
  std::optional<Tuning> tuning;
  std::optional<Sweep> sweep;
  std::optional<World> world;
};

/// Sets verdict and headline from the steps.
void conclude(Report& report);

/// Takes out what names this host: its name, paths but for their last part, UUIDs, bus ids,
/// captured output.
void make_anonymous(Report& report);

std::string to_text(const Report& report, bool quiet, bool verbose);
const char* word(Outcome outcome);
const char* word(Ended ended);

/// Bytes that libraries wrote or said, for a terminal: printable ASCII, everything else as \xNN.
std::string printable(std::string_view bytes);

}  // namespace wheelvet::probe
