// cuRAND and cuBLAS of the target: a generator whose numbers are tested, a product whose entries
// are known.
#include <fmt/format.h>

#include <cmath>

#include "library.h"
#include "steps.h"

namespace wheelvet::probe {
namespace {

/// Neither library names its codes by a function that all of its releases have.
void must_call(int code, const std::string& call) {
  if (code == 0) return;
  throw StepEnds(Outcome::fail, fmt::format("{} answered {}", call, code),
                 CallError{call, code, "", ""});
}

Library open_target(Step& step, const std::string& path, const char* what) {
  std::string error;
  about_to(step, "open " + path);
  Library library = open_library(path, error);
  if (!library.handle)
    throw StepEnds(Outcome::fail, fmt::format("{} does not load: {}", what, error));
  return library;
}

struct Statistics {
  bool inside = true;  // all in (0, 1]
  double mean = 0;
  double variance = 0;
  double chi_square = 0;  // over 16 equal bins: 15 degrees of freedom
};

Statistics measure(const std::vector<float>& numbers) {
  Statistics out;
  double sum = 0, squares = 0;
  std::size_t bins[16] = {};
  for (float number : numbers) {
    if (!(number > 0 && number <= 1)) {
      out.inside = false;
      return out;
    }
    sum += number;
    squares += static_cast<double>(number) * number;
    bins[std::min(15, static_cast<int>(number * 16))]++;
  }
  auto count = static_cast<double>(numbers.size());
  out.mean = sum / count;
  out.variance = squares / count - out.mean * out.mean;
  for (std::size_t seen : bins) {
    double difference = static_cast<double>(seen) - count / 16;
    out.chi_square += difference * difference / (count / 16);
  }
  return out;
}

/// Of 2^20 uniform numbers the mean deviates by 0.00028 and the variance by 0.000073 (standard
/// deviations); ten of each, and a chi-square that one generator in a million exceeds.
bool looks_uniform(const Statistics& seen) {
  return seen.inside && std::abs(seen.mean - 0.5) < 0.0028 &&
         std::abs(seen.variance - 1.0 / 12) < 0.00073 && seen.chi_square < 56.5;
}

Check generate(Step& step, const Driver& driver, const Curand& curand, const Gpu& gpu) {
  constexpr std::size_t count = 1 << 20;
  about_to(step, fmt::format("generate on GPU {}", gpu.index));
  Handle generator = nullptr;
  DeviceAddress out = 0;
  must(driver, driver.cuMemAlloc_v2(&out, count * sizeof(float)), "cuMemAlloc");
  must_call(curand.curandCreateGenerator(&generator, curand_philox), "curandCreateGenerator");
  must_call(curand.curandSetPseudoRandomGeneratorSeed(generator, 20250101),
            "curandSetPseudoRandomGeneratorSeed");
  must_call(curand.curandGenerateUniform(generator, reinterpret_cast<float*>(out), count),
            "curandGenerateUniform");
  must(driver, driver.cuCtxSynchronize(), "cuCtxSynchronize");
  std::vector<float> host(count);
  must(driver, driver.cuMemcpyDtoH_v2(host.data(), out, count * sizeof(float)), "cuMemcpyDtoH");
  must_call(curand.curandDestroyGenerator(generator), "curandDestroyGenerator");
  must(driver, driver.cuMemFree_v2(out), "cuMemFree");
  Statistics seen = measure(host);
  Check check;
  check.subject = fmt::format("GPU {} random numbers", gpu.index);
  check.predicted = "in (0, 1], mean 0.5, variance 0.0833";
  check.observed = seen.inside
                       ? fmt::format("mean {:.4f}, variance {:.4f}, chi-square {:.1f} of 15",
                                     seen.mean, seen.variance, seen.chi_square)
                       : "some outside (0, 1]";
  check.agrees = looks_uniform(seen);
  return check;
}

constexpr int rows = 61, columns = 47, inner = 129;

/// Small whole numbers: every product and sum is exact, in any order and in TF32.
std::vector<float> matrix(int height, int width, unsigned salt) {
  std::vector<float> out;
  for (int i = 0; i < height * width; ++i) {
    out.push_back(
        static_cast<float>(static_cast<int>((static_cast<unsigned>(i) * 7 + salt) % 11) - 5));
  }
  return out;
}

/// Column by column, as BLAS lays matrices.
int count_right(const std::vector<float>& a, const std::vector<float>& b,
                const std::vector<float>& c) {
  auto at = [](const std::vector<float>& m, int height, int row, int column) {
    return m[static_cast<std::size_t>(column) * static_cast<std::size_t>(height) +
             static_cast<std::size_t>(row)];
  };
  int right = 0;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      float sum = 0;
      for (int k = 0; k < inner; ++k) sum += at(a, rows, row, k) * at(b, inner, k, column);
      right += sum == at(c, rows, row, column);
    }
  }
  return right;
}

