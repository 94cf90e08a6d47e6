#include "doctor/triton_tools.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "doctor/new_finding.h"
#include "doctor/toolkits.h"
#include "doctor/words.h"
#include "machine/tree.h"
#include "rules/device_rules.h"
#include "rules/rules.h"

namespace wheelvet {
namespace {

// From Triton 3.6 on architectures of 10.0 and later are assembled by ptxas-blackwell.
constexpr const char* blackwell_since = "3.6";

bool is_program(const std::string& root, const std::string& path) {
  struct stat status = {};
  return is_file(root, path) && ::stat(on_this_host(root, path).c_str(), &status) == 0 &&
         (status.st_mode & 0111);
}

// The first release of CUDA whose ptxas knows an architecture, "10.3".
std::string needed_ptxas(const std::string& arch) {
  std::string digits = arch;
  std::erase(digits, '.');
  static const DeviceRules rules = load_device_rules();
  for (const GpuRule& gpu : rules.gpus) {
    if (std::to_string(gpu.arch) == digits) return gpu.since;
  }
  return {};
}

struct Checker {
  const HostFacts& host;
  std::vector<Finding> findings;
  std::set<std::string> said;

  bool split() const { return compare_versions(host.triton.version, blackwell_since) >= 0; }

  // What is used for an architecture at a start: the variable's tool where it can be run.
  void check_variable(const Start& start, const char* name) {
    auto set = start.effective.find(name);
    if (set == start.effective.end() || set->second.value.empty() || !set->second.sure) return;
    const std::string& path = set->second.value;
    if (!said.insert(std::string(name) + path).second) return;
    std::string given = fmt::format("{}={} ({})", name, path, set->second.from);
    std::string release =
        is_program(host.machine.root, path) ? tool_release(host.machine.root, path) : "";
    bool blackwell = std::string_view(name) == "TRITON_PTXAS_BLACKWELL_PATH";
    bool assembler = blackwell || std::string_view(name) == "TRITON_PTXAS_PATH";
    std::string bundled = blackwell   ? host.triton.ptxas_blackwell
                          : assembler ? host.triton.ptxas
                                      : std::string();
    if (release.empty()) {
      Finding& finding = findings.emplace_back(
          new_finding("PTX-001", Severity::warning, fmt::format("{}: not usable", given), path));
      finding.evidence = {is_file(host.machine.root, path)
                              ? "it cannot be executed, or says no \"release X.Y\""
                              : "there is no such file",
                          fmt::format("Triton says nothing and takes the tool that it brings{}{}",
                                      bundled.empty() ? "" : ", of CUDA ", bundled)};
      finding.fix = "name the program itself, such as /usr/local/cuda/bin/ptxas; or unset it";
      return;
    }
    if (!assembler) return;
    for (const std::string& arch : host.driver.architectures) {
      bool new_arch = compare_versions(arch, "10.0") >= 0;
      if (!blackwell && new_arch && split()) {
        Finding& finding = findings.emplace_back(
            new_finding("PTX-003", Severity::warning,
                        fmt::format("{}: not read for GPUs of {}", given, arch), path));
        finding.evidence = {
            fmt::format("Triton {} takes ptxas-blackwell there: TRITON_PTXAS_BLACKWELL_PATH",
                        host.triton.version)};
        finding.fix = fmt::format("TRITON_PTXAS_BLACKWELL_PATH={}", path);
        continue;
      }
      std::string since = needed_ptxas(arch);
      if (since.empty() || compare_versions(release, since) >= 0) continue;
      Finding& finding = findings.emplace_back(new_finding(
          "PTX-002", Severity::error,
          fmt::format("{}: ptxas of CUDA {} does not know GPUs of {}", given, release, arch),
          path));
      finding.evidence = {fmt::format("ptxas knows {} from CUDA {} on", arch, since)};
      finding.fix = fmt::format("a ptxas of CUDA {} or newer, or unset {}", since, name);
    }
  }

  void check_bundled() {
    for (const std::string& arch : host.driver.architectures) {
      bool blackwell = compare_versions(arch, "10.0") >= 0 && split();
      const char* name = blackwell ? "TRITON_PTXAS_BLACKWELL_PATH" : "TRITON_PTXAS_PATH";
      const Variables& here = host.starts.front().effective;
      if (here.contains(name)) continue;
      const std::string& release = blackwell ? host.triton.ptxas_blackwell : host.triton.ptxas;
      std::string since = needed_ptxas(arch);
      if (release.empty() || since.empty() || compare_versions(release, since) >= 0) continue;
      Finding& finding = findings.emplace_back(new_finding(
          "PTX-004", Severity::error,
          fmt::format("Triton {} brings ptxas of CUDA {}, which does not know GPUs of {}",
                      host.triton.version, release, arch)));
      finding.evidence = {fmt::format("ptxas knows {} from CUDA {} on", arch, since)};
      finding.fix = fmt::format("{}=<a ptxas of CUDA {} or newer>", name, since);
    }
  }
};

}  // namespace

TritonFacts read_triton(const HostFacts& host) {
  TritonFacts out;
  for (const HostPackage& package : host.packages) {
    if (package.name != "triton") continue;
    out.version = package.version;
    out.folder = parent_of(package.folder) + "/triton";
  }
  if (out.version.empty()) return out;
  std::string tools = out.folder + "/backends/nvidia/bin/";
  out.ptxas = tool_release(host.machine.root, tools + "ptxas");
  out.ptxas_blackwell = tool_release(host.machine.root, tools + "ptxas-blackwell");
  return out;
}

std::vector<Finding> check_triton(const HostFacts& host) {
  Checker checker{host, {}, {}};
  if (host.triton.version.empty()) return {};
  for (const Start& start : host.starts) {
    for (const char* name : {"TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH",
                             "TRITON_CUOBJDUMP_PATH", "TRITON_NVDISASM_PATH"})
      checker.check_variable(start, name);
  }
  checker.check_bundled();
  return std::move(checker.findings);
}

}  // namespace wheelvet
