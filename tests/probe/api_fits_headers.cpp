// Compiled, never run: our declarations of the vendor's functions against the headers that were
// found. Enumerations are int to us and handles void*, so that shapes are compared: pointers with
// pointers, numbers with numbers of the same size.
#include "library_apis.h"
#include "management_api.h"

#include <type_traits>

#ifdef WITH_CUDA
#include <cuda.h>
#include <nvrtc.h>
#endif
#ifdef WITH_MATH
#include <cublas_v2.h>
#include <curand.h>
#endif
#ifdef WITH_NCCL
#include <nccl.h>
#endif

namespace wheelvet::probe {

template <typename T>
constexpr bool is_number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <typename Ours, typename Theirs>
constexpr bool same_shape = sizeof(Ours) == sizeof(Theirs) &&
                            ((std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) ||
                             (is_number<Ours> && is_number<Theirs> &&
                              std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>) ||
                             (std::is_class_v<Ours> && std::is_class_v<Theirs>));

template <typename Ours, typename Theirs>
constexpr bool fits = false;
template <typename R, typename... A, typename S, typename... B>
constexpr bool fits<R (*)(A...), S (*)(B...)> = [] {
  if constexpr (sizeof...(A) != sizeof...(B))
    return false;
  else
    return same_shape<R, S> && (same_shape<A, B> && ...);
}();

#define FITS(name, arguments) \
  static_assert(fits<int(*) arguments, decltype(&::name)>, #name " is declared otherwise");

#ifdef WITH_CUDA
WHEELVET_DRIVER_FUNCTIONS(FITS)
static_assert(fits<int (*)(DeviceUuid*, int), decltype(&::cuDeviceGetUuid_v2)>);
static_assert(sizeof(DeviceUuid) == sizeof(CUuuid) && sizeof(DeviceAddress) == sizeof(CUdeviceptr));
static_assert(cuda_stub_library == CUDA_ERROR_STUB_LIBRARY &&
              cuda_no_device == CUDA_ERROR_NO_DEVICE && cuda_insufficient_driver == 35 &&
              cuda_not_ready == CUDA_ERROR_NOT_READY);
static_assert(attribute_multiprocessors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT &&
              attribute_compute_mode == CU_DEVICE_ATTRIBUTE_COMPUTE_MODE &&
              attribute_ecc_enabled == CU_DEVICE_ATTRIBUTE_ECC_ENABLED &&
              attribute_capability_major == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
              attribute_capability_minor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(function_ptx_version == CU_FUNC_ATTRIBUTE_PTX_VERSION &&
              function_binary_version == CU_FUNC_ATTRIBUTE_BINARY_VERSION);
static_assert(peer_performance_rank == CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK &&
              peer_access == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED &&
              peer_atomics == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED);
static_assert(jit_error_log == CU_JIT_ERROR_LOG_BUFFER &&
              jit_error_log_size == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES &&
              stream_non_blocking == CU_STREAM_NON_BLOCKING);
WHEELVET_NVRTC_FUNCTIONS(FITS)
WHEELVET_NVRTC_OPTIONAL_FUNCTIONS(FITS)
static_assert(nvrtc_builtin_operation_failure == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE);
#endif

#ifdef WITH_MATH
WHEELVET_CURAND_FUNCTIONS(FITS)
WHEELVET_CUBLAS_FUNCTIONS(FITS)
static_assert(curand_philox == CURAND_RNG_PSEUDO_PHILOX4_32_10 &&
              cublas_no_transpose == CUBLAS_OP_N);
#endif

#ifdef WITH_NCCL
WHEELVET_NCCL_FUNCTIONS(FITS)
WHEELVET_NCCL_OPTIONAL_FUNCTIONS(FITS)
static_assert(nccl_in_progress == ncclInProgress && nccl_sum == ncclSum &&
              nccl_uint32 == ncclUint32 && nccl_unique_id_bytes == NCCL_UNIQUE_ID_BYTES &&
              sizeof(NcclId) == sizeof(ncclUniqueId));
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic) &&
              offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version) &&
              offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
#endif

}  // namespace wheelvet::probe
