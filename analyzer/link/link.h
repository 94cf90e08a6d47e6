// Plays the loader over every root of the targets.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "link/process.h"
#include "link/scene.h"
#include "wheelvet/link.h"

namespace wheelvet {

struct LinkOptions {
  bool keep_bound = false;           ///< keep bound imports too, not only those that fail
  std::vector<std::string> imports;  ///< modules imported first for every root, in order
  /// Every file is a root, opened in a process in which nothing else was imported or opened.
  bool alone = false;
  unsigned jobs = 1;                ///< threads
  bool installed = false;           ///< the roots are those of the environment, not of the targets
  std::set<std::string> only = {};  ///< judge these roots alone, by installed path; empty for all
  BindMemory* memory = nullptr;     ///< of what was bound in scenes over the same facts, or null
};

/// A library that no search path of a root reaches, opened before it.
struct OpenedFirst {
  std::size_t file = none;
  bool own = false;     ///< of the root's own package; else of one that somebody declares
  bool global = false;  ///< RTLD_GLOBAL
  std::string by;       ///< "torchcodec/_core/ops.py:12" when Python source does it, else empty
};

/// A root of the targets with what was imported before it.
struct LinkedRoot {
  std::size_t file = none;
  bool module = false;
  std::vector<std::string> imports;      ///< names of import rules played first
  std::vector<const ImportRule*> rules;  ///< of `imports`
  std::vector<OpenedFirst> first;        ///< then opened, in this order
  std::string opener;   ///< "vllm/env.py:40" of the Python source that opens it, or empty
  bool broken = false;  ///< of the environment: it loads now, and no more after the installation
  bool surely_opened = false;  ///< by importing that file, and nobody catches its failure
  std::string before;          ///< key into Links::imports
  std::string
      only_after;  ///< an import that it does not need by name, but that loads what it lacks
  Link link;
  std::size_t root = none;  ///< index into link.plan.objects
};

struct Links {
  std::vector<LinkedRoot> roots;        ///< in path order
  std::map<std::string, Link> imports;  ///< by machine and import list: those loads alone
};

/// Roots: extension modules, and shared objects that nothing in the targets needs. `installed`: of
/// the environment instead.
std::vector<std::size_t> find_roots(const Scene& scene, bool installed = false);

/// True when some load of a root's scenario that nobody catches ends in an error.
bool fails(const Scene& scene, const LinkedRoot& root, const Links& links);

Links link_scene(const Scene& scene, const LinkOptions& options);

}  // namespace wheelvet
