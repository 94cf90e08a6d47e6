// A process under simulation: objects loaded so far, and the loads that may follow.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "link/bind_memory.h"
#include "link/lookup.h"
#include "link/scene.h"
#include "wheelvet/link.h"

namespace wheelvet {

/// What is computed once per scene and shared by all its processes.
struct LinkContext {
  const Scene* scene = nullptr;
  std::vector<VersionNames> versions;  ///< per scene file
  /// Per scene file of which only the history is at hand: index into rules->libraries, or none.
  std::vector<std::size_t> libraries;
  BindMemory* memory = nullptr;  ///< of other scenes over the same facts, or null

  explicit LinkContext(const Scene& of, BindMemory* shared = nullptr);
  const VersionNames& versions_of(std::size_t file) const { return versions[file]; }
  /// The export table of a library of the rules, or null, and its columns that the scene stands
  /// for: the interpreter's release, or the release that a requirement pins; all when that is not
  /// known, none when the table lacks it. Asked for every import: it takes no lock once the table
  /// is there.
  std::pair<const ExportTable*, std::uint32_t> table_of(std::size_t library) const;

 private:
  struct Table {
    std::atomic<bool> known = false;
    std::atomic<const ExportTable*> table = nullptr;
    std::atomic<std::uint32_t> columns = 0;
  };
  mutable std::vector<Table> tables_;  // by library
};

/// The interpreter and the libraries that every interpreter loads, for a machine (EM_*).
LoadPlan start_process(const Scene& scene, std::uint16_t machine = 62);

/// One dlopen of a file of the scene: maps it and its DT_NEEDED closure, breadth first, in glibc's
/// search order. What is found nowhere is kept as an absent object and the load goes on, so that
/// every reason is seen at once. Returns the index of the load.
std::size_t open_file(const Scene& scene, LoadPlan& plan, std::size_t file, bool global,
                      std::string because);

/// One dlopen of a library that is assumed to lie at `path` under site-packages.
std::size_t open_assumed(const Scene& scene, LoadPlan& plan, std::size_t library,
                         const std::string& path, std::string because);

/// The object that a DT_NEEDED of that name would be satisfied by without a search; none if there
/// is none (glibc _dl_map_object's first loop).
std::size_t loaded_as(const Scene& scene, const LoadPlan& plan, std::string_view name);

/// The file of the scene whose path matches a pattern, the first in path order; none if there is
/// none.
std::size_t first_match(const Scene& scene, std::string_view pattern);

/// What an import statement loads, one dlopen after the other, each bound before the next
/// (rules/imports.toml).
void import_module(LinkContext& context, Link& link, const ImportRule& rule,
                   const std::string& release, bool keep_bound);

/// One dlopen whose failure somebody catches: it takes back all that it brought in. Returns whether
/// it succeeded.
bool open_caught(LinkContext& context, Link& link, std::size_t file, bool global,
                 const std::string& because, bool keep_bound);

/// True when a load that was bound would end in an error: a library not found or not loadable, a
/// missing symbol or version among the objects that it brought in.
bool load_failed(const Scene& scene, const Link& link, std::size_t load);

/// The kind of library that alone can own a name, by rules/imports.toml: "torch" of
/// _ZN3c104cuda9SetDeviceEa; empty when any may.
std::string_view family_of(const Rules& rules, std::string_view name);

/// How dlopen of a name, called by an object of the plan, would find it; nothing is loaded.
Found found_by(const Scene& scene, const LoadPlan& plan, std::size_t caller,
               const std::string& name);

/// True for the load that stands for the start of a known program, which is no dlopen.
bool is_start(const LoadPlan& plan, const Load& load);

/// What is free in the static TLS block of a process that has started: exactly, or the most that it
/// can be where that is not known.
StaticTls start_static_tls(const Scene& scene, const LoadPlan& plan);

/// Puts the variables of an object into the static TLS block, if they are not there yet; false when
/// they do not fit.
bool take_static_tls(const Scene& scene, const LoadPlan& plan, StaticTls& tls, std::size_t object);

/// Why the loader refuses an object that it found, in its own words; empty when it takes it.
/// `opened`: with a dlopen, by its name or as a need; not at the start of the process.
std::string refusal_of(const Scene& scene, const ElfFacts& elf, bool opened);

/// The facts of a planned object; null for assumed and absent ones.
const ElfFacts* elf_of(const Scene& scene, const PlannedObject& object);

/// True when a library whose own needs are not known is in the process.
bool brought_by_others(const Scene& scene, const LoadPlan& plan);

/// True when a library that is not at hand may have something that a file of the scene imports.
bool may_concern(const LinkContext& context, const PlannedObject& object, std::size_t file);

/// Binds the imports of every object that came in with loads `first_load` and later, and checks
/// their version needs. Bound imports are counted; they are kept only when `keep_bound`.
void bind(LinkContext& context, Link& link, std::size_t first_load, bool keep_bound);

}  // namespace wheelvet
