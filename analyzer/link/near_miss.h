// For a name that no loaded library exports: the exports that resemble it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "link/scene.h"
#include "wheelvet/finding.h"

namespace wheelvet {

/// A near miss and what kind it is.
struct Resemblance {
  NearMiss near_miss;
  bool string_abi = false;  ///< equal but for the spelling of std::string (C++11 ABI)
  bool hidden = false;      ///< the name itself, but hidden
  std::size_t file = none;  ///< index into the scene's files
};

/// What was found for names in these files before.
struct ResemblanceMemory {
  std::vector<const FileFacts*> files;
  std::map<std::string, std::vector<Resemblance>> found;  ///< `file` is an index into `files`
};

/// Looks once through the defined symbols of all files of the scene for functions with the
/// qualified name of one of `names`, for the name under another version, and for hidden
/// definitions. Best first, at most three per name. With a memory, through what it does not know
/// yet.
std::map<std::string, std::vector<Resemblance>> find_resemblances(
    const Scene& scene, const std::set<std::string>& names, ResemblanceMemory* memory = nullptr);

/// How the parameters of two C++ names differ, for people; empty when the names are not comparable.
std::string parameter_difference(std::string_view wanted, std::string_view exported);

}  // namespace wheelvet
