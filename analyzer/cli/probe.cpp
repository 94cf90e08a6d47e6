// The probe is a program of its own, which links nothing that this one needs: it takes this one's
// place.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/commands.h"
#include "wheelvet/problem.h"

namespace wheelvet::cli {

int run_probe(const Options& options) {
  std::error_code error;
  std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  std::string program = (own.parent_path() / "wheelvet-probe").string();
  std::vector<std::string> arguments = options.targets;
  std::vector<char*> pointers{program.data()};
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  // Still here: it is not there, or cannot be started.
  throw Unreadable({program, {}, {}, std::nullopt, std::strerror(errno)});
}

}  // namespace wheelvet::cli
