// What the roots of a run ask of CUDA: the facts that the CUDA, NCCL and DUP findings judge.
#pragma once

#include <string>
#include <vector>

#include "checks/checks.h"
#include "wheelvet/cuda.h"

namespace wheelvet {

CudaReport cuda_closure(const Run& run, const std::vector<RootView>& roots);

/// The name that a library is known by in rules/: its soname, auditwheel's renaming undone.
std::string known_name(const Run& run, const PlannedObject& object);
std::string known_name(const Run& run, std::size_t file);

/// The version of a file: of the name at the end of its links, of its own text, of the package that
/// ships it; empty when nothing tells.
std::string version_of(const Run& run, std::size_t file);

/// The release of CUDA that a file belongs to, "13": by its soname, else its version, else the
/// package that owns it, else the toolkit it lies in; empty when nothing tells.
std::string cuda_major_of(const Run& run, std::size_t file);

/// "nvidia-curand 10.4.0.35", "CUDA toolkit 13.0", or what owner_of says.
std::string cuda_owner_of(const Run& run, std::size_t file);

/// The toolkit in whose library folder a path lies; null when it lies in none.
const ToolkitFolder* toolkit_of(const Machine& machine, const std::string& path);

/// The package that requires a library's package, "torch 2.11.0"; null when none does.
const Declared* declared_for(const Run& run, const std::string& soname);

}  // namespace wheelvet
