// Does the device code of the targets run on the GPUs that were asked about, and with which driver.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "checks/alternatives.h"
#include "checks/checks.h"

namespace wheelvet {
namespace {

bool contains(const std::vector<std::uint16_t>& list, std::uint16_t arch) {
  return std::find(list.begin(), list.end(), arch) != list.end();
}

// Why a package does not use a library on a GPU, or empty.
std::string not_used(const DeviceRules& rules, const std::string& package, const std::string& path,
                     std::uint16_t arch) {
  for (const DeviceUse& use : rules.uses) {
    if (use.package != package || !matches(use.library, path)) continue;
    bool used = use.on.empty() ? !contains(use.not_on, arch) : contains(use.on, arch);
    if (!used) return use.because;
  }
  return {};
}

// The driver that compiles the PTX that has to be compiled, or that knows the GPU at all.
void set_driver(const DeviceRules& rules, std::uint16_t arch, GpuCoverage& out) {
  if (const CudaRelease* known = release_for_gpu(rules, arch)) {
    out.driver = known->driver;
    out.driver_because = fmt::format("the first that knows {}, of CUDA {}", out.gpu, known->cuda);
  }
  std::string newest;
  for (const LibraryCoverage& library : out.libraries) {
    bool counts = library.not_used.empty() && !library.ptx_version.empty();
    if (counts && compare_versions(library.ptx_version, newest) > 0) newest = library.ptx_version;
  }
  if (newest.empty()) return;
  const CudaRelease* needed = release_for_ptx(rules, newest);
  if (!needed) {
    out.driver.clear();
    out.driver_because = fmt::format("PTX {} is newer than rules/device.toml knows", newest);
  } else if (compare_versions(needed->driver, out.driver) > 0) {
    out.driver = needed->driver;
    out.driver_because = fmt::format("compiles PTX {}, of CUDA {}", newest, needed->cuda);
  }
}

// Roots whose load brings the library in.
std::vector<std::string> roots_with(const Run& run, const std::vector<RootView>& roots,
                                    const std::string& path) {
  std::vector<std::string> out;
  auto file = run.scene.by_path.find(path);
  if (file == run.scene.by_path.end()) return out;
  for (const RootView& view : roots) {
    bool with = std::any_of(view.objects.begin(), view.objects.end(), [&](std::size_t index) {
      return view.object(index).file == file->second;
    });
    if (with) out.push_back(view.path);
  }
  return out;
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t most = 16;
  std::vector<std::string> shown(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), most)));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  return names.size() > most ? text + fmt::format(" and {} more", names.size() - most) : text;
}

std::string containers_text(std::size_t count) {
  return fmt::format("{} container{}", count, count == 1 ? "" : "s");
}

struct Checker {
  const Run& run;
  const std::vector<RootView>& roots;
  std::vector<Finding> out = {};
  FindingSet shared = {};

  Finding& add(const char* id, Severity severity, const LibraryCoverage& library,
               std::string title) {
    Finding& finding = out.emplace_back();
    finding.id = id;
    finding.severity = severity;
    finding.title = std::move(title);
    finding.objects = {library.path};
    finding.roots = roots_with(run, roots, library.path);
    return finding;
  }

  // CUDA's own libraries choose among kernels for single architectures, of which they have
  // thousands.
  bool of_cuda(const std::string& path) const {
    auto file = run.scene.by_path.find(path);
    if (file == run.scene.by_path.end()) return false;
    const std::string& soname = run.scene.files[file->second].facts->elf.soname;
    std::size_t rule = library_of(*run.scene.rules, soname);
    if (rule == none) return false;
    const std::string& kind = run.scene.rules->libraries[rule].kind;
    return kind == "cuda" || kind == "nccl";
  }

