/* NVRTC that compiles one program, when its built-in functions lie beside it. */
#include "fake.h"

#include <dlfcn.h>

static const char image[] = "FAKE CUBIN";
static char log_text[4200];

FAKE int nvrtcVersion(int* major, int* minor) {
  *major = 13, *minor = 0;
  return fake_fault("nvrtcVersion");
}
FAKE const char* nvrtcGetErrorString(int code) {
  return code == 7 ? "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE" : "NVRTC_ERROR";
}
FAKE int nvrtcCreateProgram(void** program, const char* source, const char* name, int headers,
                            const char* const* texts, const char* const* names) {
  (void)source, (void)name, (void)headers, (void)texts, (void)names;
  *program = (void*)1;
  return 0;
}
FAKE int nvrtcCompileProgram(void* program, int options, const char* const* texts) {
  (void)program, (void)options, (void)texts;
  int fault = fake_fault("nvrtcCompileProgram");
  if (fault) return fault;
  Dl_info own;
  dladdr((void*)nvrtcCompileProgram, &own);
  char path[4096];
  snprintf(path, sizeof path, "%s", own.dli_fname);
  snprintf(strrchr(path, '/'), 64, "/libnvrtc-builtins.so.13.0");
  if (dlopen(path, RTLD_NOW)) return 0;
  snprintf(log_text, sizeof log_text, "nvrtc: error: failed to open libnvrtc-builtins.so.13.0.");
  return 7;
}
FAKE int nvrtcGetProgramLogSize(void* program, size_t* bytes) {
  (void)program;
  *bytes = strlen(log_text) + 1;
  return 0;
}
FAKE int nvrtcGetProgramLog(void* program, char* log) {
  (void)program;
  strcpy(log, log_text);
  return 0;
}
FAKE int nvrtcGetPTXSize(void* program, size_t* bytes) {
  (void)program;
  *bytes = 0;
  return 0;
}
FAKE int nvrtcGetPTX(void* program, char* ptx) {
  (void)program, (void)ptx;
  return 0;
}
FAKE int nvrtcGetCUBINSize(void* program, size_t* bytes) {
  (void)program;
  *bytes = sizeof image;
  return 0;
}
FAKE int nvrtcGetCUBIN(void* program, char* out) {
  (void)program;
  memcpy(out, image, sizeof image);
  return 0;
}
FAKE int nvrtcGetNumSupportedArchs(int* count) {
  *count = 2;
  return 0;
}
FAKE int nvrtcGetSupportedArchs(int* architectures) {
  architectures[0] = fake_number("FAKE_NVRTC_OLDEST", 75);
  architectures[1] = fake_number("FAKE_NVRTC_NEWEST", 90);
  return 0;
}
