// Which NVIDIA driver the modules ask for.
#include <fmt/format.h>

#include <algorithm>

#include "checks/checks.h"
#include "rules/rules.h"

namespace wheelvet {
namespace {

void floor_of(const CudaReport& cuda, FindingSet& found) {
  Finding& finding = found.at("", "CUDA-010", Severity::note);
  finding.title = fmt::format("needs NVIDIA driver {} or newer", cuda.driver);
  finding.cause = cuda.driver_because;
  for (const CudaModule& module : cuda.modules) {
    if (module.driver.empty()) continue;
    add_few(finding.evidence,
            fmt::format("{}: {} ({})", module.path, module.driver, module.because));
  }
  finding.fix = "none: where the driver is older, a build for an older CUDA";
}

void too_old(const Run& run, const CudaReport& cuda, FindingSet& found) {
  bool old = compare_versions(run.driver, cuda.driver) < 0;
  if (!old) return;
  Finding& finding = found.at("", "CUDA-011", Severity::error);
  finding.title = fmt::format("driver {} is too old: {} is needed", run.driver, cuda.driver);
  finding.cause = cuda.driver_because;
  finding.fix = fmt::format("driver {} or newer, or a build for an older CUDA", cuda.driver);
  for (const CudaModule& module : cuda.modules) {
    if (compare_versions(run.driver, module.driver) >= 0) continue;
    add_few(finding.evidence,
            fmt::format("{}: {} ({})", module.path, module.driver, module.because));
    add_once(finding.objects, module.path);
  }
  for (const CudaLibrary& library : cuda.libraries) {
    if (!library.soname.starts_with("libcudart.so") || library.how != "needed") continue;
    for (const std::string& root : library.roots) add_once(finding.roots, root);
  }
}

}  // namespace

std::vector<Finding> check_driver(const Run& run, const CudaReport& cuda) {
  FindingSet found;
  if (cuda.driver.empty()) return {};
  floor_of(cuda, found);
  if (!run.driver.empty()) too_old(run, cuda, found);
  return found.take();
}

}  // namespace wheelvet
