// What the loader would do: which objects a process holds, in which order and why, and where each
// import is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace wheelvet {

inline constexpr std::size_t none = static_cast<std::size_t>(-1);

/// How a name was resolved to an object (the steps of glibc's _dl_map_object, in their order).
enum class Found {
  interpreter,   ///< in the process before anything else
  preload,       ///< LD_PRELOAD or /etc/ld.so.preload
  root,          ///< opened by path: the module or library itself
  loaded,        ///< an object of that soname was in the process already
  rpath,         ///< DT_RPATH of the requester, of whoever loaded it, or of the interpreter
  library_path,  ///< LD_LIBRARY_PATH
  runpath,       ///< DT_RUNPATH of the requester
  cache,         ///< ld.so.cache
  built_in,      ///< a folder that ld.so was built to search
  system,        ///< assumed in a default folder of the system
  driver,        ///< assumed: comes with the NVIDIA driver
  declared,      ///< assumed: a declared package brings it, into a folder that no path names
  absent,        ///< nowhere, and nobody declares it
};

/// One object of a process. Either a file of the inputs (`file`) or a library that is not among
/// them and is assumed or absent (`library`).
struct PlannedObject {
  std::size_t file = none;     ///< index into the scene's files
  std::size_t library = none;  ///< index into the rules' libraries; none for an unknown absent one
  std::string name;            ///< installed path of a file, else the soname asked for
  std::vector<std::string> names;  ///< further names that a DT_NEEDED may call it by
  Found found = Found::root;
  std::size_t requested_by = none;     ///< index into the plan
  std::vector<std::size_t> needed;     ///< its DT_NEEDED, as indices into the plan, in order
  std::vector<std::string> looked_in;  ///< folders searched before it was found, or in vain
  std::string from_path;               ///< assumed files: where under site-packages it would lie
  std::size_t load = 0;                ///< which load of the scenario brought it in
};

/// One dlopen of a scenario.
struct Load {
  std::string what;                ///< path opened
  std::size_t root = none;         ///< index into the plan; none when it does not exist
  bool global = false;             ///< RTLD_GLOBAL
  bool lazy = false;               ///< RTLD_LAZY: what is only called may stay missing until then
  bool optional = false;           ///< its failure is swallowed by whoever asked
  bool failed = false;             ///< it failed, and what it brought in is gone again
  std::vector<std::size_t> scope;  ///< breadth-first DT_NEEDED closure of the root
  std::string because;             ///< "import torch", or empty for the root that is judged
};

/// The objects of one process after its loads, in load order.
struct LoadPlan {
  std::vector<PlannedObject> objects;
  std::vector<Load> loads;
  std::vector<std::size_t> global_scope;
  std::uint16_t machine = 62;             ///< EM_* of the process; EM_X86_64
  std::vector<std::string> capabilities;  ///< subfolders of search folders that hold something
};

/// What became of one import. See the contract: an owner that cannot be told is never "missing".
enum class Outcome { bound, assumed, undecided, missing, weak };

struct Binding {
  std::size_t object = none;  ///< who imports; index into the plan
  std::size_t symbol = 0;     ///< index into its symbol table
  Outcome outcome = Outcome::missing;
  std::size_t provider = none;  ///< bound, assumed: index into the plan
  std::string version;          ///< version wanted, empty for none
  std::string owner;            ///< undecided: who may own it
};

/// A version that a library was asked for and does not define.
struct VersionMismatch {
  std::size_t object = none;
  std::size_t provider = none;  ///< none: no loaded object has the file name of the need
  std::string file;
  std::string version;
};

/// An object that was found and that the loader does not take.
struct Refusal {
  std::size_t object = none;
  std::string reason;  ///< in the loader's words
};

/// What is left of the block of every thread that modules opened later may lie in, too.
struct StaticTls {
  std::uint64_t left = 0;            ///< bytes, none fewer than there are
  std::uint64_t alignment = 0;       ///< the largest that is served; 0: nothing is known yet
  std::vector<std::size_t> objects;  ///< of the plan: those that lie in it, or do not fit
};

/// One root, loaded in its scenario.
struct Link {
  std::size_t root_file = none;
  LoadPlan plan;
  std::vector<Binding> bindings;  ///< missing and undecided imports; all of them when asked for
  std::size_t bound = 0;          ///< imports bound to a file of the inputs
  std::size_t assumed = 0;        ///< imports bound to an assumed library
  std::vector<VersionMismatch> mismatches;
  std::vector<Refusal> refusals;
  StaticTls static_tls;
  /// Which object serves a STB_GNU_UNIQUE name; filled when all bindings are kept.
  std::unordered_map<std::string, std::size_t> unique;
};

}  // namespace wheelvet
