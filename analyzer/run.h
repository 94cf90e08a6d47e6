// The whole program on one screen: inputs, facts, scene, links, findings, report.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "history/release.h"
#include "link/try_releases.h"
#include "rules/rules.h"
#include "wheelvet/facts.h"
#include "wheelvet/input.h"
#include "wheelvet/machine.h"
#include "wheelvet/report.h"

namespace wheelvet {

struct BindMemory;
struct FileMemory;

struct Request {
  std::vector<std::string> targets;
  std::vector<std::string> providers;
  std::string environment;  ///< prefix of an environment that the targets are laid over
  std::string sysroot;      ///< judge for the machine whose root this folder is; empty for none
  bool host = false;        ///< this machine's own libraries have to do, the driver's too
  bool alone = false;       ///< nothing is imported or opened first but `imports`
  std::string driver;       ///< "580.65.06": the NVIDIA driver it is to run with; empty: not asked
  std::string python;       ///< "3.12"; empty to choose from tags
  std::string platform;     ///< machine of wheels from the index; empty for that of the inputs
  std::vector<std::string> imports;  ///< imported first for every root
  unsigned jobs = 0;                 ///< threads; 0 is one per processor
  bool hash = false;                 ///< compare every member with the sha256 in RECORD
  std::vector<std::string> gpus;     ///< architectures or product names to judge device code for
  bool with_plans = false;           ///< keep the load plans in the report
  bool compare_torch = true;         ///< try torch's releases where a root misses names of torch
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

/// What was read, before anything is judged.
struct Reading {
  std::vector<Input> inputs;
  Facts facts;
  Machine machine;
  Stats stats;  ///< of the stages so far
};

/// Opens the folders of the request's environment, which is the target itself when nothing else is,
/// and notes in `machine` whose they are. WrongUsage when there is none.
std::vector<Input> open_environment(const Request& request, Machine& machine);

/// Fills in the facts of the inputs, each of which is read once; `rules` may be on their way.
void read_inputs(std::future<Rules>& loaded, const Request& request, Rules& rules,
                 Reading& reading);

/// What the history answered for some inputs. It holds beside any release of torch, so that
/// judgements that differ in the release alone share it.
struct Memory {
  std::string about;     ///< which inputs, which scenario; chosen by the caller
  bool lasting = false;  ///< other judgements follow: all is asked for, not only what one needs
  std::optional<AskedHistory> asked;
  std::vector<ReleaseTrial> trials;
  std::set<std::string> tried;             ///< the roots that the trials speak of
  std::shared_ptr<BindMemory> bound = {};  ///< made by the first judgement
  std::shared_ptr<FileMemory> files = {};  ///< likewise
};

/// Sets the scene, links it and runs the checks. `reading` is only read, but for what the scenario
/// itself adds to it. WrongUsage when the inputs do not go together; the memory is void then.
Report judge(const Rules& rules, const Request& request, Reading& reading, Memory& memory);

/// Judges every root of the targets beside the providers. WrongUsage for a request that makes no
/// sense; what cannot be read is a Problem in the report.
Report check(const Request& request);

/// First folders of the packages whose imports rules/ describes: their Python source is not read.
std::set<std::string> known_packages(const Rules& rules);

}  // namespace wheelvet
