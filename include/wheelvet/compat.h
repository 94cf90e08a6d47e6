// Which releases of torch a wheel works with, and whether its metadata says so.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "wheelvet/finding.h"
#include "wheelvet/report.h"

namespace wheelvet {

/// The wheel beside one release of torch.
struct CompatRelease {
  std::string version;  ///< "2.9.1"
  std::string label;    ///< of the build judged: "2.9.1+cu128"
  std::string cuda;     ///< of that build: "12.8", or empty
  std::string python;   ///< its Requires-Python
  Status status = Status::loads;
  bool python_fits = true;    ///< it and the wheel have an interpreter in common
  bool permitted = true;      ///< by the wheel's Requires-Dist
  bool only_cuda = false;     ///< fails, but for CUDA libraries of another release alone
  std::vector<Status> roots;  ///< in the order of Compat::roots
};

struct CompatRoot {
  std::string path;  ///< installed path
  std::string name;
  bool module = false;
  std::string loads_with;    ///< "2.9.0 to 2.9.1"; empty: with none
  bool aside = false;        ///< fails with every release for a reason that is not torch's
  bool stable_abi = false;   ///< imports nothing of torch's but its stable C interface
  std::string stable_since;  ///< the first release that has all of those it imports
  std::string stable_by;     ///< one that the release before does not have
};

/// The release next to the window, and what keeps the wheel from loading with it.
struct CompatBound {
  std::string side;     ///< "lower" or "upper"
  std::string version;  ///< the release that fails
  std::vector<Finding> findings;
};

/// The least that a host needs, and what asks for it.
struct CompatFloor {
  std::string what;   ///< "Python", "glibc", "GLIBCXX", "CUDA", "NCCL"
  std::string least;  ///< "2.28"
  std::string by;     ///< "torch 2.9.0", "flash_ops needs GLIBC_2.27"
};

struct Compat {
  std::string package;  ///< "sgl-kernel 0.3.21"
  std::string machine;
  std::string pythons;  ///< interpreters of its tags: "3.10", "3.10 and newer"
  bool needs_torch = false;
  bool complete = true;  ///< no release is undecided, nothing was left unread
  std::string headline;
  std::string window;    ///< "2.9.0 to 2.9.1"
  std::string declared;  ///< the Requires-Dist of torch, as written; empty for none
  std::string pin;       ///< the requirement to write; empty when nothing is known to fit
  std::string history;   ///< "2.1.0 to 2.15.0"
  std::vector<CompatRelease> releases;  ///< oldest first
  std::vector<CompatRoot> roots;
  std::vector<CompatBound> bounds;
  std::vector<CompatFloor> floors;
  std::vector<Finding> findings;  ///< errors first
  std::vector<Problem> problems;
  std::vector<std::string> scope;
  Stats stats;
};

}  // namespace wheelvet
