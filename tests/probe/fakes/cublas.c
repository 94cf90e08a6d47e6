#include "fake.h"

FAKE int cublasCreate_v2(void** handle) {
  *handle = (void*)1;
  return fake_fault("cublasCreate");
}
FAKE int cublasGetVersion_v2(void* handle, int* version) {
  (void)handle;
  *version = 130100;
  return 0;
}
FAKE int cublasSgemm_v2(void* handle, int ta, int tb, int rows, int columns, int inner, const float* alpha,
                        const float* a, int lda, const float* b, int ldb, const float* beta, float* c,
                        int ldc) {
  (void)handle, (void)ta, (void)tb, (void)beta;
  int fault = fake_fault("cublasSgemm");
  if (fault) return fault;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      float sum = 0;
      for (int k = 0; k < inner; ++k) sum += a[k * lda + i] * b[j * ldb + k];
      c[j * ldc + i] = *alpha * sum;
    }
  }
  if (fake_number("FAKE_CUBLAS_WRONG", 0)) c[ldc] += 1;
  return 0;
}
FAKE int cublasDestroy_v2(void* handle) {
  (void)handle;
  return 0;
}
