#include "input/index_wheel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "facts/metadata.h"
#include "facts/python_version.h"
#include "wheelvet/facts.h"
#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_written = 256u << 10;  // of pip's words; the end tells the reason
constexpr int cannot_start = 127;

[[noreturn]] void refuse(const std::string& what, const std::string& reason) {
  throw Unreadable(Problem{what, {}, {}, std::nullopt, reason});
}

bool name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

std::string text_of(const IndexRequirement& requirement) {
  return requirement.name + "==" + requirement.version;
}

std::string target_text(const WheelPlatform& platform) {
  return fmt::format("CPython {} on {}", platform.python, platform.machine);
}

fs::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache == '/') return fs::path(cache) / "wheelvet" / "wheels";
  const char* home = std::getenv("HOME");
  if (!home || *home != '/') refuse("cache", "neither XDG_CACHE_HOME nor HOME names a folder");
  return fs::path(home) / ".cache" / "wheelvet" / "wheels";
}

// Held as long as the object lives.
class Lock {
 public:
  explicit Lock(const std::string& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_ < 0) refuse(path, std::generic_category().message(errno));
    while (::flock(file_, LOCK_EX) != 0) {
      if (errno != EINTR) refuse(path, std::generic_category().message(errno));
    }
  }
  ~Lock() { ::close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

// While pip works, an interruption is its to answer; afterwards this program ends by it as well,
// when nothing half is left.
class PatientWithSignals {
 public:
  PatientWithSignals() : old_(std::signal(SIGINT, SIG_IGN)) {}
  ~PatientWithSignals() { std::signal(SIGINT, old_); }
  PatientWithSignals(const PatientWithSignals&) = delete;
  PatientWithSignals& operator=(const PatientWithSignals&) = delete;

 private:
  void (*old_)(int);
};

struct Outcome {
  int status = 0;       // as waitpid gives it
  std::string written;  // the end of standard error
};

[[noreturn]] void become(std::vector<char*>& arguments, int errors, bool show) {
  std::signal(SIGINT, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // a parent that is killed takes it along
  int output = show ? STDERR_FILENO : ::open("/dev/null", O_WRONLY);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  ::execvp(arguments[0], arguments.data());
  ::_exit(cannot_start);
}

// The end of what the child writes.
std::string read_all(int from) {
  std::string written;
  std::array<char, 4096> buffer;
  for (;;) {
    ssize_t n = ::read(from, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return written;
    written.append(buffer.data(), static_cast<std::size_t>(n));
    if (written.size() > 2 * most_written) written.erase(0, written.size() - most_written);
  }
}

Outcome run(std::vector<std::string> command, bool show) {
  std::vector<char*> arguments;
  for (std::string& each : command) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) refuse("pip", std::generic_category().message(errno));
  PatientWithSignals patient;
  pid_t child = ::fork();
  if (child < 0) refuse("pip", std::generic_category().message(errno));
  if (child == 0) become(arguments, ends[1], show);
  ::close(ends[1]);
  Outcome out;
  out.written = read_all(ends[0]);
  ::close(ends[0]);
  while (::waitpid(child, &out.status, 0) < 0 && errno == EINTR) {
  }
  return out;
}

std::string wheel_in(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".whl") return entry.path().string();
  }
  return {};
}

// The line that begins so, without that.
std::string line_after(std::string_view text, std::string_view beginning) {
  std::size_t at = text.rfind(beginning);
  if (at == std::string_view::npos) return {};
  std::string_view rest = text.substr(at + beginning.size());
  return std::string(trimmed(rest.substr(0, rest.find('\n'))));
}

// The last of the versions that pip lists, which are the newest.
std::string last_versions(std::string_view list) {
  constexpr std::size_t most = 12;
  std::vector<std::string> all;
  while (!list.empty()) {
    std::size_t comma = list.find(',');
    all.emplace_back(trimmed(list.substr(0, comma)));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  std::size_t first = all.size() > most ? all.size() - most : 0;
  return fmt::format("{}{}", first ? "... " : "",
                     fmt::join(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(), ", "));
}

void download(const IndexRequirement& requirement, const WheelPlatform& platform,
              const fs::path& part, bool show) {
  std::vector<std::string> command = {"python3"};
  for (std::string& argument : pip_arguments(requirement, platform, part.string())) {
    command.push_back(std::move(argument));
  }
  if (!show) command.insert(command.end(), {"--progress-bar", "off"});
  Outcome outcome = run(std::move(command), show);
  if (WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 0) return;
  std::error_code ignored;
  fs::remove_all(part, ignored);
  if (WIFSIGNALED(outcome.status)) {
    int signal = WTERMSIG(outcome.status);
    if (signal == SIGINT) std::raise(SIGINT);  // ends this program too
    refuse(text_of(requirement), fmt::format("pip was ended by signal {}", signal));
  }
  // Python answers SIGINT with an exception, and pip says so.
  if (outcome.written.find("Operation cancelled by user") != std::string::npos) std::raise(SIGINT);
  if (WEXITSTATUS(outcome.status) == cannot_start && outcome.written.empty()) {
    refuse(text_of(requirement), "python3 is not on the PATH; it is needed to run pip");
  }
  std::string reason = pip_failure(outcome.written, requirement, platform);
  if (says_no_such_wheel(outcome.written)) throw WrongUsage(reason);
  refuse(text_of(requirement), reason);
}

}  // namespace

