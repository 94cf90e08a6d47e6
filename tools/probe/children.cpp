#include "children.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "frame.h"
#include "processes.h"

namespace wheelvet::probe {

volatile std::sig_atomic_t interrupted_by = 0;

namespace {

using Clock = std::chrono::steady_clock;

std::set<pid_t> strangers;  // descendants from before the probe began: not ours to end

struct Child {
  pid_t process = -1;
  int channel = -1;
  int output = -1;
  int errors = -1;
  FrameKey key{};
  std::string received;
  bool whole_answer = false;
  bool running = false;
  ChildRun run;
};

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void close_end(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

/// In the forked child: only calls that are safe there.
[[noreturn]] void become_step(pid_t parent, int channel, int output, int errors, char** arguments,
                              char** environment) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);  // the parent died before the line above
  rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  int nothing = open("/dev/null", O_RDWR);
  if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(output, 1) < 0 || dup2(errors, 2) < 0) _exit(126);
  // Everything else the probe opened is closed on exec; this one stays, under a number of its own.
  if (fcntl(channel, F_SETFD, 0) < 0) _exit(126);
  for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve("/proc/self/exe", arguments, environment);
  _exit(127);
}

std::vector<std::string> merged_environment(const std::vector<std::string>& over) {
  // The last change of a name counts, then the environment's own.
  std::vector<std::string> all(over.rbegin(), over.rend());
  for (char** each = environ; *each; ++each) all.emplace_back(*each);
  std::set<std::string> seen;
  std::vector<std::string> merged;
  for (const std::string& entry : all) {
    bool first = seen.insert(entry.substr(0, entry.find('='))).second;
    if (first && entry.find('=') != std::string::npos) merged.push_back(entry);
  }
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& each : strings) out.push_back(each.data());
  out.push_back(nullptr);
  return out;
}

