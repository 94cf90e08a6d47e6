// NCCL of the target: communicators over all GPUs, collectives with checked results, and a way out
// of an initialisation that hangs.
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "library.h"
#include "steps.h"

namespace wheelvet::probe {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One rank that lives in this process.
struct Member {
  int rank = 0;
  Gpu gpu;
  Handle communicator = nullptr;
  Handle stream = nullptr;
  DeviceAddress send = 0;
  DeviceAddress receive = 0;
};

struct Group {
  Step& step;
  Driver driver;
  Nccl nccl;
  int ranks = 0;
  std::vector<Member> members;
};

void abort_all(Group& group) {
  for (Member& member : group.members) {
    if (member.communicator) group.nccl.ncclCommAbort(member.communicator);
    member.communicator = nullptr;
  }
}

[[noreturn]] void fail(Group& group, int code, const std::string& call) {
  const char* name = group.nccl.ncclGetErrorString(code);
  const char* last = group.nccl.ncclGetLastError ? group.nccl.ncclGetLastError(nullptr) : nullptr;
  CallError error{call, code, name ? name : "", last ? last : ""};
  std::string reason = fmt::format("{} answered {} {}{}{}", call, code, error.name,
                                   error.text.empty() ? "" : ": ", error.text);
  throw StepEnds(Outcome::fail, reason, error);
}

/// A sibling's failure reaches this rank only through the parent: over NVLink and shared memory
/// nothing is ever closed that NCCL would notice.
void heed_abort(Group& group) {
  std::optional<Frame> frame = receive_frame(group.step.channel, 0);
  if (!frame || frame->type != FrameType::abort) return;
  about_to(group.step, "ncclCommAbort, since another rank failed");
  Clock::time_point start = Clock::now();
  abort_all(group);
  throw StepEnds(
      Outcome::interrupted,
      fmt::format("another rank failed; ncclCommAbort returned after {:.3f} s", since(start)));
}

/// Waits until a call on a non-blocking communicator has taken effect.
void settle(Group& group, Member& member, int code, const std::string& call) {
  Clock::time_point start = Clock::now();
  while (code == nccl_in_progress) {
    // A collective is under way within microseconds, and it is timed: no sleep at first.
    if (since(start) > 0.01) {
      heed_abort(group);
      usleep(200);
    }
    int asked = group.nccl.ncclCommGetAsyncError(member.communicator, &code);
    if (asked != nccl_success) fail(group, asked, "ncclCommGetAsyncError");
  }
  if (code != nccl_success) fail(group, code, call);
}

void prepare(Group& group, std::uint64_t bytes) {
  for (Member& member : group.members) {
    use(group.driver, member.gpu);
    must(group.driver, group.driver.cuStreamCreate(&member.stream, stream_non_blocking),
         "cuStreamCreate");
    must(group.driver, group.driver.cuMemAlloc_v2(&member.send, bytes), "cuMemAlloc");
    must(group.driver, group.driver.cuMemAlloc_v2(&member.receive, bytes), "cuMemAlloc");
  }
}

/// What rank `rank` sends at `index`: sums over ranks have a closed form, every rank's values
/// differ.
constexpr std::uint32_t rank_step = 0x9E3779B9u;

std::uint32_t element(int rank, std::uint64_t index) {
  auto low = static_cast<std::uint32_t>(index);
  return (low ^ (low >> 11)) * 0x85EBCA77u + static_cast<std::uint32_t>(rank) * rank_step;
}

using Elements = std::vector<std::uint32_t>;

Elements elements(int rank, std::uint64_t count) {
  Elements out(count);
  for (std::uint64_t i = 0; i < count; ++i) out[i] = element(rank, i);
  return out;
}

/// Over all ranks, from an index on.
Elements sums(int ranks, std::uint64_t first, std::uint64_t count) {
  auto n = static_cast<std::uint32_t>(ranks);
  Elements out(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    out[i] = n * element(0, first + i) + rank_step * (n * (n - 1) / 2);
  }
  return out;
}

/// A collective over `count` elements in all: how a member starts it, what it must then hold, and
/// which part of the bytes crosses each link (as nccl-tests define the bus bandwidth).
struct Collective {
  const char* name;
  int (*start)(Group&, Member&, std::uint64_t count);
  Elements (*expected)(int ranks, int rank, std::uint64_t count);
  double (*bus_share)(int ranks);
};

const void* sent(const Member& member) { return reinterpret_cast<const void*>(member.send); }
void* target(const Member& member) { return reinterpret_cast<void*>(member.receive); }
std::uint64_t part(int ranks, std::uint64_t count) {
  return count / static_cast<std::uint64_t>(ranks);
}
int before(int ranks, int rank) { return (rank + ranks - 1) % ranks; }

int start_all_reduce(Group& g, Member& m, std::uint64_t count) {
  return g.nccl.ncclAllReduce(sent(m), target(m), count, nccl_uint32, nccl_sum, m.communicator,
                              m.stream);
}

int start_all_gather(Group& g, Member& m, std::uint64_t count) {
  return g.nccl.ncclAllGather(sent(m), target(m), part(g.ranks, count), nccl_uint32, m.communicator,
                              m.stream);
}

int start_reduce_scatter(Group& g, Member& m, std::uint64_t count) {
  return g.nccl.ncclReduceScatter(sent(m), target(m), part(g.ranks, count), nccl_uint32, nccl_sum,
                                  m.communicator, m.stream);
}

int start_broadcast(Group& g, Member& m, std::uint64_t count) {
  return g.nccl.ncclBroadcast(sent(m), target(m), count, nccl_uint32, g.ranks - 1, m.communicator,
                              m.stream);
}

/// Around the ring: to the next rank, from the one before.
int start_send_receive(Group& g, Member& m, std::uint64_t count) {
  int next = (m.rank + 1) % g.ranks;
  int code = g.nccl.ncclSend(sent(m), count, nccl_uint32, next, m.communicator, m.stream);
  if (code != nccl_success && code != nccl_in_progress) return code;
  return g.nccl.ncclRecv(target(m), count, nccl_uint32, before(g.ranks, m.rank), m.communicator,
                         m.stream);
}

Elements gathered(int ranks, int, std::uint64_t count) {
  Elements out;
  for (int rank = 0; rank < ranks; ++rank) {
    Elements each = elements(rank, part(ranks, count));
    out.insert(out.end(), each.begin(), each.end());
  }
  return out;
}

constexpr Collective collectives[] = {
    {"all-reduce", start_all_reduce,
     [](int ranks, int, std::uint64_t count) { return sums(ranks, 0, count); },
     [](int ranks) { return 2 * (ranks - 1.0) / ranks; }},
    {"all-gather", start_all_gather, gathered, [](int ranks) { return (ranks - 1.0) / ranks; }},
    {"reduce-scatter", start_reduce_scatter,
     [](int ranks, int rank, std::uint64_t count) {
       std::uint64_t each = part(ranks, count);
       return sums(ranks, static_cast<std::uint64_t>(rank) * each, each);
     },
     [](int ranks) { return (ranks - 1.0) / ranks; }},
    {"broadcast", start_broadcast,
     [](int ranks, int, std::uint64_t count) { return elements(ranks - 1, count); },
     [](int) { return 1.0; }},
    {"send/recv", start_send_receive,
     [](int ranks, int rank, std::uint64_t count) { return elements(before(ranks, rank), count); },
     [](int) { return 1.0; }},
};

void start_once(Group& group, const Collective& collective, std::uint64_t count) {
  int code = group.nccl.ncclGroupStart();
  if (code != nccl_success) fail(group, code, "ncclGroupStart");
  for (Member& member : group.members) {
    use(group.driver, member.gpu);
    code = collective.start(group, member, count);
    if (code != nccl_success && code != nccl_in_progress) fail(group, code, collective.name);
  }
  code = group.nccl.ncclGroupEnd();
  for (Member& member : group.members) settle(group, member, code, collective.name);
}

void finish(Group& group, const Collective& collective) {
  for (Member& member : group.members) {
    use(group.driver, member.gpu);
    Clock::time_point asked = Clock::now();
    while (true) {
      int code = group.driver.cuStreamQuery(member.stream);
      if (code == cuda_success) break;
      if (code != cuda_not_ready) must(group.driver, code, collective.name);
      if (since(asked) < 0.01) continue;  // short ones are timed: no sleep
      int state = nccl_success;
      group.nccl.ncclCommGetAsyncError(member.communicator, &state);
      if (state != nccl_success && state != nccl_in_progress) {
        abort_all(group);
        fail(group, state, collective.name);
      }
      heed_abort(group);
      usleep(200);
    }
  }
}

void fill(Group& group, std::uint64_t count) {
  for (Member& member : group.members) {
    Elements host = elements(member.rank, count);
    use(group.driver, member.gpu);
    must(group.driver, group.driver.cuMemcpyHtoD_v2(member.send, host.data(), count * 4),
         "cuMemcpyHtoD");
  }
}

bool received_rightly(Group& group, const Collective& collective, std::uint64_t count) {
  bool right = true;
  for (Member& member : group.members) {
    Elements wanted = collective.expected(group.ranks, member.rank, count);
    Elements host(wanted.size());
    use(group.driver, member.gpu);
    must(group.driver, group.driver.cuMemcpyDtoH_v2(host.data(), member.receive, host.size() * 4),
         "cuMemcpyDtoH");
    right = right && host == wanted;
  }
  return right;
}

Figure measure(Group& group, const Collective& collective, std::uint64_t bytes) {
  std::uint64_t count = bytes / 4;
  about_to(group.step, fmt::format("{} of {} bytes", collective.name, bytes));
  for (Member& member : group.members) {
    use(group.driver, member.gpu);
    must(group.driver, group.driver.cuMemsetD32_v2(member.receive, 0xdeadbeef, count),
         "cuMemsetD32");
    must(group.driver, group.driver.cuCtxSynchronize(), "cuCtxSynchronize");
  }
  start_once(group, collective, count);
  finish(group, collective);
  Figure figure;
  figure.collective = collective.name;
  figure.bytes = bytes;
  figure.ranks = group.ranks;
  figure.correct = received_rightly(group, collective, count);
  int rounds = bytes <= (1u << 20) ? 200 : bytes <= (16u << 20) ? 50 : 10;
  for (int i = 0; i < 5; ++i) start_once(group, collective, count);
  finish(group, collective);
  Clock::time_point start = Clock::now();
  for (int i = 0; i < rounds; ++i) start_once(group, collective, count);
  finish(group, collective);
  figure.microseconds = since(start) / rounds * 1e6;
  figure.algorithm_gb_s = static_cast<double>(bytes) / figure.microseconds / 1e3;
  if (group.ranks > 1) figure.bus_gb_s = figure.algorithm_gb_s * collective.bus_share(group.ranks);
  return figure;
}

void measure_all(Group& group) {
  const std::vector<std::uint64_t>& sizes = group.step.request.sizes;
  std::uint64_t largest = *std::max_element(sizes.begin(), sizes.end());
  prepare(group, largest);
  fill(group, largest / 4);
  for (const Collective& collective : collectives) {
    bool right = true;
    for (std::uint64_t bytes : sizes) {
      group.step.answer.figures.push_back(measure(group, collective, bytes));
      right = right && group.step.answer.figures.back().correct;
    }
    group.step.answer.checks.push_back({collective.name, "every value right at every size",
                                        right ? "every value right at every size" : "wrong values",
                                        right, "communicator"});
  }
}

Nccl open_nccl(Step& step, int& version) {
  std::string error;
  about_to(step, "open " + step.request.targets.nccl);
  Library library = open_library(step.request.targets.nccl, error);
  if (!library.handle) throw StepEnds(Outcome::fail, "NCCL does not load: " + error);
  Nccl nccl = nccl_functions(library);
  int code = nccl.ncclGetVersion(&version);
  if (code != nccl_success) {
    throw StepEnds(Outcome::fail, "ncclGetVersion", CallError{"ncclGetVersion", code, "", ""});
  }
  // X * 10000 + Y * 100 + Z since 2.9, X * 1000 + Y * 100 + Z before: nccl.h
  std::string text =
      version < 10000
          ? fmt::format("{}.{}.{}", version / 1000, version % 1000 / 100, version % 100)
          : fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
  step.answer.libraries.push_back({"libnccl", library.path, text});
  step.answer.checks.push_back(compare_library("libnccl", step.request.targets.nccl, library));
  return nccl;
}

void destroy(Group& group) {
  about_to(group.step, "ncclCommDestroy");
  for (Member& member : group.members) {
    use(group.driver, member.gpu);
    settle(group, member, group.nccl.ncclCommDestroy(member.communicator), "ncclCommDestroy");
  }
}

/// What rank 0 shares: its version, so that a mixture is told before NCCL hangs on it, and the id.
struct Invitation {
  int version = 0;
  NcclId id{};
};

Invitation invite(Group& group, int version) {
  Invitation invitation;
  invitation.version = version;
  about_to(group.step, "ncclGetUniqueId");
  int code = group.nccl.ncclGetUniqueId(&invitation.id);
  if (code != nccl_success) fail(group, code, "ncclGetUniqueId");
  send_frame(group.step.channel, FrameType::share,
             {reinterpret_cast<const char*>(&invitation), sizeof invitation});
  return invitation;
}

Invitation await_invitation(Group& group, int version) {
  about_to(group.step, "wait for rank 0's id");
  while (true) {
    std::optional<Frame> frame = receive_frame(group.step.channel, 1000);
    if (!frame) continue;
    if (frame->type == FrameType::abort) {
      throw StepEnds(Outcome::interrupted, "another rank failed before this one began");
    }
    Invitation invitation;
    if (frame->payload.size() != sizeof invitation) {
      throw StepEnds(Outcome::fail, "rank 0 shared something that is no id");
    }
    std::memcpy(&invitation, frame->payload.data(), sizeof invitation);
    if (invitation.version != version) {
      throw StepEnds(Outcome::fail,
                     fmt::format("rank 0 runs NCCL {}, this rank {}", invitation.version, version));
    }
    return invitation;
  }
}

/// A blocking communicator, as torch makes them: the calls of a non-blocking one take 50 us and
/// more each, which would drown what is measured. A rank that waits here for one that never comes
/// is ended from outside.
void join(Group& group, const Invitation& invitation) {
  Member& member = group.members.front();
  use(group.driver, member.gpu);
  about_to(group.step, "initialise the communicator");
  int code =
      group.nccl.ncclCommInitRank(&member.communicator, group.ranks, invitation.id, member.rank);
  if (code != nccl_success) fail(group, code, "ncclCommInitRank");
}

}  // namespace

