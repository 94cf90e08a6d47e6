#include "run.h"

#include <chrono>
#include <future>

#include "checks/checks.h"
#include "checks/explain.h"
#include "facts/read_facts.h"
#include "input/open_inputs.h"
#include "link/link.h"
#include "link/scene.h"

namespace wheelvet {
namespace {

class Clock {
 public:
  explicit Clock(Stats& stats) : stats_(stats) {}
  void lap(const char* stage) {
    auto now = std::chrono::steady_clock::now();
    stats_.seconds.emplace_back(stage, std::chrono::duration<double>(now - last_).count());
    last_ = now;
  }

 private:
  Stats& stats_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

std::vector<Input> open_inputs(const Request& request) {
  std::vector<Input> inputs;
  for (const std::string& path : request.targets) inputs.push_back(open_input(path, true));
  for (const std::string& path : request.providers) inputs.push_back(open_input(path, false));
  return inputs;
}

}  // namespace

Report check(const Request& request) {
  Stats stats;
  Clock clock(stats);
  std::vector<Input> inputs = open_inputs(request);
  clock.lap("open");
  std::future<Rules> loaded = std::async(std::launch::async, load_rules);
  Facts facts = read_facts(inputs, {request.jobs, request.hash, request.progress});
  clock.lap("facts");
  Rules rules = loaded.get();
  Scene scene = set_scene(inputs, facts, rules, request.python);
  clock.lap("scene");
  Links links = link_scene(scene, {false, request.imports});
  clock.lap("link");
  Run run{inputs, facts, scene, links};
  std::vector<RootView> roots = view_roots(run);
  Report report = explain(run, roots, run_checks(run, roots), request.with_plans);
  clock.lap("checks");
  stats.bytes_read = facts.bytes_read;
  stats.second_passes = facts.second_passes;
  report.stats = stats;
  return report;
}

}  // namespace wheelvet
