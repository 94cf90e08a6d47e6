// The host around an environment: toolkits, variables, driver, caches, as its files tell.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wheelvet/machine.h"
#include "wheelvet/problem.h"

namespace wheelvet {

/// An environment variable and where it was given: "/etc/environment:3", "this process".
struct Variable {
  std::string value;
  std::string from;
  bool sure = true;  ///< false: a branch that was not decided sets it, or the value is not literal
};
using Variables = std::map<std::string, Variable, std::less<>>;

struct ToolkitLibrary {
  std::string name;     ///< file name as it lies there: "libcublas.so.12"
  std::string real;     ///< path that its links end at; empty: they end nowhere
  std::string version;  ///< "12.8.4.1" where the file's name tells, else empty
};

/// A folder that holds a CUDA toolkit, or the part of one that pip packages make up.
struct Toolkit {
  std::string path;            ///< as it is named: "/usr/local/cuda-13.0"
  std::string real;            ///< links followed
  std::string kind;            ///< system, conda, pip, distribution
  std::string release;         ///< "13.0"; empty when nothing tells
  std::string release_from;    ///< the file that told
  std::string header_release;  ///< CUDART_VERSION of its cuda_runtime_api.h: "13.0", or empty
  std::string nvcc_release;    ///< of bin/nvcc: "13.0"; empty when there is no nvcc
  bool nvcc = false;
  std::map<std::string, std::string> parts;  ///< version.json: "libcublas" -> "12.8.4.1"
  std::map<std::string, std::pair<std::string, std::string>>
      headers;                       ///< component -> version in its header, the header
  std::vector<std::string> missing;  ///< paths below it that its users ask for and it lacks
  std::vector<ToolkitLibrary> libraries;
  /// Links below it that end in another toolkit: the link, where it ends.
  std::vector<std::pair<std::string, std::string>> foreign;
  std::vector<std::string> dangling;  ///< links that end nowhere
};

enum class SiteOutcome {
  set,
  kept,    ///< not changed: the variable was there before
  raises,  ///< TypeError: not a string
  spared,  ///< would raise, but the variable was there before
  lost,    ///< stands after a statement that raised
  maybe,   ///< in a branch that was not decided
};

/// What a file that Python runs at its start does to one variable.
struct SiteAssignment {
  std::string name;
  std::string value;
  bool known = false;  ///< `value` is what it says, else only a run would tell
  std::string how;     ///< "=", "setdefault", "update", "+=", "putenv", "guarded", "del"
  std::string fault;   ///< the type that is no string: "ellipsis", "int"; empty
  SiteOutcome outcome = SiteOutcome::set;
  std::string earlier;  ///< the value that was there before, and
  std::string from;     ///< where it came from
  unsigned line = 0;
};

/// One run of such a file over the variables of a start.
struct SiteRun {
  std::vector<SiteAssignment> assignments;
  unsigned raised_line = 0;         ///< an exception ended the file there; 0: none
  std::vector<std::string> unread;  ///< what only a run would tell: "line 7: calls setup()"
  Variables after;
};

/// sitecustomize.py, usercustomize.py, or a .pth file with statements.
struct SiteFile {
  std::string path;
  std::string kind;      ///< sitecustomize, usercustomize, pth
  std::string text;      ///< of a .pth only its statements, other lines empty
  bool runs = true;      ///< false: one earlier on sys.path takes its place
  std::string instead;   ///< that one
  std::string found_by;  ///< the folder of sys.path: "PYTHONPATH", "standard library", ...
  std::string fault;     ///< what is wrong with its syntax, or empty
  unsigned fault_line = 0;
  std::string judged_by;  ///< "wheelvet", or the interpreter that parsed it
};

/// A way in which a process is started, with the variables that it gets.
struct Start {
  std::string name;     ///< "interactive", "unit vllm.service"
  std::string file;     ///< the file that describes it; empty: interactive
  std::string program;  ///< first word of the command, or empty
  Variables inherited;
  Variables effective;              ///< after the files that Python runs at its start
  bool python = true;               ///< the environment's Python (as far as known)
  bool site = true;                 ///< ... and it runs the site files
  std::string why_no_site;          ///< "-S", "another Python", "not Python"
  std::vector<std::string> faults;  ///< lines of the file that do not say what they seem to
  std::vector<std::pair<std::string, SiteRun>> runs;  ///< per site file, in order
};

struct DriverFacts {
  std::string kernel;         ///< "580.65.06" of the kernel module; empty when it is not loaded
  std::string kernel_from;    ///< the file that told
  std::string libcuda;        ///< path that a process gets for libcuda.so.1, links resolved
  std::string libcuda_asked;  ///< the path by which it is found
  std::string version;        ///< in its file name
  std::string through;        ///< "LD_LIBRARY_PATH", "ld.so.cache", "default folder"
  bool compat = false;        ///< of a forward-compatibility package
  bool stub = false;          ///< of a toolkit's stubs folder
  std::vector<std::string> devices;        ///< nodes that are there
  std::vector<std::string> refused;        ///< "/dev/nvidia0: mode 0600, owner 0:0"
  std::vector<std::string> gpus;           ///< models, as the driver names them
  std::vector<std::string> architectures;  ///< "9.0" per model that rules/ knows
};

struct NcclFacts {
  std::string library;             ///< the libnccl.so.2 that the environment has
  std::string version;             ///< "2.28.9"
  std::vector<std::string> names;  ///< NCCL_* words that it holds, sorted
  std::vector<std::pair<std::string, std::string>> files;  ///< conf files: path, text; first wins
};

struct TritonFacts {
  std::string version;  ///< empty: not installed
  std::string folder;
  std::string ptxas, ptxas_blackwell;  ///< releases of the bundled tools, or empty
};

/// A folder of objects that were built on this host.
struct JitCache {
  std::string kind;  ///< torch_extensions, flashinfer, ...
  std::string path;
  std::string made_for;  ///< what the folder's own name says: "py312_cu128", "0.6.3"
  std::uint64_t bytes = 0;
  std::size_t objects = 0;
  std::vector<std::string> libraries;  ///< the shared objects in it
  std::string mismatch;                ///< why it is not used by the present environment
};

/// A package and what it is by its metadata.
struct HostPackage {
  std::string name, version, folder;  ///< folder: its .dist-info
};

struct HostFacts {
  Machine machine;
  std::string user, home;
  std::string account_home;                       ///< of the account, whatever HOME says
  bool live = true;                               ///< this machine, not a root
  bool self = true;                               ///< the user is the one that runs this
  std::string prefix, python, interpreter, site;  ///< of the environment; empty for none
  std::vector<std::string> sys_path;              ///< folders, PYTHONPATH first
  std::vector<HostPackage> packages;
  std::string torch, torch_cuda;  ///< "2.11.0", "13.0"
  bool torch_imports = false;     ///< the library that `import torch` opens first is there
  std::vector<Toolkit> toolkits;
  std::vector<Start> starts;  ///< the interactive one first
  std::vector<SiteFile> site_files;
  DriverFacts driver;
  NcclFacts nccl;
  TritonFacts triton;
  std::vector<JitCache> caches;
  std::vector<Problem> problems;
};

}  // namespace wheelvet
