// What was asked of the probe; a step's process gets the same options and its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wheelvet::probe {

/// The libraries that are asked, by path or, for the driver's, by soname. Empty: not asked.
struct Targets {
  std::string driver = "libcuda.so.1";
  std::string management = "libnvidia-ml.so.1";
  std::string nvrtc;
  std::string curand;
  std::string cublas;
  std::string nccl;
};

struct Request {
  std::string environment;  // --env
  Targets targets;
  std::vector<std::string> steps;  // empty: all
  std::vector<std::uint64_t> sizes;
  double limit = 60;  // seconds per step
  std::string rehearse;
  bool tune = false;
  int rounds = 3;
  std::vector<std::string> keep;  // settings that --tune leaves as they are
  bool sweep = false;
  std::vector<std::string> grid;  // axes of --sweep; empty: the probe's own
  std::string record;             // file for the tuning record
  std::string launcher;           // one of several processes: whose variables say which
  std::string rendezvous;         // HOST:PORT of rank 0, where the launcher does not tell
  std::string format = "text";
  std::string output;
  bool anonymous = false;
  bool quiet = false;
  bool verbose = false;

  // Of a step's process.
  int channel = -1;
  std::string step;
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;  // which GPU
  std::string job;     // file that `wheelvet` made: device code and loads
  int item = 0;        // which of its entries
};

/// Throws nothing; `exit_code` is set to 0 or more when the program is to end at once.
Request read_request(int argc, char** argv, int& exit_code);

/// The options that make a child run `step`.
std::vector<std::string> step_arguments(const Request& request, const std::string& step);

/// Fills the targets that no option named from what is installed below --env; `notes` says what was
/// chosen among several.
void find_targets(Request& request, std::vector<std::string>& notes);

}  // namespace wheelvet::probe
