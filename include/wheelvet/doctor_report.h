// What `doctor` says, as data.
#pragma once

#include <string>
#include <vector>

#include "wheelvet/finding.h"
#include "wheelvet/problem.h"
#include "wheelvet/report.h"

namespace wheelvet {

struct DoctorToolkit {
  std::string path, kind, release, nvcc;
  std::vector<std::string>
      picked_by;  ///< "flashinfer by CUDA_HOME (/etc/environment:2), interactive"
};

struct DoctorSetting {
  std::string start, name, given, effective, from, note;
};

struct DoctorCache {
  std::string kind, path, made_for;
  std::uint64_t bytes = 0;
  std::size_t libraries = 0;
};

/// A line of a verification list.
struct VerificationLine {
  std::string name;  ///< "packages.torch"
  std::string wanted, found;
  bool met = false;
};

/// A file that --write-fix wrote.
struct WrittenFix {
  std::string path;                  ///< below DIR
  std::string replaces;              ///< the path on the machine; empty: none
  std::vector<std::string> settles;  ///< ids
};

struct DoctorReport {
  std::string headline;
  bool complete = true;
  std::string machine;      ///< "this machine" or the root
  std::string environment;  ///< prefix, or empty
  std::string python, torch, torch_cuda, driver, libcuda, nccl;
  std::vector<std::string> gpus;
  std::vector<std::string> starts;
  std::vector<DoctorToolkit> toolkits;
  std::vector<DoctorSetting> settings;  ///< of NCCL
  std::vector<DoctorCache> caches;
  std::vector<VerificationLine> expectations;
  std::vector<WrittenFix> written;
  std::vector<Finding> findings;
  std::vector<Problem> problems;
  std::vector<std::string> scope;
  std::string configuration;  ///< the file that was obeyed, or empty
  Stats stats;
};

}  // namespace wheelvet
