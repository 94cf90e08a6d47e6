// What installing the targets into the environment would do to its packages, as pip goes about it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/python_version.h"
#include "link/scene.h"
#include "wheelvet/finding.h"

namespace wheelvet {

/// A requirement that what would be there does not meet.
struct UnmetRequirement {
  std::string by;  ///< "flashinfer-python 0.6.4"
  bool by_target = false;
  std::string name;    ///< normalised name of what is required
  std::string wanted;  ///< "torch==2.10.0"
  std::vector<VersionClause> clauses;
  std::string have;          ///< version that is there; empty: none
  bool have_target = false;  ///< a target, not something installed
};

/// A module of the environment that loads now and fails after the installation.
struct BrokenModule {
  std::string path, package;         ///< installed path, "sgl-kernel 0.3.21"
  std::vector<std::string> missing;  ///< readable names and libraries, a few
};

/// torch, taken to another release because a target asks for it.
struct TorchSwap {
  std::string have;   ///< "2.9.1+cu130"
  std::string taken;  ///< "2.10.0": the newest release known that the targets allow
  std::string cuda;   ///< of the build that the index has, "12.8"; empty for none
  std::vector<BrokenModule> broken;
  std::vector<UnmetRequirement> further;  ///< what that torch requires besides
};

struct InstallPlan {
  std::vector<std::string> targets;  ///< normalised names of what is installed; empty: nothing is
  std::vector<UnmetRequirement> unmet;
  std::optional<TorchSwap> torch;
};

/// True for a package of an input that pip would install; what lies in an environment is vetted.
bool is_to_install(const ScenePackage& package, const std::vector<Input>& inputs);

/// "aarch64" or "x86_64".
std::string_view name_of_machine(const Machine& machine);

/// The requirements of all packages of a scene that the others do not meet. Only what is among the
/// inputs is known: what a package brings that is not, is not.
std::vector<UnmetRequirement> unmet_requirements(const Scene& scene,
                                                 const std::vector<Input>& inputs);

/// The findings of a plan.
std::vector<Finding> check_requirements(const InstallPlan& plan);

}  // namespace wheelvet
