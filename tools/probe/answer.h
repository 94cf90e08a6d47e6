// What a step answers: plain data that crosses from the child that ran it to the parent, as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace wheelvet::probe {

enum class Outcome { pass, fail, not_run, not_asked, interrupted };

/// A call of a library that did not succeed.
struct CallError {
  std::string call;
  int code = 0;
  std::string name;  // as the library names the code; empty when it does not
  std::string text;
};

/// A shared object in the step's process.
struct LoadedLibrary {
  std::string name;
  std::string path;     // as the loader resolved it
  std::string version;  // what the library said itself; empty when it was not asked
};

/// One expectation beside what was seen.
struct Check {
  std::string subject;
  std::string predicted;
  std::string observed;
  bool agrees = false;
  std::string kind = {};  // library, image, communicator: rows of the report's table; or empty
};

struct DeviceFacts {
  int index = 0;
  std::string name;
  std::string uuid;
  std::string pci;
  int capability_major = 0;
  int capability_minor = 0;
  std::uint64_t memory = 0;  // bytes
  int multiprocessors = 0;
  std::string compute_mode;
  bool ecc = false;
  // Known with NVML only.
  std::optional<bool> persistence;
  std::optional<bool> mig;
  std::optional<std::uint64_t> uncorrected_errors;  // since the driver was loaded
  std::optional<int> active_nvlinks;
};

struct LinkFacts {
  int from = 0;
  int to = 0;
  bool peer_access = false;
  bool atomics = false;
  int performance_rank = 0;
  std::string
      type;  // NVLINK, PIX, PXB, PHB, NODE, SYS as nvidia-smi topo names them; empty without NVML
};

/// A collective at one size.
struct Figure {
  std::string collective;
  std::uint64_t bytes = 0;
  int ranks = 0;
  double microseconds = 0;
  double algorithm_gb_s = 0;
  std::optional<double> bus_gb_s;  // of more than one rank
  bool correct = false;
};

/// What NCCL's own log says.
struct NcclLog {
  std::string version;
  int channels = 0;
  std::vector<std::string> transports;
  std::string network;
  std::vector<std::string> settings;  // environment variables that NCCL says it read
  std::vector<std::string> warnings;
};

struct DriverFacts {
  std::string version;  // of the kernel driver, such as 580.95.05; empty when nothing tells it
  int cuda = 0;         // 1000 * major + 10 * minor
};

struct Answer {
  Outcome outcome = Outcome::pass;
  std::string reason;
  std::optional<CallError> error;
  std::optional<DriverFacts> driver;
  std::vector<DeviceFacts> devices;
  std::vector<LinkFacts> links;
  std::vector<LoadedLibrary> libraries;
  std::vector<Check> checks;
  std::vector<Figure> figures;
  std::optional<NcclLog> nccl;
};

/// Ends a step early. Caught in one place, step.cpp.
struct StepEnds : std::runtime_error {
  StepEnds(Outcome why, const std::string& reason, std::optional<CallError> failed = std::nullopt)
      : std::runtime_error(reason), outcome(why), error(std::move(failed)) {}
  Outcome outcome;
  std::optional<CallError> error;
};

}  // namespace wheelvet::probe
