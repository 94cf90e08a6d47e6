// The data in rules/ on CUDA: majors of libraries, drivers, NCCL's releases, families of packages.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rules/rules.h"

namespace wheelvet {

/// A soname that several majors of CUDA share.
struct SharedSoname {
  std::string soname;
  /// First version of the file and the major from there on, in order.
  std::vector<std::pair<std::string, std::string>> majors;
};

/// Libraries of which a process should hold one copy.
struct SingleRule {
  std::string name;                ///< "the CUDA runtime"
  std::vector<std::string> names;  ///< sonames, '*' allowed
  std::string why;                 ///< what two copies do
  bool warn = false;               ///< a warning, else a note
};

struct CudaRules {
  std::vector<SharedSoname> shared;
  std::vector<SingleRule> singles;
};

/// Drivers by CUDA release (rules/driver.toml, rules/driver_api.txt).
struct DriverRules {
  std::vector<std::pair<std::string, std::string>> majors;    ///< "12" -> "525.60.13"
  std::vector<std::pair<std::string, std::string>> releases;  ///< "12.4" -> "550.54.14", in order
  std::unordered_map<std::string_view, std::string_view> functions;  ///< cuInit -> "2.0"
};

/// rules/families.toml.
struct EqualRule {
  std::string package;
  std::vector<std::string> with;
  std::string consequence;
};
struct PairRule {
  std::string package, with;
  std::vector<std::pair<std::string, std::string>> releases;  ///< "0.24" -> "2.9"
  std::string consequence;
};
struct DeclaredRule {
  std::string name;
  std::vector<std::string> packages;     ///< normalised names, '*' allowed
  std::vector<std::string> with_extras;  ///< of these the requirements of all extras count
  bool any_requirer = false;  ///< what any package requires of them, not only they of each other
};
struct KnownRule {
  std::string package, version, with, other, why;  ///< versions are PEP 440 specifiers
};
struct PackageFamilies {
  std::vector<EqualRule> equal;
  std::vector<PairRule> pairs;
  std::vector<DeclaredRule> declared;
  std::vector<KnownRule> known;
};

// Read once, kept. WrongUsage for a file that does not parse.
const CudaRules& cuda_rules();
const DriverRules& driver_rules();
const PackageFamilies& package_families();

/// "12" of nvidia-cublas-cu12, "13" of nvidia-cublas (names without a suffix began with 13); empty
/// for a package that is not NVIDIA's.
std::string cuda_major_of_package(std::string_view package);

/// The majors of CUDA whose packages ship a library; one for libcudart.so.12, several for
/// libcurand.so.10, none for what is not CUDA's.
std::vector<std::string> cuda_majors(const LibraryRule& rule);

/// The major of a shared soname by the version of the file; empty when nothing tells.
std::string major_by_version(std::string_view soname, std::string_view version);

/// The first driver that has all functions of a CUDA release, and that a program built with that
/// major asks for; empty when the table does not know the release.
std::string driver_of_release(std::string_view cuda);
std::string driver_of_major(std::string_view major);

/// The columns of NCCL's export table that have all these names: the oldest and newest release;
/// both empty when none has.
std::pair<std::string, std::string> nccl_releases(const std::vector<std::string>& names);

}  // namespace wheelvet
