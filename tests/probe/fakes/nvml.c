/* NVML of a machine whose GPUs are linked by NVLink. */
#include "fake.h"

FAKE int nvmlInit_v2(void) { return fake_fault("nvmlInit"); }
FAKE int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  snprintf(version, length, "580.95.05");
  return 0;
}
FAKE int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  *device = (void*)(intptr_t)(atoi(id + 8) + 1);
  return 0;
}
FAKE int nvmlDeviceGetPersistenceMode(void* device, int* mode) {
  (void)device;
  *mode = 1;
  return 0;
}
FAKE int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  (void)device;
  *current = *pending = 0;
  return 0;
}
FAKE int nvmlDeviceGetTotalEccErrors(void* device, int error, int counter, unsigned long long* count) {
  (void)device, (void)error, (void)counter;
  *count = (unsigned long long)fake_number("FAKE_NVML_ERRORS", 0);
  return 0;
}
FAKE int nvmlDeviceGetNvLinkState(void* device, unsigned link, int* active) {
  (void)device;
  *active = link < 18;
  return link < 18 ? 0 : 2;
}
FAKE int nvmlDeviceGetP2PStatus(void* from, void* to, int capability, int* status) {
  (void)from, (void)to, (void)capability;
  *status = 0;
  return 0;
}
