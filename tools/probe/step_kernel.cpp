// Kernel: the driver compiles and launches the probe's own on every GPU.
#include <fmt/format.h>

#include "kernels.h"
#include "steps.h"

namespace wheelvet::probe {
namespace {

Handle load_ptx(const Driver& driver) {
  char log[4096] = "";
  int names[] = {jit_error_log, jit_error_log_size};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  Handle module = nullptr;
  int code = driver.cuModuleLoadDataEx(&module, wheelvet_kernel_ptx, 2, names, values);
  log[sizeof log - 1] = '\0';
  must(driver, code, log[0] ? fmt::format("cuModuleLoadDataEx ({})", log) : "cuModuleLoadDataEx");
  return module;
}

const char* entry_of(const std::string& fault) {
  if (fault == "illegal-address") return "wheelvet_illegal_address";
  if (fault == "endless-kernel") return "wheelvet_endless";
  return "wheelvet_mix";
}

/// The images' architectures, as the loaded function tells them.
std::string chosen_image(const Driver& driver, Handle function) {
  int ptx = 0, binary = 0;
  must(driver, driver.cuFuncGetAttribute(&ptx, function_ptx_version, function),
       "cuFuncGetAttribute");
  must(driver, driver.cuFuncGetAttribute(&binary, function_binary_version, function),
       "cuFuncGetAttribute");
  return fmt::format("PTX sm_{} compiled to sm_{}", ptx, binary);
}

}  // namespace

void run_kernel(Step& step) {
  Driver driver = open_driver(step);
  for (Gpu& gpu : list_gpus(driver)) {
    about_to(step, fmt::format("create a context on GPU {}", gpu.index));
    use(driver, gpu);
    about_to(step, fmt::format("compile the kernel for GPU {}", gpu.index));
    Handle module = load_ptx(driver);
    Handle function = nullptr;
    must(driver, driver.cuModuleGetFunction(&function, module, entry_of(step.request.rehearse)),
         "cuModuleGetFunction");
    std::string wanted = fmt::format("PTX sm_50 compiled to {}", capability(gpu));
    std::string image = chosen_image(driver, function);
    step.answer.checks.push_back(
        {fmt::format("GPU {} image", gpu.index), wanted, image, image == wanted, "image"});
    about_to(step, fmt::format("launch the kernel on GPU {}", gpu.index));
    Check check = launch_and_check(driver, function, 0x5eed);
    check.subject = fmt::format("GPU {} kernel", gpu.index);
    check.predicted = "every value right";
    step.answer.checks.push_back(check);
    must(driver, driver.cuModuleUnload(module), "cuModuleUnload");
  }
}

}  // namespace wheelvet::probe
