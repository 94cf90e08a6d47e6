#include "diff/library_changes.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "checks/platform_floor.h"
#include "facts/metadata.h"
#include "link/scene.h"

namespace wheelvet {
namespace {

struct Title {
  std::string_view kind;
  const char *one, *several;
};

constexpr Title titles[] = {
    {"files-removed", "library that is gone", "libraries that are gone"},
    {"files-added", "new library", "new libraries"},
    {"files-moved", "library at another path", "libraries at another path"},
    {"soname", "soname that changed: who was linked with the old one asks for it",
     "sonames that changed: who was linked with the old ones asks for them"},
    {"versions-removed",
     "symbol version that is no longer defined: the loader refuses who needs it",
     "symbol versions that are no longer defined: the loader refuses who needs them"},
    {"versions-added", "new symbol version", "new symbol versions"},
    {"search-paths", "search path that changed", "search paths that changed"},
    {"machine", "library for another machine", "libraries for another machine"},
    {"processor-floor", "library that asks for a newer processor",
     "libraries that ask for a newer processor"},
    {"executable-stack",
     "library that asks for an executable stack: glibc from 2.41 on refuses to open it",
     "libraries that ask for an executable stack: glibc from 2.41 on refuses to open them"},
    {"needed-added", "library of others that is needed now",
     "libraries of others that are needed now"},
    {"needed-removed", "library of others that is no longer needed",
     "libraries of others that are no longer needed"},
    {"floor-raised", "system library that has to be newer",
     "system libraries that have to be newer"},
    {"floor-lowered", "system library that may be older", "system libraries that may be older"},
    {"floor-added", "family of symbol versions that was not needed before",
     "families of symbol versions that were not needed before"},
};

// One change per kind and severity, a line of evidence per library.
class Changes {
 public:
  void add(std::string_view kind, Severity severity, std::string evidence) {
    auto known = std::find_if(list_.begin(), list_.end(), [&](const Change& change) {
      return change.kind == kind && change.severity == severity;
    });
    if (known == list_.end()) {
      known = list_.emplace(list_.end());
      known->kind = kind;
      known->severity = severity;
    }
    known->evidence.push_back(std::move(evidence));
  }

  std::vector<Change> take() {
    for (Change& change : list_) {
      for (const Title& title : titles) {
        if (title.kind != change.kind) continue;
        change.title = counted(change.evidence.size(), title.one, title.several);
      }
    }
    return std::move(list_);
  }

