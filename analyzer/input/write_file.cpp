#include "input/write_file.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

[[noreturn]] void refuse(const std::string& path, const char* what, int error) {
  std::string reason = std::generic_category().message(error);
  throw Unreadable(Problem{path, {}, {}, std::nullopt, std::string(what) + ": " + reason});
}

}  // namespace

void write_file(const std::string& path, std::string_view bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) refuse(path, "could not be opened", errno);
  bool ok =
      std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() && std::fflush(file) == 0;
  int error = errno;
  if (std::fclose(file) != 0 && ok) {
    ok = false;
    error = errno;
  }
  if (ok) return;
  std::error_code ignored;  // a device stays
  if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
  refuse(path, "could not be written", error);
}

}  // namespace wheelvet
