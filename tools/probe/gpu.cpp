#include "gpu.h"

#include <fmt/format.h>

#include <cstdlib>

#include "kernels.h"
#include "library.h"

namespace wheelvet::probe {
namespace {

/// Codes that say "there is no GPU to ask" rather than "it is broken".
bool nothing_to_ask(int code) {
  return code == cuda_stub_library || code == cuda_no_device || code == cuda_insufficient_driver;
}

std::string why_none(int code, const std::string& path) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (code == cuda_stub_library) {
    return fmt::format(
        "{} is the toolkit's stub, made for linking only; the driver's own is not found first",
        path);
  }
  if (code == cuda_insufficient_driver) return "the kernel driver is older than its libcuda needs";
  if (visible) return fmt::format("no GPU is visible; CUDA_VISIBLE_DEVICES is '{}'", visible);
  return "the driver sees no GPU";
}

CallError call_error(const Driver& driver, int code, const std::string& call) {
  CallError error{call, code, "", ""};
  const char* text = nullptr;
  if (driver.cuGetErrorName(code, &text) == cuda_success && text) error.name = text;
  text = nullptr;
  if (driver.cuGetErrorString(code, &text) == cuda_success && text) error.text = text;
  return error;
}

}  // namespace

void about_to(Step& step, const std::string& what) {
  send_frame(step.channel, FrameType::stage, what);
}

void must(const Driver& driver, int code, const std::string& call) {
  if (code == cuda_success) return;
  CallError error = call_error(driver, code, call);
  throw StepEnds(Outcome::fail,
                 fmt::format("{} answered {} {}: {}", call, code, error.name, error.text), error);
}

Driver open_driver(Step& step) {
  std::string error;
  about_to(step, "open " + step.request.targets.driver);
  Library library = open_library(step.request.targets.driver, error);
  if (!library.handle) throw StepEnds(Outcome::not_run, "no NVIDIA driver: " + error);
  step.answer.libraries.push_back({"libcuda.so.1", library.path, ""});
  Driver driver = driver_functions(library);
  about_to(step, "cuInit");
  int code = driver.cuInit(0);
  if (nothing_to_ask(code)) {
    throw StepEnds(Outcome::not_run, why_none(code, library.path),
                   call_error(driver, code, "cuInit"));
  }
  must(driver, code, "cuInit");
  return driver;
}

std::vector<Gpu> list_gpus(const Driver& driver) {
  int count = 0;
  must(driver, driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (count < 1) throw StepEnds(Outcome::not_run, why_none(cuda_no_device, ""));
  std::vector<Gpu> gpus;
  for (int index = 0; index < count; ++index) {
    Gpu gpu;
    gpu.index = index;
    must(driver, driver.cuDeviceGet(&gpu.device, index), "cuDeviceGet");
    must(driver,
         driver.cuDeviceGetAttribute(&gpu.capability_major, attribute_capability_major, gpu.device),
         "cuDeviceGetAttribute");
    must(driver,
         driver.cuDeviceGetAttribute(&gpu.capability_minor, attribute_capability_minor, gpu.device),
         "cuDeviceGetAttribute");
    gpus.push_back(gpu);
  }
  return gpus;
}

void use(const Driver& driver, Gpu& gpu) {
  if (!gpu.context) {
    must(driver, driver.cuDevicePrimaryCtxRetain(&gpu.context, gpu.device),
         "cuDevicePrimaryCtxRetain");
  }
  must(driver, driver.cuCtxSetCurrent(gpu.context), "cuCtxSetCurrent");
}

Check launch_and_check(const Driver& driver, Handle function, std::uint32_t seed) {
  std::uint32_t count = (1u << 20) + 7;  // the last block is not full
  DeviceAddress out = 0;
  must(driver, driver.cuMemAlloc_v2(&out, count * sizeof(std::uint32_t)), "cuMemAlloc");
  must(driver, driver.cuMemsetD32_v2(out, 0, count), "cuMemsetD32");
  void* parameters[] = {&out, &count, &seed};
  unsigned threads = 256, blocks = (count + threads - 1) / threads;
  must(
      driver,
      driver.cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, nullptr, parameters, nullptr),
      "cuLaunchKernel");
  must(driver, driver.cuCtxSynchronize(), "cuCtxSynchronize");
  std::vector<std::uint32_t> host(count);
  must(driver, driver.cuMemcpyDtoH_v2(host.data(), out, count * sizeof(std::uint32_t)),
       "cuMemcpyDtoH");
  must(driver, driver.cuMemFree_v2(out), "cuMemFree");
  std::uint32_t right = 0;
  for (std::uint32_t i = 0; i < count; ++i) right += host[i] == mix(i + seed);
  Check check;
  check.observed = fmt::format("{} of {} values right", right, count);
  check.agrees = right == count;
  return check;
}

std::string capability(const Gpu& gpu) {
  return fmt::format("sm_{}{}", gpu.capability_major, gpu.capability_minor);
}

}  // namespace wheelvet::probe
