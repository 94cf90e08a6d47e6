// A Python environment: its interpreter and the folders on its sys.path.
#pragma once

#include <string>
#include <vector>

#include "wheelvet/problem.h"

namespace wheelvet {

/// Paths are as a process on the machine sees them.
struct Environment {
  std::string prefix;
  std::string interpreter;         ///< the program, links resolved; empty when the prefix has none
  std::string python;              ///< "3.12", "3.13t"
  std::string site;                ///< where pip installs
  std::vector<std::string> roots;  ///< folders of packages, in the order of sys.path, each once
  std::vector<std::string> packages;  ///< folders of editable packages, outside those
  std::string extensions;             ///< lib-dynload of the standard library, or empty
  std::vector<Problem> problems;      ///< what of sys.path could not be followed
};

/// Finds the environment at `prefix` (a venv, a conda or system prefix) by files alone: the layout
/// of Lib/sysconfig and Lib/site.py, pyvenv.cfg (PEP 405), .pth files, and the mapping in the
/// finders that setuptools writes for editable installs. WrongUsage when there is none, or when
/// there are several Pythons and nothing says which one is meant.
/// `python`: the release wanted ("3.12"), empty for any.
Environment find_environment(const std::string& root, const std::string& prefix,
                             const std::string& python = {});

}  // namespace wheelvet
