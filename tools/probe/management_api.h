// The functions of NVML that the probe calls where libnvidia-ml.so.1 is there. Numbers: NVML API
// Reference, compared with the constants of the package nvidia-ml-py.
#pragma once

#include "driver_api.h"

namespace wheelvet::probe {

enum ManagementNumber : int {
  nvml_success = 0,
  nvml_uncorrected = 1,        // nvmlMemoryErrorType_t
  nvml_volatile_counter = 0,   // nvmlEccCounterType_t: since the driver was loaded
  nvml_peer_nvlink = 2,        // nvmlGpuP2PCapsIndex_t
  nvml_peer_ok = 0,            // nvmlGpuP2PStatus_t
  nvml_most_links = 36,        // NVML_NVLINK_MAX_LINKS
  nvml_topology_internal = 0,  // nvmlGpuTopologyLevel_t, as nvidia-smi topo names them
  nvml_topology_single = 10,
  nvml_topology_multiple = 20,
  nvml_topology_host_bridge = 30,
  nvml_topology_node = 40,
  nvml_topology_system = 50,
};

// F(name as libnvidia-ml.so.1 exports it, arguments)
#define WHEELVET_MANAGEMENT_FUNCTIONS(F)                                                       \
  F(nvmlInit_v2, ())                                                                           \
  F(nvmlSystemGetDriverVersion, (char* version, unsigned length))                              \
  F(nvmlDeviceGetHandleByPciBusId_v2, (const char* id, Handle* device))                        \
  F(nvmlDeviceGetPersistenceMode, (Handle device, int* mode))                                  \
  F(nvmlDeviceGetMigMode, (Handle device, unsigned* current, unsigned* pending))               \
  F(nvmlDeviceGetTotalEccErrors, (Handle device, int error, int counter, unsigned long long*)) \
  F(nvmlDeviceGetNvLinkState, (Handle device, unsigned link, int* active))                     \
  F(nvmlDeviceGetP2PStatus, (Handle from, Handle to, int capability, int* status))             \
  F(nvmlDeviceGetTopologyCommonAncestor, (Handle from, Handle to, int* level))

// All may be missing: an older NVML answers less.
#define WHEELVET_MEMBER(name, arguments) int(*name) arguments = nullptr;
struct Management {
  WHEELVET_MANAGEMENT_FUNCTIONS(WHEELVET_MEMBER)
};
#undef WHEELVET_MEMBER

}  // namespace wheelvet::probe
