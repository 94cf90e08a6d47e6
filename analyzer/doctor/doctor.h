// `doctor` on one screen: facts of the host, checks, report.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "wheelvet/doctor_report.h"
#include "wheelvet/host.h"

namespace wheelvet {

struct DoctorRequest {
  std::string environment;         ///< prefix; empty: the host alone
  std::string sysroot;             ///< empty: this machine
  std::string user;                ///< whose home and rights; empty: this user, below a root "root"
  std::vector<std::string> units;  ///< files that describe further starts
  std::vector<std::string> records;  ///< of probe --tune
  std::string python;                ///< release, where the prefix has several
  bool parse_with_python = false;    ///< the environment's interpreter parses the site files
  std::string write_fix;             ///< folder, or empty
  std::string expect;                ///< verification list, or empty
  std::string record;                ///< file to write one to, or empty
  unsigned jobs = 0;
  std::function<void(std::vector<Finding>&)> gate;  ///< what a project says of findings, or empty
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

DoctorReport examine(const DoctorRequest& request);

}  // namespace wheelvet
