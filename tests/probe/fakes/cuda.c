/* A driver whose GPUs are this process's memory. */
#include "fake.h"

/* Set by the fake NCCL: work on a stream that never ends. */
FAKE volatile int fake_stream_stalled = 0;

static int sticky = 0; /* an error of a kernel, which every later call repeats */
static int endless = 0;

#define BEGIN(name)                 \
  int fault = fake_fault(name);     \
  if (fault == 700) sticky = fault; \
  if (fault) return fault;          \
  if (sticky) return sticky

/* As the driver reads it: the list ends at the first entry that names no device. */
static int visible(void) {
  int devices = fake_number("FAKE_CUDA_DEVICES", 1), count = 0;
  const char* list = getenv("CUDA_VISIBLE_DEVICES");
  if (!list) return devices;
  while (*list >= '0' && *list <= '9') {
    if (atoi(list) >= devices) break;
    ++count;
    while (*list && *list != ',') ++list;
    if (*list == ',') ++list;
  }
  return count;
}

FAKE int cuInit(unsigned flags) {
  (void)flags;
  BEGIN("cuInit");
  return visible() > 0 ? 0 : 100;
}
FAKE int cuDriverGetVersion(int* version) {
  *version = fake_number("FAKE_CUDA_VERSION", 13000);
  return 0;
}
FAKE int cuGetErrorName(int code, const char** name) {
  *name = code == 34    ? "CUDA_ERROR_STUB_LIBRARY"
          : code == 100 ? "CUDA_ERROR_NO_DEVICE"
          : code == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
          : code == 222 ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
          : code == 500 ? "CUDA_ERROR_NOT_FOUND"
          : code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : code == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"
                        : "CUDA_ERROR_UNKNOWN";
  return 0;
}
FAKE int cuGetErrorString(int code, const char** text) {
  (void)code;
  *text = "words of the fake driver";
  return 0;
}
FAKE int cuDeviceGetCount(int* count) {
  BEGIN("cuDeviceGetCount");
  *count = visible();
  return 0;
}
FAKE int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
FAKE int cuDeviceGetName(char* name, int length, int device) {
  BEGIN("cuDeviceGetName");
  snprintf(name, (size_t)length, "Fake GPU %d \033[31m", device);
  return 0;
}
FAKE int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  (void)device;
  *bytes = 1 << 30;
  return 0;
}
FAKE int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  *value = attribute == 75 ? 9 : attribute == 16 ? 4 : 0;
  return 0;
}
FAKE int cuDeviceGetPCIBusId(char* id, int length, int device) {
  snprintf(id, (size_t)length, "0000:00:0%d.0", device);
  return 0;
}
FAKE int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  memset(uuid, 0xa0 + device, 16);
  return 0;
}
FAKE int cuDeviceGetP2PAttribute(int* value, int attribute, int from, int to) {
  (void)from, (void)to;
  *value = attribute == 2;
  return 0;
}
FAKE int cuDevicePrimaryCtxRetain(void** context, int device) {
  BEGIN("cuDevicePrimaryCtxRetain");
  *context = (void*)(intptr_t)(device + 1);
  return 0;
}
FAKE int cuCtxSetCurrent(void* context) {
  (void)context;
  BEGIN("cuCtxSetCurrent");
  return 0;
}
FAKE int cuCtxSynchronize(void) {
  BEGIN("cuCtxSynchronize");
  while (endless) sleep(1);
  return 0;
}
/* What is loaded: PTX, a cubin of the fake NVRTC, or a container as the tests write it,
 * "FAKE CONTAINER cubins=75,90 ptx=80 isa=90 kernels=a,b;" with the PTX version times ten. */
struct Module {
  char kernels[256]; /* empty: every name is found */
  int binary, ptx;
};
struct Function {
  char name[256];
  int binary, ptx;
};

static const char* field(const char* text, const char* name) {
  const char* at = strstr(text, name);
  return at ? at + strlen(name) : "";
}

/* CUDA 12.x compiles PTX 8.x, CUDA 13.x 9.x. */
static int newest_ptx(void) {
  int cuda = fake_number("FAKE_CUDA_VERSION", 13000);
  return (cuda / 1000 - 4) * 10 + cuda % 1000 / 10;
}

/* As the driver chooses on sm_90: the nearest machine code of the same major, else PTX. */
static int choose(const char* text, struct Module* module) {
  for (const char* at = field(text, "cubins="); *at >= '0' && *at <= '9';) {
    int arch = atoi(at);
    if (arch / 10 == 9 && arch <= 90 && arch > module->binary) module->binary = module->ptx = arch;
    while (*at >= '0' && *at <= '9') ++at;
    if (*at == ',') ++at;
  }
  if (module->binary) return 0;
  int ptx = atoi(field(text, "ptx="));
  if (ptx == 0 || ptx > 90) return 209;
  if (atoi(field(text, "isa=")) > newest_ptx()) return 222;
  module->binary = 90, module->ptx = ptx;
  return 0;
}

/* A container as nvcc makes it (docs/device_code.md): entries of kind 1 (PTX) and 2 (machine code),
 * of which bit 20 of the flags says that they are for their architecture alone. */
