// The device code of one library: every container loaded on every GPU, its kernels found by name.
// Nothing of it is launched: arguments are not known.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "job.h"
#include "steps.h"

namespace wheelvet::probe {
namespace {

constexpr std::uint64_t most_bytes = 2ull << 30;  // of one container
constexpr std::size_t most_told = 20;             // disagreements, each

struct CodeFile {
  int descriptor = -1;
  explicit CodeFile(const std::string& path)
      : descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor < 0) {
      throw StepEnds(Outcome::fail, fmt::format("{}: {}", path, std::strerror(errno)));
    }
  }
  ~CodeFile() { close(descriptor); }
  CodeFile(const CodeFile&) = delete;
  CodeFile& operator=(const CodeFile&) = delete;
};

/// With a zero behind it: PTX text ends so.
std::string read_container(const CodeFile& file, const CodeContainer& container) {
  if (container.size > most_bytes) {
    throw StepEnds(Outcome::fail, fmt::format("a container of {} bytes", container.size));
  }
  std::string bytes(container.size + 1, '\0');
  std::uint64_t done = 0;
  while (done < container.size) {
    ssize_t got = pread(file.descriptor, bytes.data() + done, container.size - done,
                        static_cast<off_t>(container.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw StepEnds(Outcome::fail, "the file ends before its device code does");
    done += static_cast<std::uint64_t>(got);
  }
  return bytes;
}

std::string name_of(const Driver& driver, int code) {
  const char* name = nullptr;
  driver.cuGetErrorName(code, &name);
  return fmt::format("{} {}", code, name ? name : "");
}

/// What became of a library's containers on one GPU.
struct Tally {
  int loaded = 0, without_code = 0, refused = 0;
  std::size_t kernels = 0, missing = 0;
  int predicted_loads = 0, predicted_none = 0;
  std::map<std::string, int> predicted_images, chosen_images;  // of the containers that loaded
  std::string first_refusal;
  std::vector<Check> disagreements;
};

void disagree(Tally& tally, Check check) {
  if (tally.disagreements.size() < most_told) tally.disagreements.push_back(std::move(check));
}

/// The loaded function's own words: machine code for its GPU's architecture or an older one, which
/// came out of PTX for that or an older one.
std::string image_of(const Driver& driver, Handle function) {
  int ptx = 0, binary = 0;
  if (driver.cuFuncGetAttribute(&ptx, function_ptx_version, function) != cuda_success ||
      driver.cuFuncGetAttribute(&binary, function_binary_version, function) != cuda_success) {
    return "unknown";
  }
  return fmt::format("sm_{} of compute_{}", binary, ptx);
}

int number_in(const std::string& architecture) {
  std::size_t digits = architecture.find_first_of("0123456789");
  return digits == std::string::npos ? 0 : std::atoi(architecture.c_str() + digits);
}

/// "sm_80" is machine code as it stands in the file, "compute_80" is compiled for the GPU.
std::string wanted_image(const std::string& predicted, const Gpu& gpu, const std::string& seen) {
  if (predicted.starts_with("compute_")) {
    return fmt::format("{} of compute_{}", capability(gpu), number_in(predicted));
  }
  // Machine code does not say in the file's headers which PTX it was made of.
  return fmt::format("sm_{}{}", number_in(predicted),
                     seen.substr(std::min(seen.find(" of"), seen.size())));
}

/// Any function of the module, for its image: the first that was predicted, else the driver's
/// first.
Handle some_function(const Driver& driver, Handle module, const CodeContainer& container) {
  Handle function = nullptr;
  for (const std::string& kernel : container.kernels) {
    if (driver.cuModuleGetFunction(&function, module, kernel.c_str()) == cuda_success)
      return function;
  }
  unsigned count = 0;
  if (!driver.cuModuleGetFunctionCount || !driver.cuModuleEnumerateFunctions) return nullptr;
  if (driver.cuModuleGetFunctionCount(&count, module) != cuda_success || count == 0) return nullptr;
  bool found = driver.cuModuleEnumerateFunctions(&function, 1, module) == cuda_success;
  return found ? function : nullptr;
}

void look_for_kernels(const Driver& driver, Handle module, const CodeContainer& container,
                      const std::string& subject, Tally& tally) {
  for (const std::string& kernel : container.kernels) {
    Handle function = nullptr;
    int code = driver.cuModuleGetFunction(&function, module, kernel.c_str());
    ++tally.kernels;
    if (code == cuda_success) continue;
    ++tally.missing;
    disagree(tally, {subject, "kernel " + kernel, name_of(driver, code), false});
  }
}

void load_container(Step& step, const Driver& driver, const Gpu& gpu,
                    const CodeContainer& container, const std::string& bytes, Tally& tally) {
  std::string subject = fmt::format("GPU {}, container at {:#x}", gpu.index, container.offset);
  auto found =
      container.predicted.find(fmt::format("{}.{}", gpu.capability_major, gpu.capability_minor));
  std::string predicted = found == container.predicted.end() ? "" : found->second;
  if (predicted == "none") ++tally.predicted_none;
  if (!predicted.empty() && predicted != "none") ++tally.predicted_loads;
  about_to(step, "load the " + subject);
  Handle module = nullptr;
  int code = driver.cuModuleLoadDataEx(&module, bytes.data(), 0, nullptr, nullptr);
  if (code != cuda_success) {
    std::string seen = name_of(driver, code);
    bool nothing = code == cuda_no_binary;
    ++(nothing ? tally.without_code : tally.refused);
    if (!nothing && tally.first_refusal.empty()) tally.first_refusal = seen;
    if (!(nothing && predicted == "none")) {
      disagree(tally, {subject, predicted.empty() ? "loads" : predicted, seen, false});
    }
    return;
  }
  ++tally.loaded;
  look_for_kernels(driver, module, container, subject, tally);
  Handle function = some_function(driver, module, container);
  if (function && !predicted.empty()) {
    std::string seen = image_of(driver, function);
    std::string wanted = predicted == "none" ? predicted : wanted_image(predicted, gpu, seen);
    if (seen != wanted) disagree(tally, {subject, wanted, seen, false});
    ++tally.predicted_images[predicted];
    ++tally.chosen_images[seen == wanted ? predicted : seen];
  }
  must(driver, driver.cuModuleUnload(module), "cuModuleUnload");
}

/// "40 x sm_90a, 2 x compute_80"
std::string counted(const std::map<std::string, int>& images) {
  std::string out;
  for (const auto& [image, count] : images) {
    out += fmt::format("{}{} x {}", out.empty() ? "" : ", ", count, image);
  }
  return out;
}

void conclude(Step& step, const CodeLibrary& library, const Gpu& gpu, Tally& tally) {
  std::string subject = fmt::format("GPU {} ({})", gpu.index, capability(gpu));
  std::string predicted =
      fmt::format("{} load, {} have nothing for it", tally.predicted_loads, tally.predicted_none);
  // What disagrees goes first: it is the step's reason.
  std::vector<Check>& checks = step.answer.checks;
  checks.insert(checks.end(), tally.disagreements.begin(), tally.disagreements.end());
  if (!tally.predicted_images.empty()) {
    step.answer.checks.push_back({subject + " images", counted(tally.predicted_images),
                                  counted(tally.chosen_images),
                                  tally.predicted_images == tally.chosen_images, "image"});
  }
  std::string observed =
      fmt::format("{} load, {} have nothing for it", tally.loaded, tally.without_code);
  if (tally.refused)
    observed += fmt::format(", {} refused ({})", tally.refused, tally.first_refusal);
  step.answer.checks.push_back(
      {subject + " containers", predicted, observed, predicted == observed, "image"});
  step.answer.checks.push_back({subject + " kernels",
                                fmt::format("{} found by name", tally.kernels),
                                fmt::format("{} found by name", tally.kernels - tally.missing),
                                tally.missing == 0, "image"});
  if (tally.loaded || library.optional) return;
  // Foretold or not: on this GPU the library is of no use.
  throw StepEnds(Outcome::fail,
                 fmt::format("no code for GPU {} ({}): of {} containers {}", gpu.index,
                             capability(gpu), library.containers.size(), observed));
}

}  // namespace

void run_device_code(Step& step) {
  Job job = read_job(step.request.job);
  const CodeLibrary& library = job.code.at(static_cast<std::size_t>(step.request.item));
  CodeFile file(library.file);
  Driver driver = open_driver(step);
  for (Gpu& gpu : list_gpus(driver)) {
    use(driver, gpu);
    Tally tally;
    for (const CodeContainer& container : library.containers) {
      load_container(step, driver, gpu, container, read_container(file, container), tally);
    }
    conclude(step, library, gpu, tally);
  }
}

}  // namespace wheelvet::probe