Child start(const ChildSpec& spec) {
  Child child;
  int sockets[2], output[2], errors[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return child;
  if (pipe2(output, O_CLOEXEC) != 0) return child;
  if (pipe2(errors, O_CLOEXEC) != 0) return child;
  std::vector<std::string> arguments{"wheelvet-probe", "--channel", std::to_string(sockets[1])};
  arguments.insert(arguments.end(), spec.arguments.begin(), spec.arguments.end());
  std::vector<std::string> environment = merged_environment(spec.environment);
  std::vector<char*> argv = pointers(arguments), envp = pointers(environment);
  pid_t parent = getpid();
  child.process = fork();
  if (child.process == 0) {
    become_step(parent, sockets[1], output[1], errors[1], argv.data(), envp.data());
  }
  close(sockets[1]);
  close(output[1]);
  close(errors[1]);
  child.channel = sockets[0];
  child.output = output[0];
  child.errors = errors[0];
  for (int descriptor : {child.channel, child.output, child.errors}) {
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
  }
  child.running = child.process > 0;
  if (child.running) {
    child.key = random_key();
    child.running = send(child.channel, child.key.data(), child.key.size(), MSG_NOSIGNAL) ==
                    static_cast<ssize_t>(child.key.size());
  }
  return child;
}

void keep(Capture& capture, std::string_view bytes, std::size_t limit) {
  capture.bytes += bytes.size();
  std::size_t room = limit - std::min(limit, capture.first.size());
  std::size_t taken = std::min(room, bytes.size());
  capture.first.append(bytes.substr(0, taken));
  capture.last.append(bytes.substr(taken));
  if (capture.last.size() > limit) capture.last.erase(0, capture.last.size() - limit);
}

/// Reads what lies in a stream, at most 4 MB of it, so that one child cannot hold up the others.
void drain(int& descriptor, Capture& capture, std::size_t limit) {
  static char buffer[256 << 10];
  for (int round = 0; round < 16; ++round) {
    ssize_t got = read(descriptor, buffer, sizeof buffer);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return close_end(descriptor);
    keep(capture, {buffer, static_cast<std::size_t>(got)}, limit);
  }
}

void kill_child(Child& child, Ended why) {
  if (!child.running) return;
  if (child.run.ended == Ended::not_started) child.run.ended = why;
  kill(-child.process, SIGKILL);
  kill(child.process, SIGKILL);  // it may not have reached setsid
}

void tell(const Child& child, FrameType type, std::string_view payload) {
  if (!child.running || child.channel < 0) return;
  std::string bytes = encode(child.key, type, payload);
  // Small, and a child that does not read is one that will be killed: what does not fit is dropped.
  (void)!send(child.channel, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// Something else than the step wrote on its socket.
void distrust(Child& child) {
  if (child.run.ended == Ended::not_started) child.run.ended = Ended::forged;
  kill_child(child, Ended::forged);
  child.received.clear();
  close_end(child.channel);
}

/// The children of this probe, and what is known of those of others.
struct Family {
  std::vector<Child> children;
  const Elsewhere* elsewhere = nullptr;
  bool failed_elsewhere = false;
};

void take_frame(Family& family, Child& from, const Frame& frame) {
  bool of_a_step = frame.type == FrameType::result || frame.type == FrameType::stage ||
                   frame.type == FrameType::share;
  if (from.whole_answer || !of_a_step) return distrust(from);
  if (frame.type == FrameType::stage) from.run.stage = frame.payload.substr(0, 500);
  if (frame.type == FrameType::result) {
    from.whole_answer = true;
    from.run.answer = frame.payload;
  }
  if (frame.type != FrameType::share) return;
  for (Child& sibling : family.children) {
    if (&sibling != &from) tell(sibling, FrameType::share, frame.payload);
  }
  if (family.elsewhere) family.elsewhere->tell(FrameType::share, frame.payload);
}

void take_frames(Family& family, Child& child) {
  while (!child.received.empty()) {
    Frame frame;
    Decoded decoded = decode(child.key, child.received, frame);
    if (decoded == Decoded::incomplete) return;
    if (decoded == Decoded::forged) return distrust(child);
    take_frame(family, child, frame);
  }
}

void listen(Family& family, Child& child) {
  char buffer[64 << 10];
  while (child.channel >= 0) {
    ssize_t got = recv(child.channel, buffer, sizeof buffer, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return close_end(child.channel);
    child.received.append(buffer, static_cast<std::size_t>(got));
    take_frames(family, child);
  }
}

void wait_for_words(const Family& family, int milliseconds) {
  std::vector<pollfd> waiting;
  if (family.elsewhere) {
    for (int descriptor : family.elsewhere->descriptors())
      waiting.push_back({descriptor, POLLIN, 0});
  }
  for (const Child& child : family.children) {
    for (int descriptor : {child.channel, child.output, child.errors}) {
      if (descriptor >= 0) waiting.push_back({descriptor, POLLIN, 0});
    }
  }
  poll(waiting.data(), waiting.size(), milliseconds);
}

/// How a child that ended by itself ended.
Ended verdict(const Child& child, int status) {
  if (WIFSIGNALED(status)) return Ended::signalled;
  if (child.whole_answer && !child.received.empty())
    return Ended::forged;  // half a frame behind it
  bool known = WEXITSTATUS(status) == step_passed || WEXITSTATUS(status) == step_did_not_pass;
  return child.whole_answer && known ? Ended::answered : Ended::exited;
}

/// True once the child is gone.
bool reap(Family& family, Child& child, Clock::time_point started, const ChildLimits& limits) {
  int status = 0;
  if (!child.running || waitpid(child.process, &status, WNOHANG) != child.process) {
    return !child.running;
  }
  child.running = false;
  child.run.seconds = since(started);
  child.run.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  kill(-child.process, SIGKILL);
  listen(family, child);  // its last words, before it is judged
  if (child.output >= 0) drain(child.output, child.run.output, limits.kept_bytes);
  if (child.errors >= 0) drain(child.errors, child.run.errors, limits.kept_bytes);
  if (child.run.ended == Ended::not_started) child.run.ended = verdict(child, status);
  return true;
}

bool failed(const Child& child) {
  bool passed = child.run.ended == Ended::answered && child.run.code == step_passed;
  return !child.running && !passed;
}

/// Killed by the probe and not yet gone.
bool killed(const Child& child) { return child.running && child.run.ended != Ended::not_started; }

void report_progress(const std::vector<Child>& children, double elapsed,
                     const ChildLimits& limits) {
  auto running = std::find_if(children.begin(), children.end(),
                              [](const Child& child) { return child.running; });
  if (limits.watch && running != children.end()) limits.watch(elapsed, running->run.stage);
}

void hear_elsewhere(Family& family) {
  for (const Frame& frame : family.elsewhere->hear()) {
    if (frame.type == FrameType::abort) family.failed_elsewhere = true;
    if (frame.type != FrameType::share) continue;
    for (Child& child : family.children) tell(child, FrameType::share, frame.payload);
  }
}

/// Hears every child out and reaps those that ended. True once all are gone.
bool look_after(Family& family, Clock::time_point started, const ChildLimits& limits) {
  bool all_gone = true;
  if (family.elsewhere) hear_elsewhere(family);
  for (Child& child : family.children) {
    listen(family, child);
    if (child.output >= 0) drain(child.output, child.run.output, limits.kept_bytes);
    if (child.errors >= 0) drain(child.errors, child.run.errors, limits.kept_bytes);
    if (!reap(family, child, started, limits)) all_gone = false;
  }
  return all_gone;
}

void hold_to_limits(std::vector<Child>& children, double elapsed, bool one_failed,
                    const ChildLimits& limits) {
  for (Child& child : children) {
    if (interrupted_by) kill_child(child, Ended::interrupted);
    // After a sibling's failure, waiting is no fault of its own.
    if (elapsed > limits.seconds) kill_child(child, one_failed ? Ended::stopped : Ended::timeout);
    if (child.run.output.bytes + child.run.errors.bytes > limits.output_bytes) {
      kill_child(child, Ended::flood);
    }
  }
}

/// Kills what children left behind, until nothing is left or a second has passed.
std::vector<std::string> sweep() {
  Clock::time_point start = Clock::now();
  while (true) {
    std::vector<Process> rest = descendants(getpid());
    std::erase_if(rest, [](const Process& each) { return strangers.contains(each.id); });
    if (rest.empty()) return {};
    std::vector<std::string> named;
    for (const Process& each : rest) {
      kill(each.id, SIGKILL);
      if (waitpid(each.id, nullptr, WNOHANG) == each.id) continue;
      named.push_back(fmt::format("process {} ({}) in state {}", each.id, each.name, each.state));
    }
    if (since(start) > 0.4) return named;
    usleep(1000);
  }
}

}  // namespace

void adopt_orphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (const Process& each : descendants(getpid())) strangers.insert(each.id);
}

std::vector<ChildRun> run_children(const std::vector<ChildSpec>& specs, const ChildLimits& limits,
                                   const Elsewhere* elsewhere) {
  Clock::time_point started = Clock::now();
  Family family;
  family.elsewhere = elsewhere;
  std::vector<Child>& children = family.children;
  for (const ChildSpec& spec : specs) children.push_back(start(spec));

  double failure_at = -1, killed_at = -1;
  while (!look_after(family, started, limits)) {
    double elapsed = since(started);
    hold_to_limits(children, elapsed, failure_at >= 0, limits);
    bool one_failed = std::any_of(children.begin(), children.end(), failed);
    if (failure_at < 0 && (one_failed || family.failed_elsewhere)) {
      failure_at = elapsed;
      for (const Child& child : children) tell(child, FrameType::abort, "");
      if (elsewhere && one_failed) elsewhere->tell(FrameType::abort, "");
    }
    if (failure_at >= 0 && elapsed > failure_at + limits.grace_seconds) {
      for (Child& child : children) kill_child(child, Ended::stopped);
    }
    if (killed_at < 0 && std::any_of(children.begin(), children.end(), killed)) killed_at = elapsed;
    // A process inside the driver may outlive SIGKILL for as long as the driver likes.
    if (killed_at >= 0 && elapsed > killed_at + 0.5) break;
    report_progress(children, elapsed, limits);
    wait_for_words(family, 20);
  }
  // The only child of a host may have failed in the last look.
  bool unheard = failure_at < 0 && std::any_of(children.begin(), children.end(), failed);
  if (elsewhere && unheard) elsewhere->tell(FrameType::abort, "");

  std::vector<std::string> left = sweep();
  std::vector<ChildRun> runs;
  for (Child& child : children) {
    for (int* end : {&child.channel, &child.output, &child.errors}) close_end(*end);
    if (child.running) child.run.seconds = since(started);
    child.run.left = left;
    runs.push_back(std::move(child.run));
  }
  return runs;
}

}  // namespace wheelvet::probe
