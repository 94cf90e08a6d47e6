// Coverage: which GPUs the device code of a library serves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

/// How a container serves a GPU, best first.
enum class Service : std::uint8_t {
  own,       ///< machine code for just this architecture
  family,    ///< machine code for the GPU's family
  older,     ///< machine code for a lower minor of the same major
  compiled,  ///< PTX that the driver compiles at first use
  unserved,  ///< nothing in it runs there
};

std::string_view to_string(Service service);

/// One library (or file of device code) against one GPU. Containers that cannot be launched as they
/// are, without a kernel, and those that were not read, are `unjudged`.
struct LibraryCoverage {
  std::string path;
  std::size_t containers = 0;  ///< judged
  std::size_t own = 0, family = 0, older = 0, compiled = 0, unserved = 0;
  std::size_t elsewhere = 0;  ///< unserved, but other containers have all its kernels for the GPU
  std::size_t unjudged = 0;
  std::size_t portable_gaps = 0;               ///< unserved, though meant for several architectures
  std::vector<std::string> architectures;      ///< all in the library: "sm_80", "compute_90"
  std::vector<std::string> gap_architectures;  ///< of the unserved containers
  std::size_t kernels_without = 0;    ///< kernels that no container of the library has for the GPU
  std::vector<std::string> examples;  ///< some of them, mangled
  std::string ptx_version;            ///< newest that must be compiled, "9.0", or empty
  std::string not_used;               ///< why the package does not use it on this GPU, or empty
};

struct GpuCoverage {
  std::string gpu;                    ///< "sm_120"
  std::vector<std::string> products;  ///< a few names
  std::string driver;                 ///< lowest driver that serves it with these libraries
  std::string driver_because;
  std::vector<LibraryCoverage> libraries;
};

}  // namespace wheelvet
