// What a set of modules asks of CUDA: its libraries with their owners, the driver, NCCL.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace wheelvet {

/// A library of CUDA, cuDNN, NCCL or the driver that some root's process holds or asks for.
struct CudaLibrary {
  std::string soname;
  std::string kind;     ///< cuda, nccl, driver
  std::string how;      ///< needed, opened (by dlopen), linked statically
  std::string state;    ///< found, assumed, missing, unreachable (there, but on no path searched)
  std::string path;     ///< of the copy that is taken, or that is there; empty when there is none
  std::string owner;    ///< "nvidia-curand 10.4.0.35", "CUDA toolkit 13.0", "NVIDIA driver"
  std::string version;  ///< of the file: "10.4.0.35"; empty when nothing tells
  std::string major;    ///< release of CUDA it belongs to: "13"; empty when nothing tells
  std::string declared_by;  ///< "torch 2.11.0"; empty when nobody requires its package
  std::vector<std::string> roots;
};

/// What one module or library of the targets asks of the driver and of NCCL.
struct CudaModule {
  std::string path;
  std::string runtime;                        ///< major of the CUDA runtime it is linked to
  std::string driver;                         ///< the oldest driver that serves it; empty: none
  std::string because;                        ///< "CUDA 13", "cuGreenCtxCreate came with CUDA 12.4"
  std::vector<std::string> driver_functions;  ///< those that set `driver`, or all of the release
  std::string nccl;                           ///< oldest NCCL that has what it imports; empty: none
  std::vector<std::string> nccl_functions;    ///< those that set `nccl`
};

struct CudaReport {
  std::vector<CudaLibrary> libraries;  ///< by soname and path
  std::vector<CudaModule> modules;     ///< in path order; those that ask for something
  std::string driver;                  ///< of all modules; empty: none is asked for
  std::string driver_because;
};

}  // namespace wheelvet
