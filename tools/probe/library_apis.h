// The functions of NVRTC, cuRAND, cuBLAS and NCCL that the probe calls, declared here so that the
// probe needs no header of theirs. tests/probe/api_fits_headers.cpp compares them with those
// headers where they are.
#pragma once

#include <climits>
#include <cstddef>

#include "driver_api.h"

namespace wheelvet::probe {

// nvrtcResult: nvrtc.h of 13.0
enum NvrtcCode : int { nvrtc_success = 0, nvrtc_builtin_operation_failure = 7 };

#define WHEELVET_NVRTC_FUNCTIONS(F)                                                           \
  F(nvrtcVersion, (int* major, int* minor))                                                   \
  F(nvrtcCreateProgram, (Handle * program, const char* source, const char* name, int headers, \
                         const char* const* texts, const char* const* names))                 \
  F(nvrtcCompileProgram, (Handle program, int options, const char* const* texts))             \
  F(nvrtcGetProgramLogSize, (Handle program, std::size_t * bytes))                            \
  F(nvrtcGetProgramLog, (Handle program, char* log))                                          \
  F(nvrtcGetPTXSize, (Handle program, std::size_t * bytes))                                   \
  F(nvrtcGetPTX, (Handle program, char* ptx))

// Since CUDA 11.1 and 11.2.
#define WHEELVET_NVRTC_OPTIONAL_FUNCTIONS(F)                  \
  F(nvrtcGetCUBINSize, (Handle program, std::size_t * bytes)) \
  F(nvrtcGetCUBIN, (Handle program, char* image))             \
  F(nvrtcGetNumSupportedArchs, (int* count))                  \
  F(nvrtcGetSupportedArchs, (int* architectures))

// curand.h of 13.0
enum CurandNumber : int { curand_success = 0, curand_philox = 161 };

#define WHEELVET_CURAND_FUNCTIONS(F)                                             \
  F(curandGetVersion, (int* version))                                            \
  F(curandCreateGenerator, (Handle * generator, int type))                       \
  F(curandSetPseudoRandomGeneratorSeed, (Handle generator, unsigned long long))  \
  F(curandGenerateUniform, (Handle generator, float* output, std::size_t count)) \
  F(curandDestroyGenerator, (Handle generator))

// cublas_api.h of 13.0
enum CublasNumber : int { cublas_success = 0, cublas_no_transpose = 0 };

#define WHEELVET_CUBLAS_FUNCTIONS(F)                                                              \
  F(cublasCreate_v2, (Handle * handle))                                                           \
  F(cublasGetVersion_v2, (Handle handle, int* version))                                           \
  F(cublasSgemm_v2, (Handle handle, int transpose_a, int transpose_b, int rows, int columns,      \
                     int inner, const float* alpha, const float* a, int stride_a, const float* b, \
                     int stride_b, const float* beta, float* c, int stride_c))                    \
  F(cublasDestroy_v2, (Handle handle))

// ncclResult_t, ncclDataType_t, ncclRedOp_t: nccl.h of 2.28.9
enum NcclNumber : int {
  nccl_success = 0,
  nccl_in_progress = 7,
  nccl_sum = 0,
  nccl_uint32 = 3,
  nccl_unique_id_bytes = 128,
};

struct NcclId {
  char bytes[nccl_unique_id_bytes];
};

/// The first form of ncclConfig_t (2.14.3). `size` and `version` tell NCCL that nothing follows;
/// newer releases fill the rest with their defaults (parseCommConfig in src/init.cc).
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21403;
  int blocking = 0;
};

// F(name, arguments); NCCL's calls return ncclResult_t, numbers that all of its releases share.
#define WHEELVET_NCCL_FUNCTIONS(F)                                                                 \
  F(ncclGetVersion, (int* version))                                                                \
  F(ncclGetUniqueId, (NcclId * id))                                                                \
  F(ncclCommInitAll, (Handle * communicators, int count, const int* devices))                      \
  F(ncclCommInitRank, (Handle * communicator, int ranks, NcclId id, int rank))                     \
  F(ncclCommDestroy, (Handle communicator))                                                        \
  F(ncclCommAbort, (Handle communicator))                                                          \
  F(ncclCommGetAsyncError, (Handle communicator, int* code))                                       \
  F(ncclGroupStart, ())                                                                            \
  F(ncclGroupEnd, ())                                                                              \
  F(ncclAllReduce, (const void* send, void* receive, std::size_t count, int type, int operation,   \
                    Handle communicator, Handle stream))                                           \
  F(ncclAllGather, (const void* send, void* receive, std::size_t count, int type,                  \
                    Handle communicator, Handle stream))                                           \
  F(ncclReduceScatter, (const void* send, void* receive, std::size_t count, int type,              \
                        int operation, Handle communicator, Handle stream))                        \
  F(ncclBroadcast, (const void* send, void* receive, std::size_t count, int type, int root,        \
                    Handle communicator, Handle stream))                                           \
  F(ncclSend,                                                                                      \
    (const void* send, std::size_t count, int type, int peer, Handle communicator, Handle stream)) \
  F(ncclRecv,                                                                                      \
    (void* receive, std::size_t count, int type, int peer, Handle communicator, Handle stream))

// Since 2.14.3.
#define WHEELVET_NCCL_OPTIONAL_FUNCTIONS(F) \
  F(ncclCommInitRankConfig,                 \
    (Handle * communicator, int ranks, NcclId id, int rank, NcclConfig* config))

#define WHEELVET_MEMBER(name, arguments) int(*name) arguments = nullptr;
struct Nvrtc {
  WHEELVET_NVRTC_FUNCTIONS(WHEELVET_MEMBER)
  WHEELVET_NVRTC_OPTIONAL_FUNCTIONS(WHEELVET_MEMBER)
  const char* (*nvrtcGetErrorString)(int code) = nullptr;
};
struct Curand {
  WHEELVET_CURAND_FUNCTIONS(WHEELVET_MEMBER)
};
struct Cublas {
  WHEELVET_CUBLAS_FUNCTIONS(WHEELVET_MEMBER)
};
struct Nccl {
  WHEELVET_NCCL_FUNCTIONS(WHEELVET_MEMBER)
  WHEELVET_NCCL_OPTIONAL_FUNCTIONS(WHEELVET_MEMBER)
  const char* (*ncclGetErrorString)(int code) = nullptr;
  const char* (*ncclGetLastError)(Handle communicator) = nullptr;  // since 2.13.4
};
#undef WHEELVET_MEMBER

}  // namespace wheelvet::probe