DeviceAddress upload(const Driver& driver, const std::vector<float>& values) {
  DeviceAddress address = 0;
  must(driver, driver.cuMemAlloc_v2(&address, values.size() * sizeof(float)), "cuMemAlloc");
  must(driver, driver.cuMemcpyHtoD_v2(address, values.data(), values.size() * sizeof(float)),
       "cuMemcpyHtoD");
  return address;
}

Check multiply(Step& step, const Driver& driver, const Cublas& cublas, const Gpu& gpu) {
  about_to(step, fmt::format("create a cuBLAS handle on GPU {}", gpu.index));
  Handle handle = nullptr;
  must_call(cublas.cublasCreate_v2(&handle), "cublasCreate");
  int version = 0;
  must_call(cublas.cublasGetVersion_v2(handle, &version), "cublasGetVersion");
  for (LoadedLibrary& library : step.answer.libraries) {
    if (library.name == "libcublas") library.version = std::to_string(version);
  }
  std::vector<float> a = matrix(rows, inner, 3), b = matrix(inner, columns, 8);
  std::vector<float> c(static_cast<std::size_t>(rows) * columns, -1);
  DeviceAddress da = upload(driver, a), db = upload(driver, b), dc = upload(driver, c);
  float one = 1, zero = 0;
  about_to(step, fmt::format("multiply on GPU {}", gpu.index));
  must_call(cublas.cublasSgemm_v2(handle, cublas_no_transpose, cublas_no_transpose, rows, columns,
                                  inner, &one, reinterpret_cast<const float*>(da), rows,
                                  reinterpret_cast<const float*>(db), inner, &zero,
                                  reinterpret_cast<float*>(dc), rows),
            "cublasSgemm");
  must(driver, driver.cuCtxSynchronize(), "cuCtxSynchronize");
  must(driver, driver.cuMemcpyDtoH_v2(c.data(), dc, c.size() * sizeof(float)), "cuMemcpyDtoH");
  must_call(cublas.cublasDestroy_v2(handle), "cublasDestroy");
  for (DeviceAddress address : {da, db, dc})
    must(driver, driver.cuMemFree_v2(address), "cuMemFree");
  int right = count_right(a, b, c);
  return {fmt::format("GPU {} product {}x{}x{}", gpu.index, rows, columns, inner),
          "every entry exact", fmt::format("{} of {} exact", right, rows * columns),
          right == rows * columns};
}

}  // namespace

void run_curand(Step& step) {
  Library library = open_target(step, step.request.targets.curand, "cuRAND");
  Curand curand = curand_functions(library);
  int version = 0;
  must_call(curand.curandGetVersion(&version), "curandGetVersion");
  step.answer.libraries.push_back({"libcurand", library.path, std::to_string(version)});
  step.answer.checks.push_back(compare_library("libcurand", step.request.targets.curand, library));
  Driver driver = open_driver(step);
  for (Gpu& gpu : list_gpus(driver)) {
    use(driver, gpu);
    step.answer.checks.push_back(generate(step, driver, curand, gpu));
  }
}

void run_cublas(Step& step) {
  Library library = open_target(step, step.request.targets.cublas, "cuBLAS");
  Cublas cublas = cublas_functions(library);
  step.answer.libraries.push_back({"libcublas", library.path, ""});
  step.answer.checks.push_back(compare_library("libcublas", step.request.targets.cublas, library));
  for (LoadedLibrary& each : loaded_libraries({"libcublasLt"}))
    step.answer.libraries.push_back(each);
  Driver driver = open_driver(step);
  for (Gpu& gpu : list_gpus(driver)) {
    use(driver, gpu);
    step.answer.checks.push_back(multiply(step, driver, cublas, gpu));
  }
}

}  // namespace wheelvet::probe
