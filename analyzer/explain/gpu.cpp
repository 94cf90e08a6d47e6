// The GPU, its driver, and code that was not built for them.
#include <fmt/format.h>

#include <algorithm>

#include "explain/families.h"
#include "history/name_forms.h"

namespace wheelvet {
namespace {

// "120a" of "sm_120a", "compute_120a", "12.0"; empty for anything else.
std::string arch_number(std::string_view text) {
  for (std::string_view start : {"sm_", "compute_", "sm", "lto_"}) {
    if (!text.starts_with(start)) continue;
    text.remove_prefix(start.size());
    break;
  }
  std::string out;
  for (char c : text) {
    if (c != '.') out += c;
  }
  bool fine = out.size() >= 2 && out.size() <= 5 && out[0] >= '1' && out[0] <= '9';
  return fine ? out : std::string();
}

std::string without_suffix(std::string arch) {
  while (!arch.empty() && (arch.back() < '0' || arch.back() > '9')) arch.pop_back();
  return arch;
}

const ArchRule* arch_rule(const Knowledge& knowledge, const std::string& arch) {
  for (const std::string& name : {arch, without_suffix(arch)}) {
    for (const ArchRule& rule : knowledge.explain.architectures) {
      if (rule.name == name) return &rule;
    }
  }
  return nullptr;
}

// The first CUDA release that knows it; 'f' forms came with 12.9.
std::string first_cuda(const ArchRule& rule, std::string_view arch) {
  bool family = arch.ends_with('f') && compare_versions(rule.since, "12.9") < 0;
  return family ? "12.9" : rule.since;
}

// "8.7" of "87".
std::string dotted(const std::string& arch) {
  std::string number = without_suffix(arch);
  return number.substr(0, number.size() - 1) + "." + number.back();
}

// Releases of torch on the index whose CUDA can build for an architecture.
std::vector<std::uint32_t> builds_for(const Knowledge& knowledge, const ArchRule& rule) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t build : torch_builds(knowledge)) {
    const std::string& cuda = knowledge.history.builds[build].cuda;
    bool knows = !cuda.empty() && compare_versions(cuda, rule.since) >= 0;
    bool dropped = !rule.until.empty() && compare_versions(cuda, rule.until) > 0;
    if (knows && !dropped) out.push_back(build);
  }
  return out;
}

std::string gpu_of(const Knowledge& knowledge, const Said& said) {
  for (const char* name : {"arch", "capability"}) {
    std::string arch = arch_number(part(said, name));
    if (!arch.empty()) return arch;
  }
  auto fact = knowledge.facts.find("GPU");
  return fact == knowledge.facts.end() ? std::string() : arch_number(fact->second);
}

// "12.8" of 12080, as cuDriverGetVersion counts.
std::string cuda_of_number(const std::string& number) {
  if (number.size() < 4 || number.size() > 6) return {};
  int value = leading_number(number);
  return fmt::format("{}.{}", value / 1000, value % 1000 / 10);
}

std::string least_driver(const Knowledge& knowledge, std::string_view major) {
  for (const auto& [name, driver] : knowledge.explain.drivers) {
    if (name == major) return driver;
  }
  return {};
}

std::string driver_cuda(const Knowledge& knowledge, const Said& said) {
  std::string cuda = cuda_of_number(part(said, "found"));
  if (!cuda.empty()) return cuda;
  auto fact = knowledge.facts.find("CUDA of the driver");
  return fact == knowledge.facts.end() ? std::string() : fact->second;
}

// The newest torch whose CUDA major the driver serves (minor-version compatibility).
std::optional<std::uint32_t> newest_for(const Knowledge& knowledge, std::string_view major) {
  std::optional<std::uint32_t> best;
  for (std::uint32_t build : torch_builds(knowledge)) {
    if (major_of(knowledge.history.builds[build].cuda) == major) best = build;
  }
  return best;
}

