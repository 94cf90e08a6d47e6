// Driver: versions, devices, and how they are linked.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>

#include "library.h"
#include "steps.h"

namespace wheelvet::probe {
namespace {

/// The oldest driver that runs programs of a CUDA major: NVIDIA, CUDA Compatibility, minor version
/// compatibility.
struct Floor {
  int major;
  const char* driver;
};
constexpr Floor floors[] = {{11, "450.80.02"}, {12, "525.60.13"}, {13, "580.65.06"}};

const char* floor_of(int major) {
  for (const Floor& floor : floors) {
    if (floor.major == major) return floor.driver;
  }
  return "a newer driver than this program knows";
}

/// CUcomputemode, cuda.h of 13.0.
std::string compute_mode(int mode) {
  if (mode == 0) return "default";
  if (mode == 2) return "prohibited";
  if (mode == 3) return "exclusive process";
  return fmt::format("mode {}", mode);
}

std::string uuid_text(const DeviceUuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

/// From NVML, else from the kernel module's own file.
std::string driver_version(const Management& management) {
  char version[96] = "";  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE is 80
  if (management.nvmlSystemGetDriverVersion &&
      management.nvmlSystemGetDriverVersion(version, 80) == nvml_success) {
    return version;
  }
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::smatch found;
  if (!std::getline(file, line)) return "";
  return std::regex_search(line, found, std::regex("[0-9]{3,}\\.[0-9]+(\\.[0-9]+)?")) ? found.str()
                                                                                      : "";
}

Management open_management(Step& step) {
  std::string error;
  about_to(step, "open " + step.request.targets.management);
  Library library = open_library(step.request.targets.management, error);
  if (!library.handle) return {};
  Management management = management_functions(library);
  about_to(step, "nvmlInit");
  if (!management.nvmlInit_v2 || management.nvmlInit_v2() != nvml_success) return {};
  step.answer.libraries.push_back({"libnvidia-ml.so.1", library.path, ""});
  return management;
}

void ask_management(const Management& management, DeviceFacts& facts) {
  Handle device = nullptr;
  if (!management.nvmlDeviceGetHandleByPciBusId_v2 ||
      management.nvmlDeviceGetHandleByPciBusId_v2(facts.pci.c_str(), &device) != nvml_success) {
    return;
  }
  int mode = 0;
  if (management.nvmlDeviceGetPersistenceMode &&
      management.nvmlDeviceGetPersistenceMode(device, &mode) == nvml_success) {
    facts.persistence = mode != 0;
  }
  unsigned current = 0, pending = 0;
  if (management.nvmlDeviceGetMigMode &&
      management.nvmlDeviceGetMigMode(device, &current, &pending) == nvml_success) {
    facts.mig = current != 0;
  }
  unsigned long long errors = 0;
  if (management.nvmlDeviceGetTotalEccErrors &&
      management.nvmlDeviceGetTotalEccErrors(device, nvml_uncorrected, nvml_volatile_counter,
                                             &errors) == nvml_success) {
    facts.uncorrected_errors = errors;
  }
  if (!management.nvmlDeviceGetNvLinkState) return;
  int active = 0;
  for (unsigned link = 0; link < nvml_most_links; ++link) {
    int state = 0;
    if (management.nvmlDeviceGetNvLinkState(device, link, &state) != nvml_success) break;
    active += state != 0;
  }
  facts.active_nvlinks = active;
}

DeviceFacts describe(const Driver& driver, const Management& management, const Gpu& gpu) {
  DeviceFacts facts;
  facts.index = gpu.index;
  facts.capability_major = gpu.capability_major;
  facts.capability_minor = gpu.capability_minor;
  char text[256] = "";
  must(driver, driver.cuDeviceGetName(text, sizeof text, gpu.device), "cuDeviceGetName");
  facts.name = text;
  std::size_t memory = 0;
  must(driver, driver.cuDeviceTotalMem_v2(&memory, gpu.device), "cuDeviceTotalMem");
  facts.memory = memory;
  must(driver, driver.cuDeviceGetPCIBusId(text, sizeof text, gpu.device), "cuDeviceGetPCIBusId");
  facts.pci = text;
  int mode = 0, ecc = 0;
  must(driver,
       driver.cuDeviceGetAttribute(&facts.multiprocessors, attribute_multiprocessors, gpu.device),
       "cuDeviceGetAttribute");
  must(driver, driver.cuDeviceGetAttribute(&mode, attribute_compute_mode, gpu.device),
       "cuDeviceGetAttribute");
  must(driver, driver.cuDeviceGetAttribute(&ecc, attribute_ecc_enabled, gpu.device),
       "cuDeviceGetAttribute");
  facts.compute_mode = compute_mode(mode);
  facts.ecc = ecc != 0;
  DeviceUuid uuid{};
  if (driver.cuDeviceGetUuid_v2 && driver.cuDeviceGetUuid_v2(&uuid, gpu.device) == cuda_success) {
    facts.uuid = uuid_text(uuid);
  }
  ask_management(management, facts);
  return facts;
}

/// As `nvidia-smi topo -m` names the ways between two GPUs.
std::string link_type(const Management& management, const std::string& from,
                      const std::string& to) {
  Handle a = nullptr, b = nullptr;
  if (!management.nvmlDeviceGetHandleByPciBusId_v2 ||
      management.nvmlDeviceGetHandleByPciBusId_v2(from.c_str(), &a) != nvml_success ||
      management.nvmlDeviceGetHandleByPciBusId_v2(to.c_str(), &b) != nvml_success) {
    return "";
  }
  int status = -1;
  if (management.nvmlDeviceGetP2PStatus &&
      management.nvmlDeviceGetP2PStatus(a, b, nvml_peer_nvlink, &status) == nvml_success &&
      status == nvml_peer_ok) {
    return "NVLINK";
  }
  int level = -1;
  if (!management.nvmlDeviceGetTopologyCommonAncestor ||
      management.nvmlDeviceGetTopologyCommonAncestor(a, b, &level) != nvml_success) {
    return "";
  }
  if (level <= nvml_topology_single) return "PIX";
  if (level <= nvml_topology_multiple) return "PXB";
  if (level <= nvml_topology_host_bridge) return "PHB";
  if (level <= nvml_topology_node) return "NODE";
  return "SYS";
}

LinkFacts link_between(const Driver& driver, const Management& management, const Gpu& a,
                       const Gpu& b, const std::vector<DeviceFacts>& devices) {
  LinkFacts link;
  link.from = a.index;
  link.to = b.index;
  int access = 0, atomics = 0;
  must(driver, driver.cuDeviceGetP2PAttribute(&access, peer_access, a.device, b.device),
       "cuDeviceGetP2PAttribute");
  must(driver, driver.cuDeviceGetP2PAttribute(&atomics, peer_atomics, a.device, b.device),
       "cuDeviceGetP2PAttribute");
  must(driver,
       driver.cuDeviceGetP2PAttribute(&link.performance_rank, peer_performance_rank, a.device,
                                      b.device),
       "cuDeviceGetP2PAttribute");
  link.peer_access = access != 0;
  link.atomics = atomics != 0;
  link.type = link_type(management, devices[static_cast<std::size_t>(a.index)].pci,
                        devices[static_cast<std::size_t>(b.index)].pci);
  return link;
}

/// CUDA_VISIBLE_DEVICES ends silently at the first entry that names no device.
void compare_visible(Step& step, std::size_t seen) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (!visible || !*visible) return;
  std::string list = visible;
  auto named = static_cast<std::size_t>(std::count(list.begin(), list.end(), ',')) + 1;
  step.answer.checks.push_back({"CUDA_VISIBLE_DEVICES", fmt::format("'{}' names {}", list, named),
                                fmt::format("{} visible", seen), named == seen});
}

/// The CUDA major of the target, from the soname of a library whose soname carries it.
int target_major(const Targets& targets) {
  for (const std::string& path : {targets.nvrtc, targets.cublas}) {
    std::smatch found;
    if (std::regex_search(path, found, std::regex("\\.so\\.([0-9]+)"))) return std::stoi(found[1]);
  }
  return 0;
}

void compare_floor(Step& step, const DriverFacts& driver) {
  int major = target_major(step.request.targets);
  if (major == 0) return;
  step.answer.checks.push_back(
      {fmt::format("driver for CUDA {}", major),
       fmt::format("at least {}, which offers CUDA {}", floor_of(major), major),
       fmt::format("{} offers CUDA {}.{}", driver.version.empty() ? "driver" : driver.version,
                   driver.cuda / 1000, driver.cuda % 1000 / 10),
       driver.cuda / 1000 >= major});
}

void compare_ecc(Step& step, const DeviceFacts& device) {
  if (!device.uncorrected_errors) return;
  step.answer.checks.push_back(
      {fmt::format("GPU {} memory", device.index), "no uncorrected ECC error",
       fmt::format("{} uncorrected", *device.uncorrected_errors), *device.uncorrected_errors == 0});
}

}  // namespace

void ask_driver(Step& step) {
  Driver driver = open_driver(step);
  DriverFacts facts;
  must(driver, driver.cuDriverGetVersion(&facts.cuda), "cuDriverGetVersion");
  Management management = open_management(step);
  facts.version = driver_version(management);
  step.answer.driver = facts;
  step.answer.libraries.front().version =
      fmt::format("CUDA {}.{}", facts.cuda / 1000, facts.cuda % 1000 / 10);
  compare_floor(step, facts);

  about_to(step, "list the GPUs");
  std::vector<Gpu> gpus = list_gpus(driver);
  compare_visible(step, gpus.size());
  for (const Gpu& gpu : gpus) {
    about_to(step, fmt::format("ask GPU {}", gpu.index));
    step.answer.devices.push_back(describe(driver, management, gpu));
    compare_ecc(step, step.answer.devices.back());
  }
  for (const Gpu& a : gpus) {
    for (const Gpu& b : gpus) {
      if (a.index == b.index) continue;
      step.answer.links.push_back(link_between(driver, management, a, b, step.answer.devices));
    }
  }
}

}  // namespace wheelvet::probe
