// A shared library that was not found: what it is, for which CUDA, and who brings it.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "explain/families.h"
#include "facts/metadata.h"
#include "history/name_forms.h"
#include "wheelvet/link.h"

namespace wheelvet {
namespace {

// Sonames that more than one CUDA major release has (CUDA 11, 12 and 13; docs/explain.md).
constexpr std::string_view any_cuda[] = {
    "libcurand.so.10", "libcusparse.so.12", "libcusolver.so.11", "libcudnn",    "libnccl.so.2",
    "libcufile.so.0",  "libcusparseLt",     "libnvshmem",        "libnvvm.so.4"};

std::string_view stem_of(std::string_view soname) { return soname.substr(0, soname.find(".so")); }

std::string_view release_of(std::string_view soname) {
  std::size_t at = soname.find(".so.");
  return at == std::string_view::npos ? std::string_view() : soname.substr(at + 4);
}

// The rule of a soname, or of the same library under another release.
std::size_t rule_index(const Knowledge& knowledge, std::string_view soname, bool& other_release) {
  std::size_t index = library_of(knowledge.rules, soname);
  other_release = index == none;
  if (index != none) return index;
  for (std::size_t i = 0; i < knowledge.rules.libraries.size(); ++i) {
    const LibraryRule& rule = knowledge.rules.libraries[i];
    if (stem_of(rule.soname) == stem_of(soname) && !rule.pip.empty()) return i;
  }
  return none;
}

bool names_no_cuda(std::string_view soname) {
  return std::any_of(std::begin(any_cuda), std::end(any_cuda),
                     [&](std::string_view each) { return soname.starts_with(each); });
}

// The CUDA major that a soname stands for; empty when it stands for several.
std::string cuda_of(const LibraryRule& rule, std::string_view soname) {
  if (names_no_cuda(soname) || rule.pip.empty()) return {};
  const std::string& package = rule.pip.front();
  std::size_t suffix = package.rfind("-cu1");
  if (suffix != std::string::npos && rule.soname == soname) return package.substr(suffix + 3);
  bool own_number = stem_of(soname) == "libcufft" || stem_of(soname) == "libcufftw" ||
                    stem_of(soname) == "libcusolver";
  if (own_number && rule.soname == soname) return "13";
  return std::string(major_of(release_of(soname)));
}

// Packages for two CUDA releases that share their files: "nvidia-nccl-cu12" beside "-cu13".
std::vector<std::string> twins(const Knowledge& knowledge) {
  std::vector<std::string> out;
  for (const auto& [name, release] : knowledge.packages) {
    if (!name.ends_with("-cu12")) continue;
    std::string base = name.substr(0, name.size() - 5);
    for (const std::string& twin : {base + "-cu13", base + "-cu11", base}) {
      if (knowledge.packages.contains(twin)) out.push_back(name + " and " + twin);
    }
  }
  return out;
}

std::string requirement(const LibraryRule& rule, const Knowledge& knowledge,
                        std::string_view soname) {
  std::string package = package_for_cuda(rule.pip, cuda_major(knowledge));
  bool suffixed = package.find("-cu1") != std::string::npos || !package.starts_with("nvidia-");
  std::string_view major = major_of(release_of(soname));
  if (soname.find("builtins") != std::string_view::npos) {
    return fmt::format("{}=={}.*", package, release_of(soname));
  }
  return suffixed || major.empty() ? package : fmt::format("{}=={}.*", package, major);
}

void add_package_repair(const Knowledge& knowledge, const Side& wants, const std::string& cuda,
                        std::vector<Repair>& repairs) {
  const std::string& name = wants.owner.name;
  std::string have = cuda_major(knowledge);
  std::string release = installed_release(knowledge, "torch");
  bool differs = !have.empty() && have != cuda;
  std::string other = differs ? "CUDA " + have : "the CUDA release of the installed torch";
  if (release.find("+cu") != std::string::npos)
    other += ", " + release.substr(release.find('+') + 1);
  Repair repair;
  repair.side = name.empty() ? "the package" : name;
  repair.sentence = fmt::format(
      "a build of {} for {}: from the project's own index or release page where the "
      "package index has only the other",
      repair.side, other);
  if (!name.empty()) repair.command = fmt::format("pip install --upgrade {}", name);
  if (differs) {
    repairs.insert(repairs.begin(), repair);
  } else {
    repairs.push_back(repair);
  }
  if (differs) {
    repairs.push_back({"torch", fmt::format("or a torch for CUDA {}", cuda), ""});
  }
}

void add_path_repair(std::string_view soname, const LibraryRule& rule, Explanation& out) {
  std::string folder = rule.path.empty() ? "its package's folder" : rule.path.front();
  out.repairs.push_back(
      {"configuration",
       fmt::format("if it is installed, nothing leads there: it lies in {}, which the loader does "
                   "not search; import torch first (it loads CUDA's libraries), or open it by path "
                   "before",
                   folder),
       fmt::format("python -c 'import torch, ctypes; ctypes.CDLL(\"{}\")'", soname)});
  out.shows.push_back(fmt::format("pip show -f {} | grep {}", rule.pip.front(), soname));
}

Explanation of_driver(const Side& wants, const std::string& soname) {
  Explanation out;
  out.kind = "missing-library";
  out.sentence = fmt::format(
      "{} of the NVIDIA driver is not there: no driver is installed, or the "
      "container was started without it",
      soname);
  out.repairs = {
      {"NVIDIA driver", "start the container with the GPUs", "docker run --gpus all ..."},
      {"NVIDIA driver", "or install the driver on the host; no pip package has it", ""},
      {wants.owner.name.empty() ? "the package" : wants.owner.name,
       "or, where no GPU is meant to be used, a build without CUDA", ""}};
  out.shows = {"nvidia-smi", "ldconfig -p | grep " + soname};
  return out;
}

// A library of torch itself: the releases that have it date the build.
Explanation of_torch(Knowledge& knowledge, const Side& wants, const std::string& soname) {
  Explanation out;
  out.kind = "missing-library";
  std::vector<std::uint32_t> having;
  std::vector<BuildFacts> facts = read_build_facts(knowledge.history);
  for (std::uint32_t build : torch_builds(knowledge)) {
    bool has =
        std::any_of(facts[build].objects.begin(), facts[build].objects.end(),
                    [&](const HistoryObject& each) { return base_name(each.path) == soname; });
    if (has) having.push_back(build);
  }
  std::string who = wants.what.empty() ? "The module" : std::string(base_name(wants.what));
  std::string range = release_range(knowledge.history, having);
  std::string name = wants.owner.name.empty() ? "the package" : wants.owner.name;
  bool all = having.size() == torch_builds(knowledge).size();
  std::vector<std::uint32_t> builds = torch_builds(knowledge);
  const std::string oldest = builds.empty() ? "" : knowledge.history.builds[builds.front()].version;
  if (having.empty()) {
    out.sentence = fmt::format(
        "{} needs torch's {}, which no torch since {} has: it was built for "
        "an older one",
        who, soname, oldest);
  } else if (all) {
    out.sentence = fmt::format(
        "{} needs torch's {}: torch is not installed in this environment, or "
        "not imported first",
        who, soname);
    out.repairs.push_back({"torch", "install torch; import it first", "pip install torch"});
  } else {
    out.sentence = fmt::format("{} needs torch's {}, which torch {} has", who, soname, range);
    out.repairs.push_back(
        {"torch", "a torch that has it: " + range,
         fmt::format("pip install 'torch=={}'", knowledge.history.builds[having.back()].version)});
  }
  std::string rebuild =
      wants.owner.name.empty()
          ? ""
          : fmt::format("pip install --no-build-isolation --no-binary {} --force-reinstall {}",
                        name, name);
  out.repairs.push_back(
      {name, fmt::format("a build of {} for the installed torch", name), rebuild});
  return out;
}

Explanation of_package(Knowledge& knowledge, const Side& wants, const std::string& soname,
                       const LibraryRule& rule, bool other_release) {
  Explanation out;
  out.kind = "missing-library";
  std::string cuda = rule.kind == "cuda" || rule.kind == "nccl" ? cuda_of(rule, soname) : "";
  std::string who = wants.what.empty() ? (wants.owner.name.empty() ? "Something" : wants.owner.name)
                                       : std::string(base_name(wants.what));
  out.sentence = fmt::format("{} needs {}, which was not found", who, soname);
  if (!cuda.empty()) out.sentence += fmt::format("; it is CUDA {}'s", cuda);
  if (cuda.empty() && (rule.kind == "cuda" || rule.kind == "nccl")) {
    out.sentence += "; its name is the same for several CUDA releases";
  }
  std::string have = cuda_major(knowledge);
  if (!cuda.empty() && !have.empty() && have != cuda) {
    out.sentence += fmt::format(", while torch here is a build for CUDA {}", have);
  }
  if (other_release) {
    out.sentence += fmt::format(" (release {} of {})", release_of(soname), stem_of(soname));
  } else {
    std::string wanted = requirement(rule, knowledge, soname);
    out.repairs.push_back({wanted.substr(0, wanted.find("==")),
                           fmt::format("the package that has {}", soname),
                           fmt::format("pip install '{}'", wanted)});
  }
  if (!cuda.empty()) add_package_repair(knowledge, wants, cuda, out.repairs);
  add_path_repair(soname, rule, out);
  return out;
}

Explanation of_system(const Side& wants, const std::string& soname, const std::string& apt) {
  Explanation out;
  out.kind = "missing-library";
  std::string who = wants.what.empty() ? (wants.owner.name.empty() ? "Something" : wants.owner.name)
                                       : std::string(base_name(wants.what));
  out.sentence =
      fmt::format("{} needs {}, a library of the system, which was not found", who, soname);
  out.repairs.push_back({apt, fmt::format("system package {} (Debian's name)", apt),
                         fmt::format("apt install {}", apt)});
  return out;
}

// A copy that auditwheel renamed: "torchvision.libs/libcudart.41118559.so.12".
Explanation of_bundled(const Knowledge& knowledge, const std::string& path, bool deleted) {
  Explanation out;
  FileOwner owner = owner_of_file(knowledge, path);
  std::string name = owner.name.empty() ? "a package" : owner.name;
  out.kind = deleted ? "duplicate-libraries" : "missing-library";
  out.sentence = fmt::format(
      "{} is {}'s own renamed copy of a library{}", base_name(path), name,
      deleted ? ", still mapped by a process although its file was removed or replaced: two copies "
                "of that library are in the process, and a program took this one's path from "
                "/proc/self/maps"
              : "; its folder was removed or is incomplete");
  out.repairs.push_back({name, "install it again, and restart every process that had it loaded",
                         fmt::format("pip install --force-reinstall --no-deps {}", name)});
  if (deleted) {
    out.repairs.push_back({name,
                           "use one copy of the library: releases of the packages that take it "
                           "from the nvidia packages",
                           fmt::format("pip install --upgrade {}", name)});
    out.shows = {"grep -h libcudart /proc/*/maps | awk '{print $6}' | sort -u"};
  }
  return out;
}

Explanation of_nobody(const Side& wants, const std::string& soname) {
  Explanation out;
  out.kind = "missing-library";
  std::string name = wants.owner.name.empty() ? "the package" : wants.owner.name;
  out.sentence = fmt::format("{} was not found, and no table here says who brings it", soname);
  out.unknown.push_back("who brings " + soname);
  out.shows = {fmt::format("apt-file search {}", soname)};
  out.repairs = {{name, "it may be part of the package itself: install that again",
                  wants.owner.name.empty()
                      ? ""
                      : fmt::format("pip install --force-reinstall --no-cache-dir {}", name)}};
  return out;
}

// "libcudart.41118559.so.12": a hash between stem and ".so".
bool is_renamed(std::string_view path, std::string_view package) {
  if (!bundled_from(path, package).empty()) return true;
  std::string_view stem = stem_of(base_name(path));
  std::size_t dot = stem.rfind('.');
  return dot != std::string_view::npos && stem.size() - dot > 6 &&
         std::all_of(stem.begin() + static_cast<std::ptrdiff_t>(dot) + 1, stem.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::optional<Explanation> explain_library(Knowledge& knowledge, const Said& said) {
  std::string path = part(said, "library");
  std::string soname(base_name(path));
  Side wants = wanting_side(knowledge, said);
  if (part(said, "opener") == "libnvrtc") wants.what = "libnvrtc";
  bool deleted = !part(said, "deleted").empty(), other_release = false;
  FileOwner owner = owner_of_file(knowledge, path);
  std::size_t index = rule_index(knowledge, soname, other_release);
  const LibraryRule* rule = index == none ? nullptr : &knowledge.rules.libraries[index];
  Explanation out;
  if (deleted || is_renamed(path, owner.name)) {
    out = of_bundled(knowledge, path, deleted);
  } else if (rule && rule->kind == "driver") {
    out = of_driver(wants, soname);
  } else if (rule ? rule->kind == "torch" : soname.starts_with("libtorch_")) {
    out = of_torch(knowledge, wants, soname);
  } else if (rule && !rule->pip.empty()) {
    out = of_package(knowledge, wants, soname, *rule, other_release);
  } else if (rule && !rule->apt.empty()) {
    out = of_system(wants, soname, rule->apt);
  } else if (!distro_package(soname).empty()) {
    out = of_system(wants, soname, std::string(distro_package(soname)));
  } else {
    out = of_nobody(wants, soname);
  }
  std::vector<std::string> pairs = twins(knowledge);
  if (!pairs.empty() && out.kind == "missing-library" && rule && rule->kind == "cuda") {
    out.kind = "duplicate-libraries";
    out.sentence += fmt::format("; packages for two CUDA releases lie side by side: {}",
                                fmt::join(pairs, ", "));
    out.repairs.push_back(
        {"environment", "an environment with the packages of one CUDA release only", ""});
  }
  if (wants.owner.name.empty()) out.unknown.emplace_back("who asked for it: the line does not say");
  out.sides = {std::move(wants), Side{"has", soname, std::move(owner), "not found"}};
  return out;
}

}  // namespace wheelvet