// CUDA of a PTX ISA (ptxas of the releases): 8.0 to 8.4 are 12.0 to 12.4, 9.x is 13.x.
std::string cuda_of_ptx(const std::string& isa) {
  if (isa.size() < 3 || isa[1] != '.') return {};
  std::string minor = isa.substr(2);
  if (isa[0] == '9') return "13." + minor;
  if (isa[0] == '7') return "11." + minor;
  static constexpr std::string_view eights[] = {"12.0", "12.1", "12.2", "12.3", "12.4",
                                                "12.5", "12.7", "12.8", "12.9"};
  std::size_t index = minor.size() == 1 ? static_cast<std::size_t>(minor[0] - '0') : 9;
  return isa[0] == '8' && index < std::size(eights) ? std::string(eights[index]) : std::string();
}

std::string package_of(const Side& wants) {
  return wants.owner.name.empty() ? "the package" : wants.owner.name;
}

void add_torch_for_gpu(const Knowledge& knowledge, const ArchRule& rule, Explanation& out) {
  std::vector<std::uint32_t> builds = builds_for(knowledge, rule);
  if (builds.empty()) return;
  const HistoryBuild& newest = knowledge.history.builds[builds.back()];
  std::string reason = rule.until.empty()
                           ? fmt::format("known from CUDA {} on", rule.since)
                           : fmt::format("CUDA {} was the last that builds for it", rule.until);
  out.repairs.push_back(
      {"torch",
       fmt::format(
           "a torch whose CUDA can have sm_{} ({}): {} of the package index; for older GPUs "
           "its builds for CUDA 12.6 (index cu126) have the longest list",
           rule.name, reason, release_range(knowledge.history, builds)),
       fmt::format("pip install 'torch=={}'", newest.version)});
}

}  // namespace

std::optional<Explanation> explain_gpu(Knowledge& knowledge, const Said& said) {
  Explanation out;
  out.kind = "gpu-arch";
  Side wants = wanting_side(knowledge, said);
  std::string name = package_of(wants), arch = gpu_of(knowledge, said);
  const ArchRule* rule = arch.empty() ? nullptr : arch_rule(knowledge, arch);
  std::string gpu = arch.empty() ? "this GPU" : "sm_" + arch;
  if (rule && !rule->gpus.empty()) gpu += " (" + rule->gpus + ")";
  out.sentence = fmt::format(
      "a kernel that {} launches has no machine code for {} and no PTX that "
      "could be compiled for it (CUDA error 209)",
      name, gpu);
  std::optional<std::uint32_t> torch = installed_torch(knowledge);
  bool of_torch = name == "torch" || (wants.owner.name.empty() && torch);
  if (rule && torch) {
    const HistoryBuild& build = knowledge.history.builds[*torch];
    std::vector<std::uint32_t> builds = builds_for(knowledge, *rule);
    bool can = std::binary_search(builds.begin(), builds.end(), *torch);
    if (!can) {
      out.sentence += fmt::format(
          "; torch {} is a build for CUDA {}, which {} sm_{}", build.version, build.cuda,
          rule->until.empty() ? "does not know" : "has dropped", rule->name);
    }
  }
  if (rule && (of_torch || wants.owner.name.empty())) add_torch_for_gpu(knowledge, *rule, out);
  if (name != "torch") {
    std::string list = arch.empty() ? "X.Y" : dotted(arch);
    std::string rebuild =
        wants.owner.name.empty()
            ? ""
            : fmt::format(
                  "TORCH_CUDA_ARCH_LIST={} pip install --no-build-isolation --no-binary {} {}",
                  list, name, name);
    out.repairs.push_back({name,
                           fmt::format("a release or build of {} with code for {}", name,
                                       arch.empty() ? "this GPU" : "sm_" + arch),
                           rebuild});
  }
  if (arch == "87" || arch == "72") {
    out.sentence += "; code for 8.0 or 8.6 does not serve the integrated GPU of a Jetson";
  }
  if (wants.owner.kind == "build cache") {
    out.repairs.push_back({wants.owner.name, "delete what was built for another GPU",
                           "rm -r " + wants.what.substr(0, wants.what.rfind('/'))});
  }
  if (arch.empty()) out.unknown.emplace_back("which GPU it is");
  if (wants.what.empty()) out.unknown.emplace_back("which library's kernel it was");
  out.shows = {
      "python -c 'import torch; print(torch.cuda.get_device_capability(), "
      "torch.cuda.get_arch_list())'",
      "CUDA_LAUNCH_BLOCKING=1 python ...", "wheelvet inspect FILE"};
  if (wants.what.empty()) wants.what = name;
  wants.built_for = "other GPU architectures";
  out.sides = {std::move(wants), Side{"has", gpu, {"GPU", "", ""}, ""}};
  return out;
}

