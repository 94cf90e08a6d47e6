// Runs the probe itself again as one or several child processes, each in a session of its own, and
// brings back how each ended. Whatever a child does, nothing of it is left when this returns.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "frame.h"

namespace wheelvet::probe {

struct ChildSpec {
  std::vector<std::string> arguments;  // without the program's name and the channel
  std::vector<std::string>
      environment;  // over the probe's own: NAME=VALUE sets, NAME alone removes
};

/// Exit status of a step that gave a whole answer: its checks agree, or not.
enum StepStatus { step_passed = 0, step_did_not_pass = 3 };

enum class Ended {
  answered,   // a whole answer, then one of the two exit statuses
  exited,     // ended by itself without one, or with another status
  signalled,  // ended by a signal that the probe did not send
  timeout,    // killed at its limit
  flood,      // killed for its output
  forged,     // killed for bytes on the private socket that no step writes
  stopped,    // killed because a sibling failed and it did not end by itself
  interrupted,
  not_started,
  absent,  // on another host: never came
  lost,    // on another host: the connection ended before its answer
};

/// What a child wrote to a standard stream: all of it counted, its beginning and its end kept.
struct Capture {
  std::uint64_t bytes = 0;
  std::string first;
  std::string last;
};

struct ChildRun {
  int rank = 0;
  std::string host;  // of a run over several hosts
  Ended ended = Ended::not_started;
  int code = 0;  // exit status or signal
  double seconds = 0;
  std::string answer;  // JSON, not yet believed
  std::string stage;   // the last thing it said it was about to do
  Capture output;
  Capture errors;
  std::vector<std::string> left;  // processes that SIGKILL did not end within half a second
};

struct ChildLimits {
  double seconds = 60;
  double grace_seconds = 3;                  // for siblings of one that failed
  std::uint64_t output_bytes = 64ull << 20;  // of both streams
  std::size_t kept_bytes = 16 << 10;         // at each end of each stream
  /// Called while children run: how long, and what the first that still runs is about to do.
  std::function<void(double seconds, const std::string& stage)> watch = {};
};

/// Set by the probe's signal handler.
extern volatile std::sig_atomic_t interrupted_by;

/// Makes orphans of steps children of the probe and notes which children are none of its own
/// making.
void adopt_orphans();

/// Siblings in processes that other probes started, on this host or others.
struct Elsewhere {
  std::function<std::vector<int>()> descriptors;  // to wait for
  std::function<std::vector<Frame>()> hear;       // share and abort
  std::function<void(FrameType, std::string_view)> tell;
};

std::vector<ChildRun> run_children(const std::vector<ChildSpec>& specs, const ChildLimits& limits,
                                   const Elsewhere* elsewhere = nullptr);

}  // namespace wheelvet::probe