std::optional<IndexRequirement> read_index_requirement(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && name_character(text[end])) ++end;
  std::string_view rest = trimmed(text.substr(end));
  if (end == 0 || rest.empty() || text.find('/') != std::string_view::npos) return std::nullopt;
  IndexRequirement out;
  out.name = normalised_name(text.substr(0, end));
  if (rest.starts_with('[')) {
    std::size_t close = rest.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    std::string_view extras = rest.substr(1, close - 1);
    while (!extras.empty()) {
      std::size_t comma = extras.find(',');
      out.extras.push_back(normalised_name(trimmed(extras.substr(0, comma))));
      extras.remove_prefix(comma == std::string_view::npos ? extras.size() : comma + 1);
    }
    rest = trimmed(rest.substr(close + 1));
  }
  std::optional<std::vector<VersionClause>> clauses = read_specifier(rest);
  if (rest.empty() || !clauses) return std::nullopt;
  bool one =
      clauses->size() == 1 && clauses->front().comparison == "==" && !clauses->front().any_after;
  if (!one) {
    throw WrongUsage(
        fmt::format("{}: name one version, as in {}==1.2.3", std::string(text), out.name));
  }
  out.version = clauses->front().version;
  return out;
}

std::vector<std::string> pip_arguments(const IndexRequirement& requirement,
                                       const WheelPlatform& platform, const std::string& folder) {
  std::string python = platform.python;
  std::string abi = "cp" + python;
  std::erase(abi, '.');
  if (python.ends_with('t')) python.pop_back();
  // -I: neither the working directory nor PYTHONPATH supplies the pip that is run.
  std::vector<std::string> out = {"-I",
                                  "-m",
                                  "pip",
                                  "download",
                                  "--no-deps",
                                  "--only-binary=:all:",
                                  "--retries",
                                  "1",
                                  "--no-input",
                                  "--disable-pip-version-check",
                                  "--implementation",
                                  "cp",
                                  "--abi",
                                  abi,
                                  "--python-version",
                                  python,
                                  "--dest",
                                  folder};
  auto add = [&](const std::string& tag) {
    out.insert(out.end(), {"--platform", tag + "_" + platform.machine});
  };
  // A platform that is named stands for itself alone: all that the newest glibc serves are named,
  // the newest first, as pip orders its own (PEP 600).
  int newest = 0;
  std::string_view minor = std::string_view(platform.glibc).substr(platform.glibc.find('.') + 1);
  std::from_chars(minor.data(), minor.data() + minor.size(), newest);
  constexpr int oldest = 5;
  for (int each = newest; each >= oldest; --each) {
    add(fmt::format("manylinux_2_{}", each));
    if (each == 17) add("manylinux2014");
    if (each == 12) add("manylinux2010");
    if (each == oldest) add("manylinux1");
  }
  add("linux");
  out.push_back(text_of(requirement));
  return out;
}

bool says_no_such_wheel(std::string_view written) {
  for (std::string_view sign : {"Failed to establish a new connection", "Max retries exceeded",
                                "Connection broken", "connection broken", "timed out"}) {
    if (written.find(sign) != std::string_view::npos) return false;
  }
  return written.find("No matching distribution found") != std::string_view::npos;
}

std::string pip_failure(std::string_view written, const IndexRequirement& requirement,
                        const WheelPlatform& platform) {
  if (written.find("No module named pip") != std::string_view::npos) {
    return "python3 on the PATH has no pip; it is needed to download a wheel";
  }
  bool none = written.find("No matching distribution found") != std::string_view::npos;
  if (none && !says_no_such_wheel(written)) {
    return "the index that pip is configured for cannot be reached; give the wheel's file instead";
  }
  if (none) {
    std::string listed = line_after(written, "(from versions: ");
    listed = listed.substr(0, listed.find(')'));
    std::string text = fmt::format("{}: the index has no such wheel for {}", text_of(requirement),
                                   target_text(platform));
    if (listed.empty() || listed == "none") {
      return text + ", and none of any other version";
    }
    return fmt::format("{}; it has {}", text, last_versions(listed));
  }
  std::string error = line_after(written, "ERROR: ");
  return error.empty() ? std::string("pip failed and did not say why") : "pip: " + error;
}

std::string fetch_wheel(const IndexRequirement& requirement, const WheelPlatform& platform,
                        bool show) {
  fs::path cache = cache_folder();
  std::string key = fmt::format("{}-{}-cp{}-{}-glibc{}", requirement.name, requirement.version,
                                platform.python, platform.machine, platform.glibc);
  fs::path kept = cache / key, part = cache / (key + ".part");
  if (std::string known = wheel_in(kept); !known.empty()) return known;
  std::error_code error;
  fs::create_directories(cache, error);
  if (error) refuse(cache.string(), error.message());
  Lock lock((cache / (key + ".lock")).string());
  if (std::string known = wheel_in(kept); !known.empty()) return known;  // another run was faster
  fs::remove_all(part, error);
  fs::create_directory(part, error);
  if (error) refuse(part.string(), error.message());
  download(requirement, platform, part, show);
  fs::rename(part, kept, error);
  if (error) refuse(kept.string(), error.message());
  std::string wheel = wheel_in(kept);
  if (wheel.empty()) refuse(text_of(requirement), "pip left no wheel");
  return wheel;
}

}  // namespace wheelvet