std::optional<Explanation> explain_driver(Knowledge& knowledge, const Said& said) {
  Explanation out;
  out.kind = "ptx-jit/driver";
  std::string cuda = driver_cuda(knowledge, said);
  std::string have(major_of(cuda)), want = cuda_major(knowledge);
  if (want.empty() && !have.empty()) want = std::to_string(leading_number(have) + 1);
  std::string error = part(said, "error");
  out.sentence = fmt::format(
      "the NVIDIA driver{} is older than the CUDA run-time library in the process needs (error {})",
      cuda.empty() ? "" : fmt::format(", which serves CUDA up to {}", cuda), error);
  if (!want.empty()) {
    out.sentence +=
        fmt::format("; CUDA {} needs driver {} or newer", want, least_driver(knowledge, want));
  }
  std::optional<std::uint32_t> torch = newest_for(knowledge, have);
  if (torch) {
    const HistoryBuild& build = knowledge.history.builds[*torch];
    out.repairs.push_back(
        {"torch",
         fmt::format(
             "packages built for CUDA {}: the newest torch of the package index that is one "
             "is {} (CUDA {}); newer ones from torch's own index for that CUDA",
             have, build.version, build.cuda),
         fmt::format("pip install 'torch=={}'", build.version)});
  } else if (!have.empty()) {
    out.repairs.push_back({"torch",
                           fmt::format("packages built for CUDA {}: no torch of the package index "
                                       "since 2.1.0 is one; see torch's own index",
                                       have),
                           ""});
  }
  std::string driver = least_driver(knowledge, want);
  out.repairs.push_back(
      {"NVIDIA driver",
       driver.empty() ? "or a newer driver" : fmt::format("or driver {} or newer", driver), ""});
  out.repairs.push_back({"NVIDIA driver",
                         "or, on data-centre GPUs, the forward-compatibility library (package "
                         "cuda-compat) first on the loader's path",
                         ""});
  out.shows = {"nvidia-smi",
               "python -c 'import torch; print(torch.__version__, torch.version.cuda)'"};
  if (cuda.empty()) out.unknown.emplace_back("which driver it is");
  Side wants{"wants", "CUDA run-time library", {}, want.empty() ? "" : "CUDA " + want};
  std::string torch_release = installed_release(knowledge, "torch");
  if (!torch_release.empty()) wants.owner = {"pip package", "torch", torch_release};
  out.sides = {std::move(wants), Side{"has",
                                      "libcuda.so.1",
                                      {"NVIDIA driver", "NVIDIA driver", ""},
                                      cuda.empty() ? "" : "CUDA up to " + cuda}};
  return out;
}

std::optional<Explanation> explain_ptx(Knowledge& knowledge, const Said& said) {
  Explanation out;
  out.kind = "ptx-jit/driver";
  Side wants = wanting_side(knowledge, said);
  std::string name = package_of(wants), cuda = driver_cuda(knowledge, said);
  std::string built = cuda_of_ptx(part(said, "ptx"));
  if (cuda.empty()) cuda = cuda_of_ptx(part(said, "known"));
  out.sentence = fmt::format(
      "a kernel of {} has no machine code for this GPU, and its PTX was made by a CUDA newer than "
      "the driver{} can compile (error 222): minor-version compatibility does not cover PTX",
      name, cuda.empty() ? "" : fmt::format(" (CUDA {})", cuda));
  std::string least =
      built.empty() ? "the CUDA release that the package was built with" : "CUDA " + built;
  out.repairs.push_back({"NVIDIA driver", fmt::format("a driver for {} or newer", least), ""});
  out.repairs.push_back({"NVIDIA driver",
                         "or, on data-centre GPUs, the forward-compatibility library (cuda-compat) "
                         "of that release",
                         ""});
  out.repairs.push_back(
      {name,
       fmt::format(
           "or a build of {} with machine code for this GPU, or by a toolkit no newer than {}",
           name, cuda.empty() ? "the driver" : "CUDA " + cuda),
       ""});
  out.shows = {"nvidia-smi", "wheelvet inspect FILE"};
  out.unknown.emplace_back("which kernel: other kernels of the same package may have machine code");
  if (wants.what.empty()) wants.what = name;
  wants.built_for = built.empty() ? "a newer CUDA" : "CUDA " + built;
  out.sides = {std::move(wants), Side{"has",
                                      "libcuda.so.1",
                                      {"NVIDIA driver", "NVIDIA driver", ""},
                                      cuda.empty() ? "" : "CUDA " + cuda}};
  return out;
}

