// NCCL: which release the imports ask for, and which one is there.
#include <fmt/format.h>

#include <algorithm>

#include "checks/checks.h"
#include "checks/cuda_closure.h"
#include "rules/cuda_rules.h"

namespace wheelvet {
namespace {

bool is_nccl(const Run& run, std::size_t file) {
  return is_object(run.scene.files[file]) && known_name(run, file) == "libnccl.so.2";
}

// The file says one release, the package that owns it another: something else wrote over it.
void contradicted(const Run& run, std::size_t index, FindingSet& found) {
  const SceneFile& file = run.scene.files[index];
  if (!is_nccl(run, index) || file.facts->release.empty() || file.package == none) return;
  const PackageFacts& package = *run.scene.packages[file.package].facts;
  std::string name = normalised_name(package.name);
  if (!name.starts_with("nvidia-nccl-")) return;
  const std::string& stated = file.facts->release;
  std::string major = cuda_major_of_package(name);
  std::size_t plus = stated.find("+cuda");
  std::string built = plus == std::string::npos ? "" : stated.substr(plus + 5);
  bool other_release = compare_versions(stated, package.version) != 0;
  bool other_major = !built.empty() && built.substr(0, built.find('.')) != major;
  if (!other_release && !other_major) return;
  Finding& finding = found.at(file.facts->path, "NCCL-002", Severity::warning);
  finding.title = fmt::format("{} is NCCL {}, not what {} {} installs", file.facts->path, stated,
                              package.name, package.version);
  finding.cause = "another package that owns the same path was installed over it";
  finding.fix = fmt::format("uninstall the other one, then pip install --force-reinstall {}=={}",
                            package.name, package.version);
  finding.objects = {file.facts->path};
}

}  // namespace

void explain_nccl_symbols(const Run& run, std::vector<Finding>& findings) {
  for (Finding& finding : findings) {
    std::vector<std::string> names;
    for (const SymbolEvidence& each : finding.symbols) {
      if (each.symbol.starts_with("nccl")) names.push_back(each.symbol);
    }
    if (finding.id != "SYM-001" || names.empty()) continue;
    std::string first = nccl_releases(names).first;
    for (std::size_t i = 0; i < run.scene.files.size(); ++i) {
      if (!is_nccl(run, i)) continue;
      std::string version = version_of(run, i);
      add_once(finding.evidence, fmt::format("{} is NCCL {}", run.scene.files[i].facts->path,
                                             version.empty() ? "of an unknown release" : version));
    }
    if (first.empty()) continue;
    add_once(finding.evidence, fmt::format("{} came with NCCL {}", fmt::join(names, ", "), first));
    bool alone = names.size() == finding.symbols.size();
    if (alone) finding.fix = fmt::format("NCCL {} or newer, first in the process", first);
  }
}

std::vector<Finding> check_nccl(const Run& run, const CudaReport& cuda) {
  FindingSet found;
  for (const CudaModule& module : cuda.modules) {
    if (module.nccl.empty()) continue;
    Finding& finding = found.at(module.nccl, "NCCL-001", Severity::note);
    finding.title = fmt::format("needs NCCL {} or newer", module.nccl);
    finding.cause = fmt::format("{} came with it", fmt::join(module.nccl_functions, ", "));
    finding.fix = "none: all ranks of a job have to have one release of NCCL";
    add_once(finding.objects, module.path);
  }
  for (std::size_t i = 0; i < run.scene.files.size(); ++i) contradicted(run, i, found);
  return found.take();
}

}  // namespace wheelvet
