// rules/device.toml: GPUs, the code that runs on them, and the drivers that know them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wheelvet {

struct GpuRule {
  std::uint16_t arch = 0;  ///< 120 for compute capability 12.0
  std::string since;       ///< first CUDA release that knows it
  bool alone = false;      ///< machine code of other architectures is not promised to run there
  std::vector<std::string> products;
};

/// Where family-specific code of an architecture runs.
struct FamilyArch {
  std::uint16_t arch = 0;
  std::vector<std::uint16_t> runs_on;
};

/// A CUDA release: the newest PTX version that its driver compiles, and the first driver of it.
struct CudaRelease {
  std::string cuda, ptx, driver;
};

/// A library that its package uses on some GPUs alone.
struct DeviceUse {
  std::string package;            ///< normalised
  std::string library;            ///< installed path, '*' allowed
  std::vector<std::uint16_t> on;  ///< empty: on all but those of `not_on`
  std::vector<std::uint16_t> not_on;
  std::string because;
};

struct DeviceRules {
  std::vector<GpuRule> gpus;
  std::vector<FamilyArch> families;
  std::vector<CudaRelease> releases;  ///< oldest first
  std::vector<DeviceUse> uses;
};

DeviceRules load_device_rules();

}  // namespace wheelvet