std::optional<Explanation> explain_arch(Knowledge& knowledge, const Said& said) {
  Explanation out;
  std::string tool = part(said, "tool"), arch = arch_number(part(said, "arch"));
  const ArchRule* rule = arch.empty() ? nullptr : arch_rule(knowledge, arch);
  out.kind = tool == "ptxas" || tool == "LLVM" ? "ptxas/triton" : "jit-build-toolchain";
  if (!rule) {
    out.sentence = fmt::format("{} does not know the GPU architecture {}: it is older than the GPU",
                               tool, arch.empty() ? "asked for" : "sm_" + arch);
    out.repairs = {{"CUDA toolkit", "a newer CUDA toolkit", ""}};
    out.unknown.emplace_back("which CUDA release knows that architecture first");
    return out;
  }
  std::string since = first_cuda(*rule, arch);
  std::string gpus = rule->gpus.empty() ? "" : " (" + rule->gpus + ")";
  out.sentence = fmt::format("{} does not know sm_{}{}: CUDA {} is the first that does", tool, arch,
                             gpus, since);
  if (!rule->until.empty()) {
    out.sentence += fmt::format(", and CUDA {} the last", rule->until);
  }
  for (const BundledRule& bundled : knowledge.explain.bundled) {
    std::string number = without_suffix(arch);
    bool serves = bundled.least_arch.empty()
                      ? leading_number(number) < 100 || compare_versions(bundled.since, "3.6") < 0
                      : leading_number(number) >= leading_number(bundled.least_arch);
    if (out.kind != "ptxas/triton" || !serves || compare_versions(bundled.version, since) < 0)
      continue;
    out.repairs.push_back({bundled.package,
                           fmt::format("{} {} or newer: its own {} is CUDA {}'s", bundled.package,
                                       bundled.since, bundled.tool, bundled.version),
                           fmt::format("pip install '{}>={}'", bundled.package, bundled.since)});
    break;
  }
  if (out.kind == "ptxas/triton") {
    std::string release = installed_release(knowledge, "triton");
    bool large = leading_number(without_suffix(arch)) >= 100;
    bool newer = !release.empty() && compare_versions(release, "3.6") >= 0;
    std::string variable = large && newer ? "TRITON_PTXAS_BLACKWELL_PATH" : "TRITON_PTXAS_PATH";
    std::string note =
        large && release.empty()
            ? " (from Triton 3.6 on TRITON_PTXAS_BLACKWELL_PATH for sm_100 and above)"
            : "";
    out.repairs.push_back(
        {"configuration",
         fmt::format("or the ptxas of an installed CUDA {} or newer{}", since, note),
         fmt::format("export {}=/usr/local/cuda/bin/ptxas", variable)});
  } else {
    out.repairs.push_back({"CUDA toolkit",
                           fmt::format("a CUDA toolkit from {}{}, first on PATH and in CUDA_HOME",
                                       since, rule->until.empty() ? " on" : " to " + rule->until),
                           "export CUDA_HOME=/usr/local/cuda PATH=/usr/local/cuda/bin:$PATH"});
  }
  out.shows = {tool == "nvcc"
                   ? "which -a nvcc; nvcc --version"
                   : "find / -name 'ptxas*' -type f 2>/dev/null | xargs -I{} {} --version"};
  std::string owner = out.kind == "ptxas/triton" ? "triton" : "";
  out.sides = {
      Side{"wants", "sm_" + arch, {"GPU", "", ""}, "CUDA " + since + " or newer"},
      Side{"has",
           tool,
           {owner.empty() ? "CUDA toolkit" : "pip package", owner.empty() ? "CUDA toolkit" : owner,
            owner.empty() ? "" : installed_release(knowledge, owner)},
           rule->until.empty() ? "an older CUDA" : "another CUDA"}};
  return out;
}

}  // namespace wheelvet
