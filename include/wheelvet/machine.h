// The machine that a process would run on: what its dynamic loader searches besides the inputs.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace wheelvet {

/// The libraries' folder of a CUDA toolkit, whether or not the loader searches it.
struct ToolkitFolder {
  std::string path;                          ///< "/usr/local/cuda-13.0/lib64"
  std::string release;                       ///< "13.0" of version.json; empty when nothing tells
  std::map<std::string, std::string> files;  ///< file name -> name at the end of its links
};

/// A machine, or a folder that stands for the root of one. All paths are as a process on it sees
/// them; `root` stands before them on this host.
struct Machine {
  bool given = false;   ///< false: nothing is known of the machine, its libraries are assumed
  bool strict = false;  ///< the NVIDIA driver has to be there too; it is assumed otherwise
  std::string root;     ///< empty for this machine, else without a '/' at its end
  std::vector<std::string> library_path;     ///< LD_LIBRARY_PATH, empty entries left out
  std::vector<std::string> preload;          ///< LD_PRELOAD and /etc/ld.so.preload, in order
  std::vector<std::string> default_folders;  ///< compiled into ld.so, in order
  std::string loader;                        ///< path of ld.so itself
  std::vector<std::string> capabilities;     ///< subfolders tried first, best first
  std::unordered_map<std::string, std::string> cache;  ///< ld.so.cache: name -> path for this CPU
  unsigned isa_level = 0;  ///< of an x86-64 processor: 1 the baseline to 4; 0 when not known
  std::string platform;    ///< what $PLATFORM stands for
  std::string lib;         ///< what $LIB stands for: "lib64", "lib/x86_64-linux-gnu"
  std::string glibc;       ///< release of the loader: "2.36"; empty when it is not glibc's

  std::string interpreter;  ///< the environment's Python, links resolved; empty for none
  std::string site;         ///< the environment's site-packages; empty for none
  std::string python;       ///< "3.12", "3.13t"; empty when no environment is given

  std::vector<ToolkitFolder> toolkits;  ///< in the order they are looked for
};

}  // namespace wheelvet
