// The functions of the NVIDIA driver that the probe calls, declared here so that the probe needs no
// CUDA header. tests/probe/api_fits_headers.cpp compares them with cuda.h where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wheelvet::probe {

using DeviceAddress = unsigned long long;  // CUdeviceptr
using Handle = void*;                      // CUcontext, CUmodule, CUfunction, CUstream

// Error numbers of CUresult: cuda.h of 13.0.
enum DriverCode : int {
  cuda_success = 0,
  cuda_stub_library = 34,
  cuda_insufficient_driver = 35,
  cuda_no_device = 100,
  cuda_no_binary = 209,
  cuda_not_ready = 600,
};

// CUdevice_attribute, CUfunction_attribute, CUdevice_P2PAttribute, CUjit_option: cuda.h of 13.0.
enum DriverNumber : int {
  attribute_multiprocessors = 16,
  attribute_compute_mode = 20,
  attribute_ecc_enabled = 32,
  attribute_capability_major = 75,
  attribute_capability_minor = 76,
  function_ptx_version = 5,
  function_binary_version = 6,
  peer_performance_rank = 1,
  peer_access = 2,
  peer_atomics = 3,
  jit_error_log = 5,
  jit_error_log_size = 6,
  stream_non_blocking = 1,
};

struct DeviceUuid {
  unsigned char bytes[16];
};

// F(name as libcuda.so.1 exports it, arguments)
#define WHEELVET_DRIVER_FUNCTIONS(F)                                                              \
  F(cuInit, (unsigned flags))                                                                     \
  F(cuDriverGetVersion, (int* version))                                                           \
  F(cuGetErrorName, (int code, const char** name))                                                \
  F(cuGetErrorString, (int code, const char** text))                                              \
  F(cuDeviceGetCount, (int* count))                                                               \
  F(cuDeviceGet, (int* device, int ordinal))                                                      \
  F(cuDeviceGetName, (char* name, int length, int device))                                        \
  F(cuDeviceTotalMem_v2, (std::size_t * bytes, int device))                                       \
  F(cuDeviceGetAttribute, (int* value, int attribute, int device))                                \
  F(cuDeviceGetPCIBusId, (char* id, int length, int device))                                      \
  F(cuDeviceGetP2PAttribute, (int* value, int attribute, int from, int to))                       \
  F(cuDevicePrimaryCtxRetain, (Handle * context, int device))                                     \
  F(cuCtxSetCurrent, (Handle context))                                                            \
  F(cuCtxSynchronize, ())                                                                         \
  F(cuModuleLoadDataEx,                                                                           \
    (Handle * module, const void* image, unsigned options, int* names, void** values))            \
  F(cuModuleGetFunction, (Handle * function, Handle module, const char* name))                    \
  F(cuModuleUnload, (Handle module))                                                              \
  F(cuFuncGetAttribute, (int* value, int attribute, Handle function))                             \
  F(cuLaunchKernel, (Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,          \
                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes, \
                     Handle stream, void** parameters, void** extra))                             \
  F(cuMemAlloc_v2, (DeviceAddress * address, std::size_t bytes))                                  \
  F(cuMemFree_v2, (DeviceAddress address))                                                        \
  F(cuMemcpyHtoD_v2, (DeviceAddress to, const void* from, std::size_t bytes))                     \
  F(cuMemcpyDtoH_v2, (void* to, DeviceAddress from, std::size_t bytes))                           \
  F(cuMemsetD32_v2, (DeviceAddress address, unsigned value, std::size_t count))                   \
  F(cuStreamCreate, (Handle * stream, unsigned flags))                                            \
  F(cuStreamQuery, (Handle stream))                                                               \
  F(cuStreamSynchronize, (Handle stream))

// Since CUDA 11.4 (a driver without it is older than every toolkit served but one); the others
// since 12.4.
#define WHEELVET_DRIVER_OPTIONAL_FUNCTIONS(F)                   \
  F(cuDeviceGetUuid_v2, (DeviceUuid * uuid, int device))        \
  F(cuModuleGetFunctionCount, (unsigned* count, Handle module)) \
  F(cuModuleEnumerateFunctions, (Handle * functions, unsigned count, Handle module))

#define WHEELVET_MEMBER(name, arguments) int(*name) arguments = nullptr;
struct Driver {
  WHEELVET_DRIVER_FUNCTIONS(WHEELVET_MEMBER)
  WHEELVET_DRIVER_OPTIONAL_FUNCTIONS(WHEELVET_MEMBER)
};
#undef WHEELVET_MEMBER

}  // namespace wheelvet::probe
