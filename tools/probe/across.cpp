#include "across.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "answer_json.h"
#include "probe.h"
#include "step_run.h"

namespace wheelvet::probe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double report_grace = 10;  // seconds for the answers of ranks that have ended their steps

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string own_host() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

/// What this rank saw itself.
RankPart own_part(const Request& request, const Place& place, const PrivateFolder& folder) {
  RankPart part;
  part.rank = place.rank;
  part.host = own_host();
  StepPlan plan{.step = "driver", .first_rank = place.rank, .ranks = place.ranks};
  part.driver = carry_out(request, folder, plan).processes.front();
  return part;
}

bool passed(const ChildRun& run) { return run.ended == Ended::answered && run.code == step_passed; }

/// Rank 0 hands on what it shares; what another rank says reaches the rest through rank 0.
Elsewhere elsewhere(Rendezvous& others) {
  Elsewhere out;
  out.descriptors = [&others] { return descriptors(others); };
  out.tell = [&others](FrameType type, std::string_view payload) {
    tell_all(others, type, payload);
  };
  out.hear = [&others] {
    std::vector<Frame> frames = hear(others, 0);
    bool failed = std::any_of(frames.begin(), frames.end(),
                              [](const Frame& frame) { return frame.type == FrameType::abort; });
    if (failed && others.place.rank == 0) tell_all(others, FrameType::abort, "");
    return frames;
  };
  return out;
}

void run_collectives(const Request& request, const PrivateFolder& folder, Rendezvous& others,
                     RankPart& part) {
  Elsewhere rest = elsewhere(others);
  StepPlan plan{.step = "nccl-hosts",
                .first_rank = others.place.rank,
                .ranks = others.place.ranks,
                .first_local_rank = others.place.local_rank,
                .elsewhere = &rest};
  StepReport step = carry_out(request, folder, plan);
  part.nccl = step.processes.front();
  part.log = step.answer.nccl.value_or(NcclLog{});
}

/// Whether this rank can take part at all; the reason why not.
std::string unready(const Request& request, const RankPart& part) {
  if (request.targets.nccl.empty()) return "no libnccl in the environment: give --env or --nccl";
  if (!passed(part.driver)) return "its driver step did not pass";
  return "";
}

/// "rank state host": state is "ready" or "unready".
std::string hello_of(const RankPart& part, bool ready) {
  return fmt::format("{} {} {}", part.rank, ready ? "ready" : "unready", part.host);
}

Across follow(const Request& request, const Place& place, const PrivateFolder& folder,
              RankPart part) {
  Across across;
  across.exit_code = 1;
  across.others = std::make_unique<Rendezvous>(place);
  Rendezvous& others = *across.others;
  bool ready = unready(request, part).empty();
  across.words = meet(others, hello_of(part, ready), request.limit);
  if (!across.words.empty()) return across;
  if (await(others, FrameType::go, request.limit + report_grace)) {
    run_collectives(request, folder, others, part);
  }
  tell(others.peers.front(), others.key, FrameType::report, to_json(part));
  // Rank 0 waits for the slowest, judges and writes.
  std::optional<Frame> verdict;
  Clock::time_point start = Clock::now();
  double patience = request.limit + 2 * report_grace;
  while (!verdict && since(start) < patience && !descriptors(others).empty() && !interrupted_by) {
    verdict = await(others, FrameType::verdict, patience);
  }
  if (verdict) {
    across.exit_code = std::atoi(verdict->payload.c_str());
  } else {
    across.words = "rank 0 is gone";
  }
  return across;
}

void await_reports(Rendezvous& others, double seconds) {
  Clock::time_point start = Clock::now();
  auto outstanding = [&others] {
    return std::any_of(others.peers.begin(), others.peers.end(),
                       [](const Peer& peer) { return peer.socket >= 0 && !peer.report; });
  };
  while (outstanding() && since(start) < seconds && !interrupted_by) hear(others, 100);
}

/// A rank of which nothing is known but that it did not answer.
RankPart part_of_silence(const Peer& peer, bool met) {
  RankPart part;
  part.rank = peer.rank;
  std::size_t host = peer.hello.find(' ', peer.hello.find(' ') + 1);
  if (host != std::string::npos) part.host = peer.hello.substr(host + 1, 255);
  part.driver.ended = part.nccl.ended = met ? Ended::lost : Ended::absent;
  return part;
}

std::vector<RankPart> all_parts(const Rendezvous& others, const RankPart& own,
                                std::vector<std::string>& notes) {
  std::vector<RankPart> parts{own};
  for (const Peer& peer : others.peers) {
    parts.push_back(part_of_silence(peer, !peer.hello.empty()));
    if (!peer.report) continue;
    try {
      parts.back() = parse_rank_part(*peer.report);
    } catch (const std::runtime_error& error) {
      notes.push_back(fmt::format("rank {}'s report is none: {}", peer.rank, error.what()));
    }
    parts.back().rank = peer.rank;
  }
  return parts;
}