void run_nccl_one_process(Step& step) {
  int version = 0;
  Nccl nccl = open_nccl(step, version);
  Group group{step, open_driver(step), nccl, 0, {}};
  std::vector<int> devices;
  std::vector<Handle> communicators;
  for (const Gpu& gpu : list_gpus(group.driver)) {
    Member member;
    member.rank = gpu.index;
    member.gpu = gpu;
    group.members.push_back(member);
    devices.push_back(gpu.index);
    communicators.push_back(nullptr);
  }
  group.ranks = static_cast<int>(devices.size());
  use(group.driver, group.members.front().gpu);
  about_to(step, fmt::format("ncclCommInitAll over {} GPUs", group.ranks));
  int code = nccl.ncclCommInitAll(communicators.data(), group.ranks, devices.data());
  if (code != nccl_success) fail(group, code, "ncclCommInitAll");
  for (std::size_t i = 0; i < communicators.size(); ++i)
    group.members[i].communicator = communicators[i];
  measure_all(group);
  destroy(group);
}

void run_nccl_rank(Step& step) {
  int version = 0;
  Nccl nccl = open_nccl(step, version);
  Group group{step, open_driver(step), nccl, step.request.ranks, {}};
  std::vector<Gpu> gpus = list_gpus(group.driver);
  auto index = static_cast<std::size_t>(step.request.local_rank);
  if (gpus.size() == 1) index = 0;  // a launcher may show each rank its own GPU only
  if (index >= gpus.size()) {
    throw StepEnds(
        Outcome::fail,
        fmt::format("{} GPUs are visible, and this is rank {} on its host", gpus.size(), index));
  }
  Member member;
  member.rank = step.request.rank;
  member.gpu = gpus[index];
  group.members.push_back(member);
  join(group, member.rank == 0 ? invite(group, version) : await_invitation(group, version));
  measure_all(group);
  destroy(group);
}

