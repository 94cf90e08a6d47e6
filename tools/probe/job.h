// What `wheelvet` knows of the environment or wheel and hands to the probe: where device code lies,
// what the driver should make of it, and what a process should hold once a root is opened.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace wheelvet::probe {

struct CodeContainer {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // bytes
  /// By compute capability ("9.0"): the image that the driver should take ("sm_90a", "compute_80"),
  /// or "none".
  std::map<std::string, std::string> predicted;
  std::vector<std::string> kernels;  // mangled; empty when they are not known
};

struct CodeLibrary {
  std::string library;    // installed path, for people
  std::string file;       // its bytes: a path of this process
  bool optional = false;  // one of several builds for different GPUs
  std::vector<CodeContainer> containers;
};

struct PlannedOpen {
  std::string path;
  bool global = false;
  bool optional = false;  // its failure is swallowed by whoever asks
  bool lazy = false;      // RTLD_LAZY
};

struct PlannedLoad {
  std::string root;       // installed path, for people
  std::string predicted;  // "loads", or why not
  std::string python;     // the environment's interpreter
  std::vector<PlannedOpen> opens;
  std::vector<std::string> objects;  // paths that are then mapped
};

struct Job {
  std::vector<std::string> notes;
  std::vector<CodeLibrary> code;
  std::vector<PlannedLoad> loads;
};

/// Throws std::runtime_error for a file that is none.
Job read_job(const std::string& path);

}  // namespace wheelvet::probe
