#include "doctor/driver.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "doctor/new_finding.h"
#include "doctor/words.h"
#include "machine/tree.h"
#include "rules/rules.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_text = 1u << 20;

bool is_version(std::string_view word) {
  return std::count(word.begin(), word.end(), '.') >= 1 &&
         word.find_first_not_of("0123456789.") == std::string_view::npos && word.size() > 4;
}

void read_kernel(const std::string& root, DriverFacts& out) {
  for (const char* path : {"/sys/module/nvidia/version", "/proc/driver/nvidia/version"}) {
    std::string text = text_of(root, path, most_text);
    for (std::string_view word : words_of(lines_of(text).front())) {
      if (!is_version(word)) continue;
      out.kernel = std::string(word);
      out.kernel_from = path;
      return;
    }
  }
}

void take_libcuda(const std::string& root, const std::string& path, const char* through,
                  DriverFacts& out) {
  std::string real = real_path(root, path);
  if (real.empty() || !out.libcuda.empty()) return;
  out.libcuda = real;
  out.libcuda_asked = path;
  out.through = through;
  out.stub = real.find("/stubs/") != std::string::npos || path.find("/stubs/") != std::string::npos;
  out.compat = real.find("/compat/") != std::string::npos;
  std::string_view base = base_of(real);
  constexpr std::string_view stem = "libcuda.so.";
  if (base.starts_with(stem) && is_version(base.substr(stem.size())))
    out.version = std::string(base.substr(stem.size()));
}

// The loader's order for a name: LD_LIBRARY_PATH, ld.so.cache, the default folders.
void read_libcuda(const HostFacts& host, DriverFacts& out) {
  const std::string& root = host.machine.root;
  const Variables& here = host.starts.front().inherited;
  auto path = here.find("LD_LIBRARY_PATH");
  if (path != here.end()) {
    for (std::string_view folder : split_at(path->second.value, ':')) {
      if (!folder.empty())
        take_libcuda(root, fmt::format("{}/libcuda.so.1", folder), "LD_LIBRARY_PATH", out);
    }
  }
  auto cached = host.machine.cache.find("libcuda.so.1");
  if (cached != host.machine.cache.end()) take_libcuda(root, cached->second, "ld.so.cache", out);
  for (const std::string& folder : host.machine.default_folders) {
    take_libcuda(root, folder + "/libcuda.so.1", "a default folder", out);
  }
}

bool may_use(const struct stat& status, const HostFacts& host) {
  if (host.user == "root") return true;
  if ((status.st_mode & 0006) == 0006) return true;
  if (!host.self) return false;  // groups of another user are not looked up
  bool owner = status.st_uid == geteuid() && (status.st_mode & 0600) == 0600;
  return owner || (status.st_gid == getegid() && (status.st_mode & 0060) == 0060);
}

void read_devices(const HostFacts& host, DriverFacts& out) {
  for (const std::string& name : names_in(host.machine.root, "/dev")) {
    bool gpu = name.starts_with("nvidia") &&
               name.find_first_not_of("0123456789", 6) == std::string::npos && name.size() > 6;
    if (!gpu && name != "nvidiactl" && name != "nvidia-uvm") continue;
    std::string path = "/dev/" + name;
    struct stat status = {};
    if (::stat(on_this_host(host.machine.root, path).c_str(), &status) != 0) continue;
    if (!S_ISCHR(status.st_mode)) {
      out.refused.push_back(path + ": no device node");
      continue;
    }
    out.devices.push_back(path);
    if (!may_use(status, host)) {
      out.refused.push_back(fmt::format("{}: mode {:04o}, owner {}:{}", path,
                                        status.st_mode & 07777, status.st_uid, status.st_gid));
    }
  }
}

void read_gpus(const HostFacts& host, const TomlText& rules, DriverFacts& out) {
  for (const std::string& name : names_in(host.machine.root, "/proc/driver/nvidia/gpus")) {
    std::string text = text_of(
        host.machine.root, fmt::format("/proc/driver/nvidia/gpus/{}/information", name), most_text);
    for (std::string_view line : lines_of(text)) {
      if (!line.starts_with("Model:")) continue;
      std::vector<std::string_view> words = words_of(line.substr(6));
      out.gpus.push_back(fmt::format("{}", fmt::join(words, " ")));
    }
  }
  auto tables = rules.find("gpu");
  for (const std::string& model : out.gpus) {
    std::string arch;
    std::size_t longest = 0;
    for (const TomlTable& table :
         tables == rules.end() ? std::vector<TomlTable>{} : tables->second) {
      for (const std::string& known : toml_values(table, "models")) {
        if (known.size() <= longest || model.find(known) == std::string::npos) continue;
        longest = known.size();
        arch = toml_value(table, "arch");
      }
    }
    if (!arch.empty()) out.architectures.push_back(arch);
  }
}

