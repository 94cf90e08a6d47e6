// The stage: what lies where once everything is installed, and what is taken to be there besides.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rules/rules.h"
#include "wheelvet/facts.h"
#include "wheelvet/input.h"
#include "wheelvet/link.h"
#include "wheelvet/machine.h"

namespace wheelvet {

/// A library or module at its installed place.
struct SceneFile {
  const FileFacts* facts = nullptr;
  std::size_t input = none;
  std::size_t package = none;  ///< index into Scene::packages
  bool target = false;
  bool python_read = false;  ///< its input's Python source was read
  bool installed = false;    ///< in a folder of the environment
};

struct ScenePackage {
  const PackageFacts* facts = nullptr;
  std::size_t input = none;
  bool target = false;
  bool replaced = false;  ///< another package of its name takes its place
};

/// A requirement of a package among the inputs.
struct Declared {
  std::string by;        ///< "torch 2.10.0"
  std::string pinned;    ///< version of an "==" clause, else empty
  std::string extra;     ///< the extra that it belongs to, else empty
  std::string name;      ///< normalised name of what is required
  bool settled = false;  ///< of an installed package: what is not there now will not be brought
};

/// One installed path that two inputs own: indices into the scene's files.
struct Conflict {
  std::size_t hidden = none;  ///< overwritten
  std::size_t winner = none;
};

struct Scene {
  const Rules* rules = nullptr;
  const Machine* machine = nullptr;  ///< never null; not `given` when nothing is known of it
  bool exact = false;  ///< nothing is excused: what a package may do beside is not considered
  std::size_t interpreter = none;     ///< its file, when the machine's is among the files
  std::vector<std::string> sys_path;  ///< mounts of the folders that modules are imported from
  std::unordered_set<std::string> folders;  ///< installed paths of the inputs' folders
  const Facts* facts = nullptr;
  std::vector<SceneFile> files;
  std::vector<ScenePackage> packages;
  std::unordered_map<std::string, const PythonFacts*> python_files;  ///< by installed path
  std::unordered_map<std::string, std::size_t> by_path;  ///< installed path -> index into files
  std::map<std::string, std::size_t> by_name;  ///< file name without its folder -> index into files
  std::map<std::string, Declared> declared;    ///< normalised name -> who requires it
  std::map<std::string, Declared> optional;    ///< the same for requirements of extras
  /// Libraries of declared packages that are not among the inputs, where those packages put them.
  std::map<std::string, std::size_t> assumed_paths;  ///< path -> index into rules->libraries
  /// Packages, by normalised name, whose libraries are among the inputs and were all read: what is
  /// not there they do not bring. One that only requires others is not of them.
  std::set<std::string> complete;
  std::string python;         ///< "3.12", "3.13t"; the interpreter of the scenario
  std::string python_reason;  ///< how it was chosen
  std::vector<Conflict> conflicts;
};

/// Lays the inputs over each other as an installation would, targets last. WrongUsage when two
/// inputs are different versions of one package. `python`: wanted interpreter, empty to choose.
/// `without_targets`: as it is before they are installed.
Scene set_scene(const std::vector<Input>& inputs, const Facts& facts, const Rules& rules,
                const Machine& machine, const std::string& python, bool without_targets = false);

/// The key of a path in `by_path`: paths below the environment's site-packages are relative to it,
/// whatever way they are spelled.
std::string place(const Scene& scene, const std::string& path);

/// False for a folder that is known not to be there: it lies below site-packages and no input has
/// it. The kernel resolves ".." by what is there, not by names alone.
bool may_exist(const Scene& scene, const std::string& folder);

/// The name of a requirement ("nvidia-nccl-cu12==2.27.5; platform_system == 'Linux'"), normalised,
/// and its pinned version; empty when it belongs to an extra.
std::pair<std::string, std::string> read_requirement(std::string_view text);

/// The extra that a requirement belongs to ("ctk" of "...; extra == 'ctk'"), else empty.
std::string extra_of(std::string_view requirement);

/// The requirement among `list` that brings a library, null if there is none. cuda-toolkit, which
/// stands for the packages of one CUDA release, counts for libraries of that major release only.
const Declared* who_declares(const std::map<std::string, Declared>& list, const LibraryRule& rule);

/// The file of a package that a DT_NEEDED of that name would be satisfied by if it were loaded
/// already; none if there is none.
std::size_t file_of_package(const Scene& scene, std::size_t package, std::string_view name);

/// True when the file exports PyInit_<name> for the name it would be imported by.
bool is_module(const FileFacts& file);

/// The import name that a file name stands for: "flash_ops" of "flash_ops.abi3.so".
std::string_view module_name(std::string_view path);

}  // namespace wheelvet