static int choose_of_fatbin(const unsigned char* bytes, struct Module* module) {
  uint64_t size;
  memcpy(&size, bytes + 8, 8);
  int ptx = 0;
  for (const unsigned char *entry = bytes + 16, *end = entry + size; entry < end;) {
    uint16_t kind;
    uint32_t header, arch;
    uint64_t payload, flags;
    memcpy(&kind, entry, 2), memcpy(&header, entry + 4, 4), memcpy(&payload, entry + 8, 8);
    memcpy(&arch, entry + 28, 4), memcpy(&flags, entry + 40, 8);
    int alone = (flags >> 20) & 3;
    if (kind == 2 && arch == 90) module->binary = module->ptx = 90;
    if (kind == 1 && (alone ? arch == 90 : arch <= 90)) ptx = (int)arch;
    entry += header + payload;
  }
  if (module->binary) return 0;
  module->binary = 90, module->ptx = ptx;
  return ptx ? 0 : 209;
}

FAKE int cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* names,
                            void** values) {
  (void)count, (void)names, (void)values;
  BEGIN("cuModuleLoadDataEx");
  const char* text = image;
  struct Module* loaded = calloc(1, sizeof *loaded);
  *module = loaded;
  if (strncmp(text, "FAKE CONTAINER", 14) == 0) {
    const char* kernels = field(text, "kernels=");
    snprintf(loaded->kernels, sizeof loaded->kernels, ",%.*s,", (int)strcspn(kernels, ";"),
             kernels);
    return choose(text, loaded);
  }
  if (memcmp(text, "\x50\xed\x55\xba", 4) == 0) return choose_of_fatbin(image, loaded);
  loaded->binary = 90, loaded->ptx = 50;
  return strstr(text, ".entry") || strncmp(text, "FAKE CUBIN", 10) == 0 ? 0 : 200;
}
FAKE int cuModuleGetFunction(void** function, void* module, const char* name) {
  BEGIN("cuModuleGetFunction");
  const struct Module* from = module;
  char wanted[300];
  snprintf(wanted, sizeof wanted, ",%s,", name);
  if (from->kernels[0] && !strstr(from->kernels, wanted)) return 500;
  struct Function* found = calloc(1, sizeof *found);
  snprintf(found->name, sizeof found->name, "%s", name);
  found->binary = from->binary, found->ptx = from->ptx;
  *function = found;
  return 0;
}
FAKE int cuModuleGetFunctionCount(unsigned* count, void* module) {
  (void)module;
  *count = 1;
  return 0;
}
FAKE int cuModuleEnumerateFunctions(void** functions, unsigned count, void* module) {
  const struct Module* from = module;
  struct Function* first = calloc(1, sizeof *first);
  first->binary = from->binary, first->ptx = from->ptx;
  if (count) functions[0] = first;
  return 0;
}
FAKE int cuModuleUnload(void* module) {
  free(module);
  return sticky;
}
FAKE int cuFuncGetAttribute(int* value, int attribute, void* function) {
  const struct Function* asked = function;
  *value = attribute == 5 ? asked->ptx : fake_number("FAKE_CUDA_IMAGE", asked->binary);
  return 0;
}
FAKE int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, void* stream, void** parameters,
                        void** extra) {
  (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream,
      (void)extra;
  BEGIN("cuLaunchKernel");
  uint32_t* out = *(uint32_t**)parameters[0];
  uint32_t count = *(uint32_t*)parameters[1], seed = *(uint32_t*)parameters[2];
  const char* name = ((const struct Function*)function)->name;
  if (strcmp(name, "wheelvet_illegal_address") == 0) sticky = 700;
  if (strcmp(name, "wheelvet_endless") == 0) endless = 1;
  if (sticky || endless) return 0; /* told by the next call that waits */
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t x = (i + seed) * 0x9E3779B1u;
    x = (x ^ (x >> 15)) * 0x85EBCA77u;
    out[i] = x ^ (x >> 13);
  }
  if (fake_number("FAKE_CUDA_WRONG", 0)) out[count / 2] ^= 1; /* one bit of memory gone bad */
  return 0;
}
FAKE int cuMemAlloc_v2(unsigned long long* address, size_t bytes) {
  BEGIN("cuMemAlloc");
  *address = (unsigned long long)(uintptr_t)malloc(bytes);
  return *address ? 0 : 2;
}
FAKE int cuMemFree_v2(unsigned long long address) {
  free((void*)(uintptr_t)address);
  return sticky;
}
FAKE int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
  BEGIN("cuMemcpyHtoD");
  memcpy((void*)(uintptr_t)to, from, bytes);
  return 0;
}
FAKE int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  BEGIN("cuMemcpyDtoH");
  memcpy(to, (void*)(uintptr_t)from, bytes);
  return 0;
}
FAKE int cuMemsetD32_v2(unsigned long long address, unsigned value, size_t count) {
  for (size_t i = 0; i < count; ++i) ((unsigned*)(uintptr_t)address)[i] = value;
  return sticky;
}
FAKE int cuStreamCreate(void** stream, unsigned flags) {
  (void)flags;
  *stream = (void*)1;
  return 0;
}
FAKE int cuStreamQuery(void* stream) {
  (void)stream;
  BEGIN("cuStreamQuery");
  return fake_stream_stalled ? 600 : 0;
}
FAKE int cuStreamSynchronize(void* stream) {
  (void)stream;
  while (fake_stream_stalled) sleep(1);
  return 0;
}
