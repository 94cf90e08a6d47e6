#include "fake.h"

FAKE int curandGetVersion(int* version) {
  *version = 10400;
  return 0;
}
FAKE int curandCreateGenerator(void** generator, int type) {
  (void)type;
  *generator = (void*)1;
  return fake_fault("curandCreateGenerator");
}
FAKE int curandSetPseudoRandomGeneratorSeed(void* generator, unsigned long long seed) {
  (void)generator, (void)seed;
  return 0;
}
FAKE int curandGenerateUniform(void* generator, float* output, size_t count) {
  (void)generator;
  int fault = fake_fault("curandGenerateUniform");
  if (fault) return fault;
  uint64_t state = 88172645463325252u;
  int biased = fake_number("FAKE_CURAND_BIASED", 0);
  for (size_t i = 0; i < count; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    output[i] = (float)((state >> 40) + 1) / 16777216.0f;
    if (biased && i % 100 == 0) output[i] = output[i] / 2;
  }
  return 0;
}
FAKE int curandDestroyGenerator(void* generator) {
  (void)generator;
  return 0;
}
