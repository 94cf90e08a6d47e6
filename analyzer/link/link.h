// Plays the loader over every root of the targets.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "link/process.h"
#include "link/scene.h"
#include "wheelvet/link.h"

namespace wheelvet {

struct LinkOptions {
  bool keep_bound = false;           ///< keep bound imports too, not only those that fail
  std::vector<std::string> imports;  ///< modules imported first for every root, in order
  bool alone = false;                ///< no other imports than those, whatever a root needs
};

/// A root of the targets with what was imported before it.
struct LinkedRoot {
  std::size_t file = none;
  bool module = false;
  std::vector<std::string> imports;  ///< names of import rules played first
  std::string before;                ///< key into Links::imports
  std::string
      only_after;  ///< an import that it does not need by name, but that loads what it lacks
  Link link;
  std::size_t root = none;  ///< index into link.plan.objects
};

struct Links {
  std::vector<LinkedRoot> roots;        ///< in path order
  std::map<std::string, Link> imports;  ///< by machine and import list: those loads alone
};

/// Roots: extension modules, and shared objects that nothing in the targets needs.
std::vector<std::size_t> find_roots(const Scene& scene);

Links link_scene(const Scene& scene, const LinkOptions& options);

}  // namespace wheelvet