  // Alternatives that the package does not use on this GPU cannot stand in.
  void no_code(const GpuCoverage& coverage, const LibraryCoverage& library) {
    const std::string& gpu = coverage.gpu;
    Finding& finding =
        add("GPU-001", Severity::error, library, fmt::format("no device code for {}", gpu));
    for (const LibraryCoverage& other : coverage.libraries) {
      bool alternative =
          !other.not_used.empty() && without_variant(other.path) == without_variant(library.path);
      if (!alternative) continue;
      for (const std::string& root : roots_with(run, roots, other.path)) {
        add_once(finding.roots, root);
      }
      finding.evidence.push_back(
          fmt::format("{} does not stand in: {}", other.path, other.not_used));
    }
    finding.evidence.insert(finding.evidence.begin(),
                            fmt::format("{}, for {}", containers_text(library.containers),
                                        list_of(library.architectures)));
    finding.cause = fmt::format(
        "none of it runs on {}: it loads, and the first kernel fails with "
        "cudaErrorNoKernelImageForDevice (209)",
        gpu);
    finding.fix = fmt::format("a build with code for {}, or with PTX for it or an older one", gpu);
  }

  void gaps(const std::string& gpu, const LibraryCoverage& library) {
    bool forgotten = library.portable_gaps != 0 && !of_cuda(library.path);
    Finding& finding = add(forgotten ? "GPU-002" : "GPU-003",
                           forgotten ? Severity::warning : Severity::note, library,
                           forgotten ? fmt::format("some device code was not built for {}", gpu)
                                     : fmt::format("some kernels are for other GPUs than {}", gpu));
    std::size_t lacking = library.unserved;
    finding.evidence.push_back(fmt::format("{} of {} have nothing for {}; they are for {}", lacking,
                                           containers_text(library.containers), gpu,
                                           list_of(library.gap_architectures)));
    if (library.kernels_without != 0) {
      finding.evidence.push_back(fmt::format("{} kernels, such as", library.kernels_without));
      for (const std::string& name : library.examples) finding.evidence.push_back(name);
    }
    finding.cause = forgotten ? "they were built for several architectures, and not for all that "
                                "the rest of the library was built for"
                              : "they were built for one architecture each; a library chooses "
                                "among such kernels by itself";
    if (forgotten) finding.fix = fmt::format("a build of all its code for {}", gpu);
  }

  // One finding for all that is compiled from one version of PTX.
  void compiled(const GpuCoverage& gpu, const LibraryCoverage& library) {
    const std::string& ptx = library.ptx_version;
    const CudaRelease* release = release_for_ptx(run.device->rules, ptx);
    std::string driver =
        release ? "driver " + release->driver : "a driver newer than any known here";
    const std::string& own = run.device->driver;
    bool too_old = release && !own.empty() && compare_versions(own, release->driver) < 0;
    Finding& finding = shared.at(gpu.gpu + " " + ptx, too_old ? "GPU-005" : "GPU-004",
                                 too_old ? Severity::error : Severity::note);
    finding.title =
        too_old
            ? fmt::format("PTX {} for {} is newer than driver {}", ptx, gpu.gpu, own)
            : fmt::format("compiled for {} by the driver at first use, from PTX {}", gpu.gpu, ptx);
    add_once(finding.objects, library.path);
    for (const std::string& root : roots_with(run, roots, library.path)) {
      add_once(finding.roots, root);
    }
    add_few(finding.evidence,
            fmt::format("{}: {} of {}", library.path, library.compiled, library.containers));
    finding.cause = fmt::format("PTX {} takes {} or newer{}", ptx, driver,
                                too_old ? ": cudaErrorUnsupportedPtxVersion (222)" : "");
    if (too_old) {
      finding.fix = fmt::format("{} or newer, or a build with code for {}", driver, gpu.gpu);
    }
  }

  void unknown_gpu(const Gpu& gpu) {
    const CudaRelease* release = release_for_gpu(run.device->rules, gpu.arch);
    const std::string& own = run.device->driver;
    if (!release || own.empty() || compare_versions(own, release->driver) >= 0) return;
    Finding& finding = out.emplace_back();
    finding.id = "GPU-006";
    finding.severity = Severity::error;
    finding.title = fmt::format("driver {} does not know {}", own, gpu.name);
    finding.cause = fmt::format("{} came with CUDA {}", gpu.name, release->cuda);
    finding.fix = fmt::format("driver {} or newer", release->driver);
  }
};

