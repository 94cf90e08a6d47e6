// Building and compiling at run time: headers, link names, the toolkit's release.
#include <fmt/format.h>

#include <algorithm>

#include "explain/families.h"

namespace wheelvet {
namespace {

bool matches_any(const std::vector<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return matches(pattern, name); });
}

// The CUDA release that packages should be of: torch's, else the newest of CUDA 12.
std::string toolkit_release(const Knowledge& knowledge) {
  std::string release = installed_release(knowledge, "torch");
  std::size_t local = release.find("+cu");
  if (local != std::string::npos && release.size() > local + 5) {
    std::string digits = release.substr(local + 3, 3);
    return digits.substr(0, 2) + "." + digits.substr(2);
  }
  if (std::optional<std::uint32_t> build = installed_torch(knowledge)) {
    const std::string& cuda = knowledge.history.builds[*build].cuda;
    if (!cuda.empty()) return cuda;
  }
  return "12.8";
}

std::string system_package(const DevelopmentRule& rule, const std::string& cuda) {
  std::string dash = cuda;
  std::replace(dash.begin(), dash.end(), '.', '-');
  Parts parts{{"dash", dash}, {"major", std::string(major_of(cuda))}};
  return filled(rule.apt, parts).value_or(rule.apt);
}

std::string pip_package(const DevelopmentRule& rule, const std::string& cuda) {
  if (rule.pip.empty()) return {};
  return major_of(cuda) == "13" ? rule.pip.back() : rule.pip.front();
}

// "7-12.8": where the packages of CUDA 13 put their headers.
std::string include_folder(const std::string& cuda) {
  return major_of(cuda) == "13" ? "nvidia/cu13/include" : "nvidia/*/include";
}

}  // namespace

std::optional<Explanation> explain_header(Knowledge& knowledge, const Said& said) {
  std::string header = part(said, "header");
  Explanation out;
  out.kind = "jit-build-toolchain";
  for (const DevelopmentRule& rule : knowledge.explain.development) {
    if (!matches_any(rule.headers, header)) continue;
    std::string cuda = toolkit_release(knowledge), apt = system_package(rule, cuda);
    std::string pip = pip_package(rule, cuda);
    out.sentence = fmt::format(
        "the compiler does not find {}: the package with it is not installed, or "
        "its folder is not on the include path",
        header);
    out.repairs.push_back({"CUDA toolkit", fmt::format("system package {}", apt),
                           fmt::format("apt install {}", apt)});
    if (!pip.empty()) {
      out.repairs.push_back(
          {pip,
           fmt::format(
               "or pip package {}, whose headers lie in site-packages/{}: name the folder to "
               "the build (CPATH; flashinfer: FLASHINFER_EXTRA_CUDAFLAGS=-I...)",
               pip, include_folder(cuda)),
           fmt::format("pip install {}", pip)});
    }
    out.sides = {Side{"wants", header, {"CUDA toolkit", apt, ""}, ""},
                 Side{"has", "include path", {}, "without it"}};
    out.shows = {fmt::format("find / -name {} 2>/dev/null", header.substr(header.rfind('/') + 1)),
                 "echo $CUDA_HOME; which nvcc"};
    if (pip.empty()) out.repairs.front().side = "system";
    return out;
  }
  // Any header that no CUDA package has is the affair of the project that is built.
  return std::nullopt;
}

std::optional<Explanation> explain_link(Knowledge& knowledge, const Said& said) {
  std::string link = part(said, "link");
  while (link.ends_with(':')) link.pop_back();
  Explanation out;
  out.kind = "jit-build-toolchain";
  for (const DevelopmentRule& rule : knowledge.explain.development) {
    if (std::find(rule.links.begin(), rule.links.end(), link) == rule.links.end()) continue;
    std::string cuda = toolkit_release(knowledge), apt = system_package(rule, cuda);
    std::string pip = pip_package(rule, cuda);
    out.sentence = fmt::format(
        "the linker looks for lib{0}.so (or .a), the name without a release; {1} have only "
        "lib{0}.so.N, and no toolkit with the link name is on its path",
        link, pip.empty() ? "run-time packages" : "pip packages such as " + pip);
    if (link == "cuda") {
      out.repairs.push_back({"CUDA toolkit", "the toolkit's stub is enough to link with",
                             "export LIBRARY_PATH=/usr/local/cuda/lib64/stubs:$LIBRARY_PATH"});
    }
    out.repairs.push_back({"CUDA toolkit", fmt::format("system package {}", apt),
                           fmt::format("apt install {}", apt)});
    out.repairs.push_back(
        {"configuration",
         "or the folder of a whole toolkit on the linker's path (not the loader's)",
         "export LIBRARY_PATH=/usr/local/cuda/lib64:$LIBRARY_PATH"});
    out.sides = {Side{"wants", "lib" + link + ".so", {"CUDA toolkit", apt, ""}, ""},
                 Side{"has", "linker's path", {}, "without it"}};
    out.shows = {fmt::format("find / -name 'lib{}.so*' 2>/dev/null", link),
                 fmt::format("g++ -shared -o /dev/null -Wl,--trace -l{}", link)};
    return out;
  }
  return std::nullopt;
}

std::optional<Explanation> explain_toolkit(Knowledge& knowledge, const Said& said) {
  std::string found = part(said, "found"), wanted = part(said, "wanted");
  Explanation out;
  out.kind = "jit-build-toolchain";
  out.sentence = fmt::format(
      "the nvcc that was found is of CUDA {}, torch was built with CUDA {}: their "
      "major releases must be the same",
      found, wanted);
  std::string dash = wanted;
  std::replace(dash.begin(), dash.end(), '.', '-');
  out.repairs.push_back(
      {"CUDA toolkit",
       fmt::format("the toolkit of CUDA {}, first on PATH and in CUDA_HOME", wanted),
       fmt::format("apt install cuda-toolkit-{0} && export CUDA_HOME=/usr/local/cuda-{1}", dash,
                   wanted)});
  std::vector<std::uint32_t> builds = torch_builds(knowledge);
  std::string releases, newest;
  for (std::uint32_t build : builds) {
    const HistoryBuild& each = knowledge.history.builds[build];
    if (major_of(each.cuda) != major_of(found)) continue;
    newest = each.version;
  }
  std::string index(found);
  index.erase(std::remove(index.begin(), index.end(), '.'), index.end());
  out.repairs.push_back(
      {"torch",
       newest.empty()
           ? fmt::format("or a torch built with CUDA {} (index cu{} of torch, while it has one)",
                         major_of(found), index)
           : fmt::format("or a torch built with CUDA {}: {} is the newest of the package index",
                         major_of(found), newest),
       newest.empty() ? "" : fmt::format("pip install 'torch=={}'", newest)});
  out.sides = {Side{"wants",
                    "torch",
                    {"pip package", "torch", installed_release(knowledge, "torch")},
                    "CUDA " + wanted},
               Side{"has", "nvcc", {"CUDA toolkit", "CUDA toolkit", found}, "CUDA " + found}};
  out.shows = {"which -a nvcc; nvcc --version",
               "python -c 'import torch; print(torch.version.cuda)'"};
  return out;
}

}  // namespace wheelvet
