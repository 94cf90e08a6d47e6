#include "machine/own_program.h"

#include <sys/auxv.h>

#include <filesystem>

namespace wheelvet {

std::string own_program() {
  std::error_code error;
  std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) return own.string();
  auto started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return started ? started : "";
}

}  // namespace wheelvet