// The architecture that a folder or file name promises ("sm90/common_ops"), or 0.
std::uint16_t promised_arch(const std::string& path) {
  for (std::size_t at = path.find("sm"); at != std::string::npos; at = path.find("sm", at + 1)) {
    if (at != 0 && std::isalnum(static_cast<unsigned char>(path[at - 1]))) continue;
    std::size_t digit = at + 2 + (at + 2 < path.size() && path[at + 2] == '_' ? 1 : 0);
    std::size_t end = path.find_first_not_of("0123456789", digit);
    if (end == std::string::npos) end = path.size();
    if (end - digit == 2 || end - digit == 3) {
      return static_cast<std::uint16_t>(std::stoi(path.substr(digit, end - digit)));
    }
  }
  return 0;
}

void check_names(const Run& run, const std::vector<RootView>& roots, std::vector<Finding>& out) {
  for (const SceneFile& file : run.scene.files) {
    const DeviceCode& code = file.facts->code;
    std::uint16_t arch =
        file.target && code.read ? promised_arch(file.facts->path) : std::uint16_t{0};
    if (arch == 0) continue;
    LibraryCoverage library = cover(file.facts->path, code, arch, run.device->rules);
    if (library.containers == 0 || library.unserved + library.elsewhere != library.containers)
      continue;
    Finding& finding = out.emplace_back();
    finding.id = "GPU-007";
    finding.severity = Severity::warning;
    finding.title = fmt::format("its name says sm_{}, and it has no code for that", arch);
    finding.objects = {library.path};
    finding.roots = roots_with(run, roots, library.path);
    finding.evidence = {list_of(library.architectures)};
  }
}

}  // namespace

void cover_targets(const std::vector<Input>& inputs, const Facts& facts, const Scene& scene,
                   DeviceQuestion& question) {
  for (const Gpu& gpu : question.gpus) {
    GpuCoverage& out = question.coverage.emplace_back();
    out.gpu = gpu.name;
    for (const GpuRule& rule : question.rules.gpus) {
      if (rule.arch == gpu.arch) out.products = rule.products;
    }
    for (const SceneFile& file : scene.files) {
      if (!file.target || file.facts->code.containers.empty()) continue;
      LibraryCoverage& library = out.libraries.emplace_back(
          cover(file.facts->path, file.facts->code, gpu.arch, question.rules));
      if (file.package == none) continue;
      std::string package = normalised_name(scene.packages[file.package].facts->name);
      library.not_used = not_used(question.rules, package, library.path, gpu.arch);
    }
    for (const InputFacts& input : facts.inputs) {
      if (input.input >= inputs.size() || !inputs[input.input].target) continue;
      for (const DeviceFile& file : input.device_files) {
        if (file.code.containers.empty()) continue;
        out.libraries.push_back(cover(file.path, file.code, gpu.arch, question.rules));
      }
    }
    set_driver(question.rules, gpu.arch, out);
  }
}

std::vector<Finding> check_device_code(const Run& run, const std::vector<RootView>& roots) {
  Checker checker{run, roots};
  if (!run.device) return {};
  std::set<std::string> loaded;
  for (const SceneFile& file : run.scene.files) loaded.insert(file.facts->path);
  for (std::size_t i = 0; i < run.device->gpus.size(); ++i) {
    const GpuCoverage& gpu = run.device->coverage[i];
    checker.unknown_gpu(run.device->gpus[i]);
    for (const LibraryCoverage& library : gpu.libraries) {
      // A file of device code is one of many that a package picks from by its own rules.
      bool asked =
          library.not_used.empty() && library.containers != 0 && loaded.contains(library.path);
      if (!asked) continue;
      if (library.unserved + library.elsewhere == library.containers) {
        checker.no_code(gpu, library);
        continue;
      }
      if (library.unserved != 0) checker.gaps(gpu.gpu, library);
      if (library.compiled != 0) checker.compiled(gpu, library);
    }
  }
  check_names(run, roots, checker.out);
  std::vector<Finding> shared = checker.shared.take();
  std::move(shared.begin(), shared.end(), std::back_inserter(checker.out));
  return std::move(checker.out);
}

}  // namespace wheelvet
