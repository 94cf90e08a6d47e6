// The report: what the reader sees, as data. Renderers add nothing to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wheelvet/coverage.h"
#include "wheelvet/cuda.h"
#include "wheelvet/finding.h"
#include "wheelvet/input.h"
#include "wheelvet/link.h"
#include "wheelvet/problem.h"

namespace wheelvet {

enum class Status { loads, undecided, fails };

std::string_view to_string(Status status);

struct ReportInput {
  std::string label;
  std::string kind;  ///< wheel, stub, folder, file
  bool target = false;
  std::vector<std::string> packages;  ///< "torch 2.10.0"
  std::uint64_t size = 0;
  std::string identity;
  std::optional<StubOrigin> origin;
};

struct ReportOpen {
  std::string path;
  bool global = false;    ///< RTLD_GLOBAL
  bool optional = false;  ///< its failure is swallowed by whoever asks
  bool lazy = false;      ///< RTLD_LAZY
};

struct ReportRoot {
  std::string path;     ///< installed path
  std::string name;     ///< short name for people: "sm90/common_ops"
  std::string package;  ///< "sgl-kernel 0.3.21" or empty
  bool module =
      false;  ///< a Python extension module; else a library that nothing in its input needs
  Status status = Status::loads;
  std::string alternatives;                ///< name of the group it is an alternative of, or empty
  bool excused = false;                    ///< fails, but another alternative of its group does not
  std::vector<std::string> imports_first;  ///< "torch"
  std::vector<ReportOpen> opens_first;     ///< installed paths opened after those imports, in order
  std::string opener;       ///< "pkg/ops.py:12", the Python source that opens it, or empty
  std::size_t bound = 0;    ///< imports bound to files of the inputs
  std::size_t assumed = 0;  ///< imports bound to assumed libraries
  std::size_t undecided = 0;
  std::size_t missing = 0;
  std::vector<std::string> missing_libraries;  ///< sonames, in the order they are asked for
  std::vector<std::string> missing_symbols;    ///< mangled, "name@VERSION" where one is wanted
  std::vector<std::string> missing_versions;   ///< "GLIBC_2.38 of libc.so.6"
};

/// An absent library on which the verdict rests.
struct Assumption {
  std::string library;  ///< soname
  std::string kind;     ///< driver, interpreter, system, package
  std::string owner;    ///< what supplies it: "NVIDIA driver", "nvidia-cublas-cu12"
  std::string because;  ///< "declared by torch 2.10.0"
  std::size_t roots = 0;
};

/// Imports that nobody can judge with these inputs.
struct Undecided {
  std::string owner;  ///< the absent library that may own them
  std::size_t count = 0;
  std::vector<std::string> examples;  ///< a few names
  std::vector<std::string> roots;
};

/// A load plan for people and machines: names instead of indices.
struct ReportObject {
  std::string name;
  std::string found;         ///< how it was found
  std::string requested_by;  ///< name of the object, empty for roots
  std::string from;          ///< assumed: where it would lie
  std::vector<std::string> looked_in;
};
struct ReportPlan {
  std::string root;
  std::vector<std::string> loads;     ///< what was opened, in order
  std::vector<ReportOpen> opens;      ///< the same by path, without what does not exist
  std::vector<ReportObject> objects;  ///< in load order
};

struct Stats {
  std::uint64_t bytes_read = 0;
  std::uint64_t second_passes = 0;
  std::vector<std::pair<std::string, double>> seconds;  ///< per stage
};

struct Report {
  Status verdict = Status::loads;
  std::string headline;
  bool complete = true;  ///< nothing asked was left unanswered
  std::string python;
  std::string python_reason;
  std::vector<ReportInput> inputs;
  std::vector<ReportRoot> roots;
  std::vector<Finding> findings;  ///< errors first, then by id
  std::vector<Assumption> assumptions;
  std::vector<Undecided> undecided;
  CudaReport cuda;
  std::vector<ReportPlan> plans;
  std::vector<GpuCoverage> gpus;  ///< in the order asked
  std::vector<Problem> problems;
  std::vector<std::string> scope;  ///< what was not asked
  std::string configuration;       ///< name of the configuration file obeyed, or empty
  Stats stats;
};

}  // namespace wheelvet
