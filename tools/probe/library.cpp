#include "library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>

namespace wheelvet::probe {
namespace {

std::string resolved(const char* path) {
  char* real = realpath(path, nullptr);
  std::string out = real ? real : path;
  std::free(real);
  return out;
}

template <typename Function>
void optional_function(const Library& library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library.handle, name));
}

template <typename Function>
void required_function(const Library& library, const char* name, Function& function) {
  optional_function(library, name, function);
  if (function) return;
  throw StepEnds(Outcome::fail, fmt::format("{} does not export {}", library.path, name));
}

struct Collected {
  const std::vector<std::string>& prefixes;
  std::vector<LoadedLibrary> libraries;
};

int collect(dl_phdr_info* info, std::size_t, void* data) {
  auto& collected = *static_cast<Collected*>(data);
  std::string path = info->dlpi_name ? info->dlpi_name : "";
  std::string name = path.substr(path.rfind('/') + 1);
  bool wanted = std::any_of(collected.prefixes.begin(), collected.prefixes.end(),
                            [&](const std::string& prefix) { return name.starts_with(prefix); });
  if (wanted) collected.libraries.push_back({name, resolved(path.c_str()), ""});
  return 0;
}

}  // namespace

Library open_library(const std::string& path_or_soname, std::string& error) {
  Library library;
  library.handle = dlopen(path_or_soname.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library.handle) {
    const char* words = dlerror();
    error = words ? words : "dlopen failed";
    return library;
  }
  link_map* map = nullptr;
  bool known = dlinfo(library.handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name[0];
  library.path = resolved(known ? map->l_name : path_or_soname.c_str());
  return library;
}

#define WHEELVET_REQUIRED(name, arguments) required_function(library, #name, functions.name);
#define WHEELVET_OPTIONAL(name, arguments) optional_function(library, #name, functions.name);

Driver driver_functions(const Library& library) {
  Driver functions;
  WHEELVET_DRIVER_FUNCTIONS(WHEELVET_REQUIRED)
  WHEELVET_DRIVER_OPTIONAL_FUNCTIONS(WHEELVET_OPTIONAL)
  return functions;
}

Management management_functions(const Library& library) {
  Management functions;
  WHEELVET_MANAGEMENT_FUNCTIONS(WHEELVET_OPTIONAL)
  return functions;
}

Nvrtc nvrtc_functions(const Library& library) {
  Nvrtc functions;
  WHEELVET_NVRTC_FUNCTIONS(WHEELVET_REQUIRED)
  WHEELVET_NVRTC_OPTIONAL_FUNCTIONS(WHEELVET_OPTIONAL)
  required_function(library, "nvrtcGetErrorString", functions.nvrtcGetErrorString);
  return functions;
}

Curand curand_functions(const Library& library) {
  Curand functions;
  WHEELVET_CURAND_FUNCTIONS(WHEELVET_REQUIRED)
  return functions;
}

Cublas cublas_functions(const Library& library) {
  Cublas functions;
  WHEELVET_CUBLAS_FUNCTIONS(WHEELVET_REQUIRED)
  return functions;
}

Nccl nccl_functions(const Library& library) {
  Nccl functions;
  WHEELVET_NCCL_FUNCTIONS(WHEELVET_REQUIRED)
  WHEELVET_NCCL_OPTIONAL_FUNCTIONS(WHEELVET_OPTIONAL)
  required_function(library, "ncclGetErrorString", functions.ncclGetErrorString);
  optional_function(library, "ncclGetLastError", functions.ncclGetLastError);
  return functions;
}

Check compare_library(const std::string& name, const std::string& planned, const Library& library) {
  // A name without a folder leaves the choice to the loader.
  bool chosen = planned.find('/') == std::string::npos;
  std::string predicted = chosen ? planned : resolved(planned.c_str());
  return {name, predicted, library.path, chosen || predicted == library.path, "library"};
}

std::vector<LoadedLibrary> loaded_libraries(const std::vector<std::string>& prefixes) {
  Collected collected{prefixes, {}};
  dl_iterate_phdr(collect, &collected);
  return std::move(collected.libraries);
}

}  // namespace wheelvet::probe
