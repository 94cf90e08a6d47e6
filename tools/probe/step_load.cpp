// A root of the environment, opened by its own Python in the planned order; what is then mapped.
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>

#include "job.h"
#include "steps.h"

namespace wheelvet::probe {
namespace {

// Opens libraries as Python opens modules (RTLD_NOW, but where the plan says otherwise), tells each
// before and after, and then what the process has mapped. Neither site-packages nor sitecustomize
// takes part: -I -S -B.
constexpr const char* script = R"(
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: it ends with the probe
if os.getppid() != int(sys.argv[2]):  # which was gone before that
    os._exit(1)
def say(*words):
    line = "\t".join(word.replace("\t", " ").replace("\n", " ") for word in words)
    os.write(int(sys.argv[1]), (line + "\n").encode("utf-8", "surrogateescape"))
for each in sys.argv[3:]:
    path = each[3:]
    say("open", path)
    try:
        scope = ctypes.RTLD_GLOBAL if each[0] == "g" else ctypes.RTLD_LOCAL
        ctypes.CDLL(path, mode=scope | (os.RTLD_LAZY if each[2] == "z" else os.RTLD_NOW))
    except OSError as error:
        say("failed", path, str(error))
        if each[1] == "-":
            break
with open("/proc/self/maps", errors="surrogateescape") as maps:
    for path in sorted({line.split(None, 5)[5].rstrip("\n") for line in maps if "/" in line}):
        say("mapped", path)
say("end")
sys.stdout.flush()
os._exit(0)
)";

struct Opened {
  std::string at;      // the last library that it began to open
  std::string failed;  // the loader's words for the one that ended it
  std::set<std::string> mapped;
  bool ended = false;
};

std::string real_path(const std::string& path) {
  char* real = realpath(path.c_str(), nullptr);
  std::string out = real ? real : path;
  std::free(real);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& each : strings) out.push_back(each.data());
  out.push_back(nullptr);
  return out;
}

pid_t start_python(const PlannedLoad& load, int output) {
  std::vector<std::string> arguments{load.python,
                                     "-I",
                                     "-S",
                                     "-B",
                                     "-c",
                                     script,
                                     std::to_string(output),
                                     std::to_string(getpid())};
  for (const PlannedOpen& open : load.opens) {
    arguments.push_back(std::string(open.global ? "g" : "l") + (open.optional ? "?" : "-") +
                        (open.lazy ? "z" : "n") + open.path);
  }
  std::vector<char*> argv = pointers(arguments);
  pid_t process = -1;
  int code = posix_spawn(&process, load.python.c_str(), nullptr, nullptr, argv.data(), environ);
  if (code == 0) return process;
  throw StepEnds(Outcome::fail,
                 fmt::format("{} cannot be started: {}", load.python, std::strerror(code)));
}

void take_line(Step& step, const std::string& line, Opened& opened) {
  std::size_t tab = line.find('\t');
  std::string word = line.substr(0, tab);
  std::string rest = tab == std::string::npos ? "" : line.substr(tab + 1);
  if (word == "open") {
    opened.at = rest;
    opened.failed.clear();  // what failed before was optional
    about_to(step, "open " + rest);
  } else if (word == "failed") {
    opened.failed = rest.substr(std::min(rest.find('\t'), rest.size() - 1) + 1);
  } else if (word == "mapped") {
    opened.mapped.insert(rest);
  } else if (word == "end") {
    opened.ended = true;
  }
}

Opened listen(Step& step, int input) {
  Opened opened;
  std::string buffer;
  char chunk[16384];
  while (!opened.ended) {
    ssize_t got = read(input, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    buffer.append(chunk, static_cast<std::size_t>(got));
    for (std::size_t end; (end = buffer.find('\n')) != std::string::npos;) {
      take_line(step, buffer.substr(0, end), opened);
      buffer.erase(0, end + 1);
    }
    if (buffer.size() > (1u << 20)) break;
  }
  return opened;
}

/// A library may end the process that opens it.
void judge_end(const Opened& opened, int status) {
  if (WIFSIGNALED(status)) {
    throw StepEnds(Outcome::fail,
                   fmt::format("opening {} ended the process by signal {} (SIG{})", opened.at,
                               WTERMSIG(status), sigabbrev_np(WTERMSIG(status))));
  }
  if (opened.ended) return;
  throw StepEnds(Outcome::fail, fmt::format("opening {} ended the process with exit code {}",
                                            opened.at, WEXITSTATUS(status)));
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Where a library of that name came from instead.
std::string found_elsewhere(const std::set<std::string>& mapped, const std::string& path) {
  for (const std::string& each : mapped) {
    if (file_name(each) == file_name(path)) return each;
  }
  return "not mapped";
}

void compare_maps(Step& step, const PlannedLoad& load, const Opened& opened) {
  std::set<std::string> mapped;
  for (const std::string& path : opened.mapped) mapped.insert(real_path(path));
  std::size_t there = 0;
  std::set<std::string> planned;
  std::vector<Check>& checks = step.answer.checks;
  for (const std::string& path : load.objects) {
    std::string real = real_path(path);
    planned.insert(real);
    if (mapped.contains(real)) {
      ++there;
    } else {
      checks.push_back({"mapped", path, found_elsewhere(mapped, real), false, "library"});
    }
  }
  checks.push_back({"objects of the plan", fmt::format("{} mapped", load.objects.size()),
                    fmt::format("{} mapped", there), there == load.objects.size(), "library"});
  for (const std::string& path : mapped) {
    // What constructors and Python itself opened besides is told and no fault of the plan.
    bool library = file_name(path).find(".so") != std::string::npos;
    if (library && !planned.contains(path))
      step.answer.libraries.push_back({file_name(path), path, ""});
  }
}

}  // namespace

void run_load(Step& step) {
  Job job = read_job(step.request.job);
  const PlannedLoad& load = job.loads.at(static_cast<std::size_t>(step.request.item));
  int ends[2];
  if (pipe(ends) != 0) throw StepEnds(Outcome::fail, "no pipe");
  pid_t process = start_python(load, ends[1]);
  close(ends[1]);
  Opened opened = listen(step, ends[0]);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  judge_end(opened, status);
  bool loads = opened.failed.empty();
  std::string observed = loads ? "loads" : opened.failed;
  // Why it fails is the loader's first reason and one of ours: that both fail is what is compared.
  bool agrees = loads == (load.predicted == "loads");
  step.answer.checks.push_back({load.root, load.predicted, observed, agrees, "library"});
  if (loads) return compare_maps(step, load, opened);
  throw StepEnds(Outcome::fail, fmt::format("{}{}", observed, agrees ? ", as predicted" : ""));
}

}  // namespace wheelvet::probe
