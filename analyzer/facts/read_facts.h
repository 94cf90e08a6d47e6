// Reads the facts of every member that matters to the loader, in parallel.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "wheelvet/facts.h"
#include "wheelvet/input.h"

namespace wheelvet {

/// How much of the targets' device code is read.
enum class DeviceDepth { nothing, headers, kernels };

struct ReadOptions {
  unsigned jobs = 0;  ///< threads; 0 is one per processor
  bool hash = false;  ///< read every member of a wheel and compare it with the sha256 in RECORD
  /// Called with bytes done and bytes in all, from any thread, at most every few hundred kB.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
  DeviceDepth device = DeviceDepth::nothing;
  /// Whose device code is read, by index; empty: that of the targets.
  std::set<std::size_t> device_inputs = {};
};

/// Facts of all inputs, in their order, whatever the number of threads. A member that cannot be
/// read becomes a Problem of its file; the others are read all the same.
Facts read_facts(const std::vector<Input>& inputs, const ReadOptions& options);

/// Facts of one file on this host. What cannot be read becomes its Problem.
FileFacts read_library(const std::string& host_path);

}  // namespace wheelvet