StepReport step_of(const char* name, std::vector<RankPart>& parts, ChildRun RankPart::*run,
                   double limit) {
  StepReport step;
  step.name = name;
  for (RankPart& part : parts) {
    ChildRun& one = part.*run;
    // Whoever never came is told by the step that waited for it.
    if (one.ended == Ended::absent && run == &RankPart::driver) continue;
    one.rank = part.rank;
    one.host = part.host;
    step.seconds = std::max(step.seconds, one.seconds);
    step.processes.push_back(one);
  }
  judge_ranks(step, limit);
  return step;
}

void merge_log(NcclLog& into, const NcclLog& from) {
  auto add = [](std::vector<std::string>& list, const std::vector<std::string>& more) {
    for (const std::string& each : more) {
      if (std::find(list.begin(), list.end(), each) == list.end()) list.push_back(each);
    }
  };
  if (into.version.empty()) into.version = from.version;
  if (into.network.empty()) into.network = from.network;
  into.channels = std::max(into.channels, from.channels);
  add(into.transports, from.transports);
  add(into.settings, from.settings);
  add(into.warnings, from.warnings);
}

World world_of(const Place& place, const std::vector<RankPart>& parts) {
  World world;
  world.launcher = place.launcher;
  world.ranks = place.ranks;
  for (const RankPart& part : parts) {
    if (part.host.empty()) continue;  // it never came
    auto known = std::find_if(world.hosts.begin(), world.hosts.end(),
                              [&](const HostFacts& host) { return host.name == part.host; });
    if (known == world.hosts.end())
      known = world.hosts.insert(known, HostFacts{part.host, {}, {}, {}});
    known->ranks.push_back(part.rank);
    if (part.driver.answer.empty() || known->driver) continue;
    try {
      Answer answer = parse_answer(part.driver.answer);
      known->driver = answer.driver;
      for (const DeviceFacts& device : answer.devices) known->gpus.push_back(device.name);
    } catch (const std::runtime_error&) {
      // Told already: the driver step of that rank failed.
    }
  }
  return world;
}

/// Different drivers work together, and are where to look first when they do not.
void note_differences(const World& world, std::vector<std::string>& notes) {
  std::vector<std::string> versions;
  for (const HostFacts& host : world.hosts) {
    if (!host.driver) continue;
    const std::string& version = host.driver->version;
    if (std::find(versions.begin(), versions.end(), version) == versions.end())
      versions.push_back(version);
  }
  if (versions.size() < 2) return;
  notes.push_back(fmt::format("the hosts' drivers differ: {}", fmt::join(versions, ", ")));
}

Across lead(const Request& request, const Place& place, const PrivateFolder& folder, RankPart part,
            std::vector<std::string> notes) {
  Across across;
  across.others = std::make_unique<Rendezvous>(place);
  Rendezvous& others = *across.others;
  Report& report = across.report.emplace();
  std::string why = unready(request, part);
  std::string missing = meet(others, "", request.limit);
  if (!why.empty()) why = fmt::format("rank 0 on {}: {}", part.host, why);
  if (!missing.empty()) why = missing;
  for (const Peer& peer : others.peers) {
    if (why.empty() && peer.hello.find(" ready ") == std::string::npos) {
      why = fmt::format("rank {}: its driver step did not pass, or it has no NCCL", peer.rank);
    }
  }
  tell_all(others, why.empty() ? FrameType::go : FrameType::abort, why);
  if (why.empty()) run_collectives(request, folder, others, part);
  await_reports(others, report_grace);

  notes.insert(notes.end(), others.notes.begin(), others.notes.end());
  std::vector<RankPart> parts = all_parts(others, part, notes);
  report.steps.push_back(step_of("driver", parts, &RankPart::driver, request.limit));
  StepReport nccl = step_of("nccl-hosts", parts, &RankPart::nccl, request.limit);
  if (why.empty()) nccl.answer.nccl.emplace();
  for (const RankPart& each : parts) {
    if (why.empty()) merge_log(*nccl.answer.nccl, each.log);
  }
  if (!why.empty()) {
    nccl.reason = why;
    // A rank that never came is a failure of this step; a driver that is not there is no run of it.
    nccl.outcome = missing.empty() ? Outcome::not_run : Outcome::fail;
  }
  report.steps.push_back(std::move(nccl));
  report.world = world_of(place, parts);
  note_differences(*report.world, notes);
  report.notes = notes;
  return across;
}

}  // namespace

Across run_across(Request request, const Place& place) {
  std::vector<std::string> notes;
  find_targets(request, notes);
  adopt_orphans();
  PrivateFolder folder;
  RankPart part = own_part(request, place, folder);
  if (place.rank != 0) return follow(request, place, folder, part);
  Across across = lead(request, place, folder, part, notes);
  describe(request, *across.report);
  return across;
}

void dismiss(Across& across, int exit_code) {
  tell_all(*across.others, FrameType::verdict, std::to_string(exit_code));
}

}  // namespace wheelvet::probe