 private:
  std::vector<Change> list_;
};

Severity unless_private(const FileFacts& file, Severity severity) {
  return is_private(file) ? Severity::note : severity;
}

void compare_files(const LibraryPair& pair, Changes& changes) {
  if (!pair.now) {
    bool own = is_private(*pair.before);
    changes.add("files-removed", own ? Severity::note : Severity::error, pair.before->path);
  } else if (!pair.before) {
    changes.add("files-added", Severity::note, pair.now->path);
  } else if (pair.before->path != pair.now->path) {
    changes.add("files-moved", unless_private(*pair.before, Severity::warning),
                fmt::format("{}, now {}", pair.before->path, pair.now->path));
  }
}

void compare_sonames(const LibraryPair& pair, Changes& changes) {
  const std::string &was = pair.before->elf.soname, &is = pair.now->elf.soname;
  if (was == is) return;
  auto shown = [](const std::string& name) { return name.empty() ? "none" : name; };
  Severity severity =
      is_module(*pair.before) ? Severity::note : unless_private(*pair.before, Severity::error);
  changes.add("soname", severity,
              fmt::format("{}: {}, now {}", pair.before->path, shown(was), shown(is)));
}

void compare_definitions(const LibraryPair& pair, Changes& changes) {
  auto names = [](const ElfFacts& elf) {
    std::set<std::string> out;
    for (const VersionDefinition& each : elf.version_definitions) {
      if (!each.base) out.insert(each.name);
    }
    return out;
  };
  std::set<std::string> was = names(pair.before->elf), is = names(pair.now->elf);
  auto add = [&](const std::set<std::string>& from, const std::set<std::string>& without,
                 const char* kind, Severity severity) {
    for (const std::string& name : from) {
      if (without.contains(name)) continue;
      changes.add(kind, severity, fmt::format("{} of {}", name, pair.before->path));
    }
  };
  add(was, is, "versions-removed", unless_private(*pair.before, Severity::error));
  add(is, was, "versions-added", Severity::note);
}

void compare_search_paths(const LibraryPair& pair, Changes& changes) {
  auto shown = [](const ElfFacts& elf) {
    std::vector<std::string> parts;
    if (elf.rpath) parts.push_back("RPATH " + *elf.rpath);
    if (elf.runpath) parts.push_back("RUNPATH " + *elf.runpath);
    return parts.empty() ? std::string("none") : fmt::format("{}", fmt::join(parts, ", "));
  };
  std::string was = shown(pair.before->elf), is = shown(pair.now->elf);
  if (was == is) return;
  changes.add("search-paths", Severity::note,
              fmt::format("{}: {}, now {}", pair.before->path, was, is));
}

bool executable_stack(const ElfFacts& elf) {
  // Without PT_GNU_STACK the stack is executable on x86-64 and not on aarch64 (glibc stackinfo.h).
  return elf.stack_flags ? (*elf.stack_flags & PF_X) != 0 : elf.machine == EM_X86_64;
}

unsigned isa_level(const ElfFacts& elf) {
  unsigned level = 0;
  for (std::uint32_t bits = elf.isa_needed; bits != 0; bits >>= 1) ++level;
  return level;
}

void compare_demands(const LibraryPair& pair, Changes& changes) {
  const ElfFacts &was = pair.before->elf, &is = pair.now->elf;
  const std::string& path = pair.now->path;
  if (was.machine != is.machine) {
    changes.add("machine", Severity::error, path);
  }
  if (isa_level(is) > std::max(1u, isa_level(was))) {
    changes.add("processor-floor", Severity::error,
                fmt::format("{}: x86-64-v{}", path, isa_level(is)));
  }
  if (executable_stack(is) && !executable_stack(was)) {
    changes.add("executable-stack", Severity::error, path);
  }
}

// What the libraries of one side need from outside, and who needs it first.
std::map<std::string, std::string> outside_needs(const std::vector<LibraryPair>& pairs,
                                                 const FileFacts* LibraryPair::*side) {
  std::set<std::string> own;
  for (const LibraryPair& pair : pairs) {
    if (!(pair.*side)) continue;
    own.insert(std::string(base_name((pair.*side)->path)));
    own.insert((pair.*side)->elf.soname);
  }
  std::map<std::string, std::string> out;
  for (const LibraryPair& pair : pairs) {
    if (!(pair.*side)) continue;
    for (const std::string& name : (pair.*side)->elf.needed) {
      if (!own.contains(name)) out.emplace(name, (pair.*side)->path);
    }
  }
  return out;
}

void compare_needs(const std::vector<LibraryPair>& pairs, const Rules& rules, Changes& changes) {
  std::map<std::string, std::string> was = outside_needs(pairs, &LibraryPair::before),
                                     is = outside_needs(pairs, &LibraryPair::now);
  for (const auto& [name, path] : is) {
    if (was.contains(name)) continue;
    std::size_t rule = library_of(rules, name);
    bool plain = rule != none && rules.libraries[rule].plain;
    changes.add("needed-added", plain ? Severity::note : Severity::warning,
                fmt::format("{} by {}", name, path));
  }
  for (const auto& [name, path] : was) {
    if (is.contains(name)) continue;
    changes.add("needed-removed", Severity::note, fmt::format("{} by {}", name, path));
  }
}

std::map<std::string, std::string> floors_of(const std::vector<LibraryPair>& pairs,
                                             const FileFacts* LibraryPair::*side) {
  std::map<std::string, std::string> floors;
  for (const LibraryPair& pair : pairs) {
    if (!(pair.*side)) continue;
    for (const VersionNeed& need : (pair.*side)->elf.version_needs) {
      for (const NeededVersion& version : need.versions) raise_floor(floors, version.name);
    }
  }
  return floors;
}

// The versions that somebody asks for, by family: the highest decides where it runs.
void compare_floors(const std::vector<LibraryPair>& pairs, Changes& changes) {
  std::map<std::string, std::string> was = floors_of(pairs, &LibraryPair::before),
                                     is = floors_of(pairs, &LibraryPair::now);
  for (const auto& [family, floor] : is) {
    auto old = was.find(family);
    int order = old == was.end() ? 1 : compare_versions(floor, old->second);
    if (order == 0) continue;
    // A family that nobody asked for before belongs to a new need, which is told as such.
    bool raised = order > 0 && old != was.end();
    std::string before = old == was.end() ? "none" : fmt::format("{}_{}", family, old->second);
    changes.add(raised      ? "floor-raised"
                : order < 0 ? "floor-lowered"
                            : "floor-added",
                raised ? Severity::error : Severity::note,
                fmt::format("{}_{}, before {}", family, floor, before));
  }
}

}  // namespace

std::vector<Change> library_changes(const std::vector<LibraryPair>& pairs, const Rules& rules) {
  Changes changes;
  for (const LibraryPair& pair : pairs) {
    compare_files(pair, changes);
    if (!pair.before || !pair.now) continue;
    compare_sonames(pair, changes);
    compare_definitions(pair, changes);
    compare_search_paths(pair, changes);
    compare_demands(pair, changes);
  }
  compare_needs(pairs, rules, changes);
  compare_floors(pairs, changes);
  return changes.take();
}

}  // namespace wheelvet
