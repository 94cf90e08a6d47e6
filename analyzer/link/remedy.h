// What becomes of libraries that are on the machine and on no path searched, once their folder is.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "link/link.h"
#include "link/scene.h"

namespace wheelvet {

/// A folder that holds libraries which some root needs and does not find.
struct Remedy {
  std::string folder;   ///< absolute
  std::string release;  ///< of the CUDA toolkit it belongs to, "13.0"; empty when it is none
  bool toolkit = false;
  std::set<std::string> libraries;  ///< sonames that are found with the folder in place
  std::set<std::string> mended;     ///< paths of roots that fail without it and load with it
};

/// A toolkit's folder in which a library of that name lies; null when there is none.
const ToolkitFolder* toolkit_with(const Machine& machine, const std::string& name);

/// Plays all loads again with the folders in place in which absent libraries lie: a toolkit's as a
/// line of ld.so.conf would put it, one of the inputs' as LD_LIBRARY_PATH would. Empty when no
/// absent library lies anywhere, and without a machine. `links`: as it is without.
std::vector<Remedy> try_remedies(const std::vector<Input>& inputs, const Scene& scene,
                                 const LinkOptions& options, const Links& links);

}  // namespace wheelvet
