#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace wheelvet::cli {

Progress::Progress(bool wanted) : wanted_(wanted && ::isatty(STDERR_FILENO)) {}

std::function<void(std::uint64_t, std::uint64_t)> Progress::callback() {
  if (!wanted_) return {};
  return [this](std::uint64_t done, std::uint64_t total) { show(done, total); };
}

void Progress::show(std::uint64_t done, std::uint64_t total) {
  using namespace std::chrono;
  std::int64_t now = duration_cast<milliseconds>(steady_clock::now() - start_).count();
  std::int64_t due = next_.load();
  if (now < due || !next_.compare_exchange_strong(due, now + 200)) return;
  fmt::print(stderr, "\r\x1b[Kreading: {} of {} MB", done / 1000000, total / 1000000);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::end() const {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

}  // namespace wheelvet::cli
