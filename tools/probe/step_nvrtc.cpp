// NVRTC of the target: compile for each GPU, load, launch, check.
#include <fmt/format.h>

#include <algorithm>

#include "library.h"
#include "steps.h"

namespace wheelvet::probe {
namespace {

// The same function as wheelvet_mix in kernel.ptx. The square root is 0 for every index: it makes
// the compiler open its built-in functions.
constexpr const char* source = R"(
extern "C" __global__ void wheelvet_nvrtc(unsigned* out, unsigned count, unsigned seed) {
  unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= count) return;
  unsigned x = index + seed + (unsigned)sqrtf((float)(index / 0x80000000u));
  x *= 0x9E3779B1u;
  x ^= x >> 15;
  x *= 0x85EBCA77u;
  out[index] = x ^ (x >> 13);
}
)";

std::string compile_log(const Nvrtc& nvrtc, Handle program) {
  std::size_t bytes = 0;
  if (nvrtc.nvrtcGetProgramLogSize(program, &bytes) != nvrtc_success || bytes < 2) return "";
  std::string log(std::min<std::size_t>(bytes, 1 << 20), '\0');
  if (bytes > log.size() || nvrtc.nvrtcGetProgramLog(program, log.data()) != nvrtc_success)
    return "";
  log.resize(std::min(log.find('\0'), log.size()));
  return log.substr(0, 2000);
}

void must(const Nvrtc& nvrtc, int code, const std::string& call, const std::string& log = "") {
  if (code == nvrtc_success) return;
  const char* name = nvrtc.nvrtcGetErrorString(code);
  CallError error{call, code, name ? name : "", log};
  throw StepEnds(
      Outcome::fail,
      fmt::format("{} answered {} {}{}{}", call, code, error.name, log.empty() ? "" : ": ", log),
      error);
}

std::vector<int> known_architectures(const Nvrtc& nvrtc) {
  int count = 0;
  if (!nvrtc.nvrtcGetNumSupportedArchs || !nvrtc.nvrtcGetSupportedArchs ||
      nvrtc.nvrtcGetNumSupportedArchs(&count) != nvrtc_success || count < 1 || count > 1000) {
    return {};
  }
  std::vector<int> architectures(static_cast<std::size_t>(count));
  must(nvrtc, nvrtc.nvrtcGetSupportedArchs(architectures.data()), "nvrtcGetSupportedArchs");
  return architectures;
}

/// Machine code for exactly this GPU where NVRTC makes it, else PTX of the newest architecture it
/// knows that the GPU also has.
struct Aim {
  std::string architecture;
  bool machine_code = false;
};

Aim aim_at(const Nvrtc& nvrtc, const Gpu& gpu) {
  int wanted = gpu.capability_major * 10 + gpu.capability_minor;
  std::vector<int> known = known_architectures(nvrtc);
  bool exact = known.empty() || std::find(known.begin(), known.end(), wanted) != known.end();
  if (exact && nvrtc.nvrtcGetCUBIN && nvrtc.nvrtcGetCUBINSize) {
    return {fmt::format("sm_{}", wanted), true};
  }
  int best = 0;
  for (int each : known) {
    if (each <= wanted) best = std::max(best, each);
  }
  if (best == 0 && !known.empty()) {
    throw StepEnds(Outcome::fail,
                   fmt::format("this NVRTC knows no architecture that sm_{} runs", wanted));
  }
  return {fmt::format("compute_{}", best ? best : wanted), false};
}

std::string compile(const Nvrtc& nvrtc, const Aim& aim) {
  Handle program = nullptr;
  must(nvrtc, nvrtc.nvrtcCreateProgram(&program, source, "wheelvet.cu", 0, nullptr, nullptr),
       "nvrtcCreateProgram");
  std::string option = "--gpu-architecture=" + aim.architecture;
  const char* options[] = {option.c_str()};
  int code = nvrtc.nvrtcCompileProgram(program, 1, options);
  if (code != nvrtc_success) must(nvrtc, code, "nvrtcCompileProgram", compile_log(nvrtc, program));
  std::size_t bytes = 0;
  must(nvrtc,
       aim.machine_code ? nvrtc.nvrtcGetCUBINSize(program, &bytes)
                        : nvrtc.nvrtcGetPTXSize(program, &bytes),
       "size of the image");
  if (bytes == 0 || bytes > (64u << 20)) {
    throw StepEnds(Outcome::fail, fmt::format("an image of {} bytes was announced", bytes));
  }
  std::string image(bytes + 1, '\0');
  must(nvrtc,
       aim.machine_code ? nvrtc.nvrtcGetCUBIN(program, image.data())
                        : nvrtc.nvrtcGetPTX(program, image.data()),
       "the image");
  return image;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// NVRTC opens them by name alone: the loader may find another installation's first.
void report_builtins(Step& step, const Library& library) {
  std::vector<LoadedLibrary> found = loaded_libraries({"libnvrtc-builtins"});
  std::string seen = found.empty() ? "not loaded" : found.front().name;
  if (!found.empty() && folder_of(found.front().path) != folder_of(library.path)) {
    seen = "another installation's, " + found.front().path;
  }
  step.answer.checks.push_back(
      {"libnvrtc-builtins", "found by NVRTC", seen, !found.empty(), "library"});
  step.answer.libraries.insert(step.answer.libraries.end(), found.begin(), found.end());
}

}  // namespace

void run_nvrtc(Step& step) {
  std::string error;
  about_to(step, "open " + step.request.targets.nvrtc);
  Library library = open_library(step.request.targets.nvrtc, error);
  if (!library.handle) throw StepEnds(Outcome::fail, "NVRTC does not load: " + error);
  Nvrtc nvrtc = nvrtc_functions(library);
  int major = 0, minor = 0;
  must(nvrtc, nvrtc.nvrtcVersion(&major, &minor), "nvrtcVersion");
  step.answer.libraries.push_back({"libnvrtc", library.path, fmt::format("{}.{}", major, minor)});
  step.answer.checks.push_back(compare_library("libnvrtc", step.request.targets.nvrtc, library));

  Driver driver = open_driver(step);
  for (Gpu& gpu : list_gpus(driver)) {
    use(driver, gpu);
    Aim aim = aim_at(nvrtc, gpu);
    about_to(step, fmt::format("compile for GPU {} ({})", gpu.index, aim.architecture));
    std::string image = compile(nvrtc, aim);
    if (gpu.index == 0) report_builtins(step, library);
    about_to(step, fmt::format("load and launch on GPU {}", gpu.index));
    Handle module = nullptr, function = nullptr;
    must(driver, driver.cuModuleLoadDataEx(&module, image.data(), 0, nullptr, nullptr),
         "cuModuleLoadDataEx");
    must(driver, driver.cuModuleGetFunction(&function, module, "wheelvet_nvrtc"),
         "cuModuleGetFunction");
    Check check = launch_and_check(driver, function, 0xfeed);
    check.subject = fmt::format("GPU {} kernel compiled for {}", gpu.index, aim.architecture);
    check.predicted = "every value right";
    check.kind = "image";
    step.answer.checks.push_back(check);
    must(driver, driver.cuModuleUnload(module), "cuModuleUnload");
  }
}

}  // namespace wheelvet::probe