// The driver that every release of a CUDA major runs on (rules/driver.toml).
std::string floor_of(const std::string& cuda) {
  TomlText drivers = read_toml(rules_text("driver.toml"), "rules/driver.toml");
  for (const TomlTable& table : drivers["major"]) {
    if (toml_value(table, "cuda") == major_of(cuda)) return toml_value(table, "driver");
  }
  return {};
}

}  // namespace

DriverFacts read_driver(const HostFacts& host, const TomlText& rules) {
  DriverFacts out;
  read_kernel(host.machine.root, out);
  read_libcuda(host, out);
  read_devices(host, out);
  read_gpus(host, rules, out);
  return out;
}

std::vector<Finding> check_driver(const HostFacts& host) {
  std::vector<Finding> findings;
  const DriverFacts& driver = host.driver;
  auto add = [&](const char* id, Severity severity, std::string title,
                 std::string object = {}) -> Finding& {
    return findings.emplace_back(new_finding(id, severity, std::move(title), std::move(object)));
  };
  if (driver.stub) {
    Finding& finding =
        add("DRV-006", Severity::error,
            fmt::format("libcuda.so.1 is a stub for linking: {}", driver.libcuda_asked),
            driver.libcuda_asked);
    finding.evidence = {"found by " + driver.through,
                        "every call of it returns error 34, cudaErrorStubLibrary"};
    finding.fix = "take the stubs folder out of " + driver.through;
    return findings;
  }
  if (driver.kernel.empty() && driver.libcuda.empty()) {
    add("DRV-001", Severity::note, "no NVIDIA driver was found").evidence = {
        "no /proc/driver/nvidia, no libcuda.so.1: CUDA programs start and see no GPU"};
    return findings;
  }
  if (driver.libcuda.empty()) {
    Finding& finding = add("DRV-005", Severity::error,
                           "the kernel module is loaded, but no libcuda.so.1 is found");
    finding.evidence = {fmt::format("{} says {}", driver.kernel_from, driver.kernel)};
    finding.fix =
        host.live
            ? fmt::format("install the driver's libraries of {}, then ldconfig", driver.kernel)
            : "start the container with the NVIDIA runtime, which brings libcuda.so.1";
  }
  bool both = !driver.kernel.empty() && !driver.version.empty();
  if (both && driver.kernel != driver.version && !driver.compat) {
    Finding& finding = add("DRV-002", Severity::error,
                           fmt::format("kernel module {} and libcuda {} are not of one driver",
                                       driver.kernel, driver.version),
                           driver.libcuda);
    finding.evidence = {fmt::format("{} by {}", driver.libcuda, driver.through),
                        "cuInit returns error 803, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"};
    finding.fix = "restart after a driver update, or install one driver only";
  }
  if (driver.compat) {
    bool older = both && compare_versions(driver.version, driver.kernel) < 0;
    Finding& finding =
        add("DRV-004", older ? Severity::error : Severity::note,
            fmt::format("libcuda.so.1 is of a forward-compatibility package: {}", driver.libcuda),
            driver.libcuda);
    finding.evidence = {fmt::format("found by {}", driver.through),
                        "works on data-centre GPUs only; others return error 804"};
    if (older)
      finding.evidence.push_back(fmt::format("it is older ({}) than the kernel's driver {}",
                                             driver.version, driver.kernel));
    finding.fix = older ? "take its folder out of " + driver.through : "";
  }
  std::string newest = driver.compat && !driver.version.empty() ? driver.version
                       : driver.kernel.empty()                  ? driver.version
                                                                : driver.kernel;
  std::string floor = floor_of(host.torch_cuda);
  if (!floor.empty() && !newest.empty() && compare_versions(newest, floor) < 0) {
    Finding& finding = add(
        "DRV-003", Severity::error,
        fmt::format("driver {} is below what CUDA {} needs, {}", newest, host.torch_cuda, floor));
    finding.evidence = {fmt::format("torch {} is built for CUDA {}", host.torch, host.torch_cuda)};
    finding.fix = fmt::format("driver {} or newer, or a torch built for an older CUDA", floor);
  }
  bool control = std::find(driver.devices.begin(), driver.devices.end(), "/dev/nvidiactl") !=
                 driver.devices.end();
  // A folder that stands for a root has no /dev of its own: only what is there is judged.
  if (!host.live && driver.devices.empty()) control = true;
  if (!driver.kernel.empty() && (!control || !driver.refused.empty())) {
    Finding& finding =
        add("DRV-007", Severity::error,
            driver.refused.empty() ? "the driver is loaded, but its device nodes are not there"
                                   : "device nodes that this user cannot use");
    finding.evidence = driver.refused;
    if (!control) finding.evidence.push_back("/dev/nvidiactl is not there");
    finding.fix = control
                      ? "mode 0666, or the user in the nodes' group"
                      : "nvidia-modprobe -c 0 -u makes them; in a container, the NVIDIA runtime";
  }
  return findings;
}

}  // namespace wheelvet
