#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "report.h"

namespace wheelvet::probe {
namespace {

bool shown = false;

std::size_t columns() {
  winsize size{};
  bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

}  // namespace

bool shows_progress(bool quiet) { return !quiet && isatty(STDERR_FILENO); }

void show_progress(const std::string& what, double seconds, const std::string& stage) {
  if (seconds < 1) return;
  std::string line = fmt::format("{}  {:.0f} s", what, seconds);
  if (!stage.empty()) line += ": " + printable(stage);
  // A line that wraps could not be taken back.
  line.resize(std::min(line.size(), columns() - 1));
  fmt::print(stderr, "\r\033[K{}", line);
  shown = true;
}

void clear_progress() {
  if (shown) fmt::print(stderr, "\r\033[K");
  shown = false;
}

}  // namespace wheelvet::probe
