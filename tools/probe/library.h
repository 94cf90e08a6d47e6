// Opening the libraries that a step asks: by path, at run time, so that the probe starts on any
// machine.
#pragma once

#include <string>
#include <vector>

#include "answer.h"
#include "driver_api.h"
#include "library_apis.h"
#include "management_api.h"

namespace wheelvet::probe {

struct Library {
  void* handle = nullptr;
  std::string path;  // as the loader resolved it
};

/// dlopen with RTLD_NOW | RTLD_LOCAL. On failure the handle is null and `error` holds the loader's
/// words.
Library open_library(const std::string& path_or_soname, std::string& error);

/// Each throws StepEnds (fail), naming the first function that the library lacks.
Driver driver_functions(const Library& library);
Management management_functions(const Library& library);  // throws nothing: all may be missing
Nvrtc nvrtc_functions(const Library& library);
Curand curand_functions(const Library& library);
Cublas cublas_functions(const Library& library);
Nccl nccl_functions(const Library& library);

/// The file that was to be loaded beside the one that is.
Check compare_library(const std::string& name, const std::string& planned, const Library& library);

/// Every shared object of this process whose file name begins with one of `prefixes`.
std::vector<LoadedLibrary> loaded_libraries(const std::vector<std::string>& prefixes);

}  // namespace wheelvet::probe
