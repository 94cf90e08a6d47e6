#include "doctor/driver.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "checks/coverage.h"
#include "doctor/new_finding.h"
#include "doctor/words.h"
#include "machine/host_gpus.h"
#include "machine/tree.h"
#include "rules/device_rules.h"
#include "rules/rules.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_text = 1u << 20;

bool is_version(std::string_view word) {
  return std::count(word.begin(), word.end(), '.') >= 1 &&
         word.find_first_not_of("0123456789.") == std::string_view::npos && word.size() > 4;
}

void read_kernel(const std::string& root, DriverFacts& out) {
  // sysfs gives the bare number, /proc a line with it.
  for (const char* path : {"/sys/module/nvidia/version", "/proc/driver/nvidia/version"}) {
    out.kernel = driver_version(text_of(root, path, most_text));
    out.kernel_from = path;
    if (!out.kernel.empty()) return;
  }
  out.kernel_from.clear();
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

void read_gpus(const HostFacts& host, DriverFacts& out) {
  constexpr const char* folder = "/proc/driver/nvidia";
  if (names_in(host.machine.root, std::string(folder) + "/gpus").empty()) return;
  DeviceRules rules = load_device_rules();
  try {
    out.gpus = find_host_gpus(on_this_host(host.machine.root, folder)).products;
  } catch (const Unreadable&) {
    return;  // the driver shows folders, but no model in them
  }
  for (const std::string& model : out.gpus) {
    try {
      std::uint16_t arch = read_gpu(model, rules).arch;
      out.architectures.push_back(fmt::format("{}.{}", arch / 10, arch % 10));
    } catch (const WrongUsage&) {
      // A model that rules/device.toml does not know: what depends on it is not judged.
    }
  }
}

}  // namespace

DriverFacts read_driver(const HostFacts& host) {
  DriverFacts out;
  read_kernel(host.machine.root, out);
  read_libcuda(host, out);
  read_devices(host, out);
  read_gpus(host, out);
  return out;
}

std::string driver_in_use(const DriverFacts& driver) {
  bool replaced = driver.compat && !driver.version.empty();
  return replaced || driver.kernel.empty() ? driver.version : driver.kernel;
}

std::vector<Finding> check_host_driver(const HostFacts& host) {
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
