// Who opens a library from Python, as the source of its package tells.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "link/scene.h"

namespace wheelvet {

/// A call in Python source that opens a file of the scene.
struct Opener {
  std::string place;         ///< "torchcodec/_core/ops.py:12"
  bool global = false;       ///< RTLD_GLOBAL
  bool conditional = false;  ///< in a function, or where its failure may be caught
};

/// The call in the same input that opens a file, one that happens for sure preferred.
std::optional<Opener> opener_of(const Scene& scene, std::size_t file);

/// Modules that are imported for sure before a file of the scene is: by the __init__ of the
/// packages it lies in, or by the file that opens it, and by what those import in turn.
std::set<std::string> imports_before(const Scene& scene, std::size_t file);

/// True when a pattern of Python source stands for a path: '*' is any text.
bool fits_pattern(std::string_view pattern, std::string_view text);

}  // namespace wheelvet
