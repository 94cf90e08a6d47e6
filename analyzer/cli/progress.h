#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

namespace wheelvet::cli {

/// One line on a terminal's standard error for work that takes longer than a second; nothing
/// otherwise. Must outlive the callback.
class Progress {
 public:
  explicit Progress(bool wanted);
  /// Empty when standard error is no terminal.
  std::function<void(std::uint64_t done, std::uint64_t total)> callback();
  void end() const;

 private:
  void show(std::uint64_t done, std::uint64_t total);

  bool wanted_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<std::int64_t> next_{1000};  // milliseconds after start
  std::atomic<bool> shown_{false};
};

}  // namespace wheelvet::cli
