// What the probe is told of an environment or wheel before it asks the GPUs: which libraries a
// process would load, where device code lies and what the driver should make of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace wheelvet {

struct ProbeWish {
  std::string environment;          ///< prefix, or empty
  std::string package;              ///< of the environment; its device code and roots are asked
  std::vector<std::string> wheels;  ///< their device code is asked
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

struct ProbeContainer {
  std::uint64_t offset = 0, size = 0;  ///< in the file, in bytes
  /// Compute capability ("9.0") -> the image that the driver should take ("sm_90a"), or "none".
  std::map<std::string, std::string> predicted;
  std::vector<std::string> kernels;  ///< mangled
};

/// One library with device code that can be loaded as it is.
struct ProbeCode {
  std::string library;    ///< installed path
  std::string file;       ///< its bytes; of a wheel's member a descriptor of this process
  bool optional = false;  ///< one of several builds for different GPUs
  std::vector<ProbeContainer> containers;
};

struct ProbeOpen {
  std::string path;
  bool global = false, optional = false, lazy = false;
};

/// One root, to be opened by the environment's own interpreter.
struct ProbeLoad {
  std::string root;       ///< installed path
  std::string predicted;  ///< "loads", or "fails: ..."
  std::string python;
  std::vector<ProbeOpen> opens;
  std::vector<std::string> objects;  ///< paths of all files that are then in the process
};

struct ProbeJob {
  std::vector<std::string> notes;
  std::map<std::string, std::string> libraries;  ///< "libnvrtc" -> the path that a root loads
  std::vector<ProbeCode> code;
  std::vector<ProbeLoad> loads;
};

/// WrongUsage when the environment or the package is not there. Descriptors of wheels' members stay
/// open, for whatever program takes this one's place.
ProbeJob make_probe_job(const ProbeWish& wish);

std::string render_probe_job(const ProbeJob& job);

}  // namespace wheelvet
