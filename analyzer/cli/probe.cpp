// The probe is a program of its own, which links nothing that this one needs: it takes this one's
// place once this one has told it what it knows of the environment.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/commands.h"
#include "cli/progress.h"
#include "machine/own_program.h"
#include "probe_job.h"
#include "wheelvet/problem.h"

namespace wheelvet::cli {
namespace {

/// Takes `--name VALUE` or `--name=VALUE` out of the arguments; the last one counts.
std::string take_option(std::vector<std::string>& arguments, const std::string& name) {
  std::string value;
  for (std::size_t i = 0; i < arguments.size();) {
    bool joined = arguments[i].starts_with(name + "=");
    if (!joined && arguments[i] != name) {
      ++i;
      continue;
    }
    if (!joined && i + 1 == arguments.size()) throw WrongUsage("probe: " + name + " needs a value");
    value = joined ? arguments[i].substr(name.size() + 1) : arguments[i + 1];
    auto first = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    arguments.erase(first, first + (joined ? 1 : 2));
  }
  return value;
}

std::string value_of(std::vector<std::string> arguments, const std::string& name) {
  return take_option(arguments, name);
}

bool has(const std::vector<std::string>& arguments, const std::string& word) {
  return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
}

ProbeWish take_wish(std::vector<std::string>& arguments) {
  ProbeWish wish;
  wish.package = take_option(arguments, "--package");
  wish.environment = value_of(arguments, "--env");
  const char* active = std::getenv("VIRTUAL_ENV");
  if (wish.environment.empty() && active) wish.environment = active;
  std::erase_if(arguments, [&](const std::string& argument) {
    bool wheel = argument.ends_with(".whl") && !argument.starts_with('-');
    if (wheel) wish.wheels.push_back(argument);
    return wheel;
  });
  if (!wish.package.empty() && wish.environment.empty()) {
    throw WrongUsage("probe: --package names a package of an environment: give --env PREFIX");
  }
  return wish;
}

/// In memory, without a name, and sealed: no library that the probe opens can change it. The
/// program that takes this one's place inherits it.
std::string hand_over(const std::string& text) {
  int file = memfd_create("wheelvet-job", MFD_ALLOW_SEALING);
  bool whole =
      file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  whole = whole &&
          fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  if (!whole) throw Unreadable({"job of the probe", {}, {}, std::nullopt, std::strerror(errno)});
  return fmt::format("/proc/self/fd/{}", file);
}

void add_job(const ProbeWish& wish, std::vector<std::string>& arguments) {
  ProbeJob job;
  try {
    job = make_probe_job(wish);
  } catch (const WrongUsage& error) {
    // A folder of libraries will do, as long as nothing else was asked of it.
    if (!wish.package.empty() || !wish.wheels.empty()) throw;
    job.notes.push_back(
        fmt::format("no load plan, libraries are looked for in folders: {}", error.what()));
  }
  for (const auto& [library, path] : job.libraries) {
    std::string option = "--" + library.substr(3);
    if (value_of(arguments, option).empty()) arguments.insert(arguments.end(), {option, path});
  }
  arguments.insert(arguments.end(), {"--job", hand_over(render_probe_job(job))});
}

}  // namespace

int run_probe(const Options& options) {
  std::vector<std::string> arguments = options.targets;
  bool asks = has(arguments, "--help") || has(arguments, "-h") || has(arguments, "--version");
  ProbeWish wish = take_wish(arguments);
  Progress progress(!has(arguments, "-q") && !has(arguments, "--quiet"));
  wish.progress = progress.callback();
  if (!asks && !(wish.environment.empty() && wish.wheels.empty())) add_job(wish, arguments);
  progress.end();

  std::filesystem::path folder = std::filesystem::path(own_program()).parent_path();
  std::string program = (folder / "wheelvet-probe").string();
  std::vector<char*> pointers{program.data()};
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  // Still here: it is not there, or has no loader on this system.
  throw Unreadable({program,
                    {},
                    {},
                    std::nullopt,
                    fmt::format("{} (the probe needs glibc 2.34 or newer; the wheel for other "
                                "systems comes without it)",
                                std::strerror(errno))});
}

}  // namespace wheelvet::cli
