// Which of a library's device code the driver would take for a GPU.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/device_rules.h"
#include "wheelvet/coverage.h"
#include "wheelvet/device_code.h"

namespace wheelvet {

/// A GPU that was asked about.
struct Gpu {
  std::uint16_t arch = 0;
  std::string name;   ///< "sm_120"
  std::string asked;  ///< as typed, or the product found on this machine
};

/// "sm_120", "120", "12.0" or a product ("RTX PRO 6000 Blackwell", "NVIDIA H100 80GB HBM3").
/// WrongUsage when it is neither, and for "sm_90a": a GPU has no suffix.
Gpu read_gpu(std::string_view text, const DeviceRules& rules);

/// How an image serves a GPU; Service::unserved for what cannot be launched as it is.
Service service_of(const DeviceImage& image, std::uint16_t arch, const DeviceRules& rules);

struct Served {
  Service service = Service::unserved;
  const DeviceImage* image = nullptr;  ///< null: nothing in it runs there
};

/// The image that the driver takes: it prefers machine code made for just this GPU, then the
/// nearest, then PTX.
Served best_of(std::span<const DeviceImage> images, std::uint16_t arch, const DeviceRules& rules);

/// False for a container of which nothing can be launched as it is: code to be linked at build time
/// or by nvJitLink, code without a kernel, and what was counted and not read.
bool is_judged(const DeviceContainer& container, const DeviceCode& code);

/// One library against one GPU.
LibraryCoverage cover(const std::string& path, const DeviceCode& code, std::uint16_t arch,
                      const DeviceRules& rules);

/// The architectures in a library's images, each once, machine code first.
std::vector<std::string> architectures_of(const DeviceCode& code);

/// The first release of CUDA whose driver compiles PTX of this version; null when it is newer than
/// the table.
const CudaRelease* release_for_ptx(const DeviceRules& rules, std::string_view ptx);

/// The first release in the table that knows the GPU; null when all in it do.
const CudaRelease* release_for_gpu(const DeviceRules& rules, std::uint16_t arch);

}  // namespace wheelvet