void run_nccl_abort(Step& step) {
  int version = 0;
  Nccl nccl = open_nccl(step, version);
  if (!nccl.ncclCommInitRankConfig) {
    throw StepEnds(Outcome::not_run, "NCCL before 2.14.3 has no initialisation that can be left");
  }
  Group group{step, open_driver(step), nccl, 2, {}};
  Member member;
  member.gpu = list_gpus(group.driver).front();
  group.members.push_back(member);
  use(group.driver, group.members.front().gpu);
  NcclId id{};
  int code = nccl.ncclGetUniqueId(&id);
  if (code != nccl_success) fail(group, code, "ncclGetUniqueId");
  about_to(step, "start a communicator whose second rank never comes");
  NcclConfig config;
  code = nccl.ncclCommInitRankConfig(&group.members[0].communicator, 2, id, 0, &config);
  Clock::time_point start = Clock::now();
  while ((code == nccl_in_progress || code == nccl_success) && since(start) < 1) {
    usleep(10000);
    int asked = nccl.ncclCommGetAsyncError(group.members[0].communicator, &code);
    if (asked != nccl_success) fail(group, asked, "ncclCommGetAsyncError");
  }
  step.answer.checks.push_back(
      {"initialisation that waits", "in progress after 1 s",
       code == nccl_in_progress ? "in progress after 1 s" : fmt::format("code {}", code),
       code == nccl_in_progress, "communicator"});
  about_to(step, "ncclCommAbort of a communicator that still waits");
  start = Clock::now();
  code = nccl.ncclCommAbort(group.members[0].communicator);
  step.answer.checks.push_back({"ncclCommAbort", "returns, code 0",
                                fmt::format("returns after {:.3f} s, code {}", since(start), code),
                                code == nccl_success, "communicator"});
}

}  // namespace wheelvet::probe
