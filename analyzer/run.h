// The whole program on one screen: inputs, facts, scene, links, findings, report.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "rules/rules.h"
#include "wheelvet/report.h"

namespace wheelvet {

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
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

/// Judges every root of the targets beside the providers. WrongUsage for a request that makes no
/// sense; what cannot be read is a Problem in the report.
Report check(const Request& request);

/// First folders of the packages whose imports rules/ describes: their Python source is not read.
std::set<std::string> known_packages(const Rules& rules);

}  // namespace wheelvet
