#include <elf.h>
#include <fmt/format.h>

#include <algorithm>

#include "link/demangle.h"
#include "link/process.h"

namespace wheelvet {
namespace {

enum class Owns { yes, no, maybe };

// An import under consideration.
struct Wanted {
  LookupName name;
  std::optional<WantedVersion> version;
  std::string_view family;  // kind of library that alone can own it, or empty
};

bool has_prefix(std::string_view name, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return name.starts_with(prefix); });
}

// The first scope of a C++ name: "c10" of _ZN3c104cuda9SetDeviceEi, also behind what stands before
// a nested name (special names TV, TI, TS, GV and the like; references and qualifiers).
std::string_view first_scope(std::string_view mangled) {
  if (!mangled.starts_with("_Z")) return {};
  std::size_t digit = mangled.find_first_of("123456789");
  if (digit == std::string_view::npos) return {};
  std::string_view before = mangled.substr(2, digit - 2);
  if (before.find_first_not_of("NKVTISGRLOrHWh") != std::string_view::npos) return {};
  std::vector<std::string_view> words = identifiers(mangled.substr(digit));
  return words.empty() ? std::string_view() : words.front();
}

std::string_view family_of(const Rules& rules, std::string_view name) {
  std::string_view scope = first_scope(name);
  for (const FamilyRule& family : rules.families) {
    bool scoped = !scope.empty() && std::find(family.namespaces.begin(), family.namespaces.end(),
                                              scope) != family.namespaces.end();
    if (scoped || has_prefix(name, family.prefixes)) return family.kind;
  }
  return {};
}

// The column of an export table that an object stands for: the interpreter's release, or the
// release that a requirement pins. All columns when that is not known.
std::uint32_t columns_of(const Scene& scene, const LibraryRule& rule, const ExportTable& table) {
  if (table.columns.empty()) return ~0u;
  auto exact = [&](std::string_view release) -> std::uint32_t {
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i] == release) return 1u << i;
    }
    return 0;
  };
  if (rule.kind == "python") {
    return exact(scene.python);  // 0: no table for this release
  }
  for (const std::string& package : rule.pip) {
    auto declared = scene.declared.find(package);
    if (declared == scene.declared.end() || declared->second.pinned.empty()) continue;
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (compare_versions(table.columns[i], declared->second.pinned) <= 0) bits = 1u << i;
    }
    if (bits) return bits;
  }
  return ~0u;
}

// What a library that is not among the inputs needs in turn is not known either: torch's libraries
// bring CUDA's, and those bring each other. A name of such a family may come in with it.
bool may_bring(std::string_view kind, std::string_view family) {
  if (kind == "torch") return family == "cuda" || family == "nccl" || family == "driver";
  if (kind == "cuda" || kind == "nccl") return family == "cuda" || family == "driver";
  return false;
}

// Whether a library that is not among the inputs exports a name itself.
Owns owns_itself(const Scene& scene, const PlannedObject& object, const Wanted& wanted) {
  if (wanted.version && !wanted.version->file.empty()) {
    bool named = std::find(object.names.begin(), object.names.end(), wanted.version->file) !=
                 object.names.end();
    if (!named) return Owns::no;
    // The tables of plain system libraries are complete: a name that they lack is not taken on
    // trust.
    const LibraryRule* rule =
        object.library == none ? nullptr : &scene.rules->libraries[object.library];
    const ExportTable* table = rule && rule->plain ? export_table(rule->exports) : nullptr;
    return table && !table->names.contains(wanted.name.text) ? Owns::maybe : Owns::yes;
  }
  if (object.library == none) {
    return wanted.family.empty() ? Owns::maybe : Owns::no;
  }
  const LibraryRule& rule = scene.rules->libraries[object.library];
  if (const ExportTable* table = export_table(rule.exports)) {
    auto found = table->names.find(wanted.name.text);
    if (found == table->names.end()) return Owns::no;
    std::uint32_t columns = columns_of(scene, rule, *table);
    if (columns == 0) return Owns::maybe;
    if (found->second & columns) return Owns::yes;
    return columns == ~0u ? Owns::maybe : Owns::no;
  }
  if (!rule.prefixes.empty()) {
    if (!has_prefix(wanted.name.text, rule.prefixes)) return Owns::no;
    bool assumed = object.found == Found::system || object.found == Found::driver;
    return assumed ? Owns::yes : Owns::maybe;  // named in the report either way
  }
  if (!wanted.family.empty()) return wanted.family == rule.kind ? Owns::maybe : Owns::no;
  return rule.versioned ? Owns::no : Owns::maybe;
}

Owns owns(const Scene& scene, const PlannedObject& object, const Wanted& wanted) {
  Owns answer = owns_itself(scene, object, wanted);
  if (answer == Owns::no && !wanted.version && object.library != none &&
      may_bring(scene.rules->libraries[object.library].kind, wanted.family)) {
    return Owns::maybe;
  }
  return answer;
}

class Binder {
 public:
  Binder(LinkContext& context, Link& link, bool keep_bound)
      : context_(context), scene_(*context.scene), link_(link), keep_bound_(keep_bound) {}

  void bind_object(std::size_t index, const Load& load) {
    const PlannedObject& object = link_.plan.objects[index];
    const ElfFacts* elf = elf_of(scene_, object);
    if (!elf) return;
    bool opened = load.root == index && object.found != Found::interpreter;
    if (object.found != Found::interpreter) {
      std::string reason = refusal_of(scene_, *elf, opened);
      if (!reason.empty()) link_.refusals.push_back({index, std::move(reason)});
    }
    check_versions(index, *elf);
    const VersionNames& versions = context_.versions_of(object.file);
    const SymbolTable& table = elf->symbols;
    for (std::size_t i = 1; i < table.count; ++i) {
      if (table.relocations[i] == used_by_none || !table.undefined(i)) continue;
      Symbol symbol = table.at(i);
      // A reference that binds inside its own object is not looked up (glibc elf/dl-reloc.c).
      bool looked_up = symbol.binding != STB_LOCAL && symbol.visibility != STV_HIDDEN &&
                       symbol.visibility != STV_INTERNAL;
      if (looked_up) bind_symbol(index, load, symbol, i, versions);
    }
  }

 private:
  void bind_symbol(std::size_t index, const Load& load, const Symbol& symbol, std::size_t number,
                   const VersionNames& versions) {
    bool plt_only = (symbol.relocations & (used_by_data | used_by_copy)) == 0;
    Wanted wanted{LookupName(symbol.name, plt_only), std::nullopt, {}};
    if (versions.any()) wanted.version = versions.of(symbol.version);
    Binding binding;
    binding.object = index;
    binding.symbol = number;
    std::size_t maybe = none;
    const std::vector<std::size_t>* scopes[] = {&link_.plan.global_scope, &load.scope};
    for (const std::vector<std::size_t>* scope : scopes) {
      for (std::size_t candidate : *scope) {
        if (settle(candidate, wanted, binding, maybe)) {
          keep(std::move(binding), wanted);
          return;
        }
      }
    }
    if (maybe != none) {
      binding.outcome = Outcome::undecided;
      binding.owner = link_.plan.objects[maybe].name;
    } else {
      binding.outcome = Outcome::missing;
    }
    if (symbol.binding == STB_WEAK) binding.outcome = Outcome::weak;
    keep(std::move(binding), wanted);
  }

  // True when `candidate` ends the search.
  bool settle(std::size_t candidate, Wanted& wanted, Binding& binding, std::size_t& maybe) {
    const PlannedObject& object = link_.plan.objects[candidate];
    if (const ElfFacts* elf = elf_of(scene_, object)) {
      if (!find_definition(*elf, context_.versions_of(object.file), wanted.name, wanted.version)) {
        return false;
      }
      binding.outcome = Outcome::bound;
      binding.provider = candidate;
      return true;
    }
    if (wanted.family.empty()) wanted.family = family_of(*scene_.rules, wanted.name.text);
    // A file that is there but cannot be read may own anything.
    Owns answer = object.file != none ? Owns::maybe : owns(scene_, object, wanted);
    if (answer == Owns::no) return false;
    if (answer == Owns::yes && object.found != Found::absent) {
      binding.outcome = Outcome::assumed;
      binding.provider = candidate;
      return true;
    }
    if (maybe == none) maybe = candidate;
    return false;
  }

  void keep(Binding binding, const Wanted& wanted) {
    if (binding.outcome == Outcome::bound) ++link_.bound;
    if (binding.outcome == Outcome::assumed) ++link_.assumed;
    bool failed = binding.outcome == Outcome::missing || binding.outcome == Outcome::undecided;
    if (!failed && !keep_bound_) return;
    if (wanted.version) binding.version = wanted.version->name;
    link_.bindings.push_back(std::move(binding));
  }

  // Each version need must be defined by the loaded object of that file name; a file without
  // version definitions passes, and a weak need is not an error (glibc elf/dl-version.c).
  void check_versions(std::size_t index, const ElfFacts& elf) {
    for (const VersionNeed& need : elf.version_needs) {
      std::size_t provider = loaded_as(scene_, link_.plan, need.file);
      if (provider == none) {
        if (!brought_by_others()) link_.mismatches.push_back({index, none, need.file, ""});
        continue;
      }
      const ElfFacts* other = elf_of(scene_, link_.plan.objects[provider]);
      if (!other || other->version_definitions.empty()) continue;
      for (const NeededVersion& version : need.versions) {
        bool defined =
            std::any_of(other->version_definitions.begin(), other->version_definitions.end(),
                        [&](const VersionDefinition& definition) {
                          return definition.hash == version.hash && definition.name == version.name;
                        });
        if (!defined && !version.weak) {
          link_.mismatches.push_back({index, provider, need.file, version.name});
        }
      }
    }
  }

  // True when a library whose own needs are not known is in the process.
  bool brought_by_others() const {
    const std::vector<PlannedObject>& objects = link_.plan.objects;
    return std::any_of(objects.begin(), objects.end(), [&](const PlannedObject& object) {
      bool plain = object.found == Found::interpreter ||
                   (object.library != none && scene_.rules->libraries[object.library].plain);
      return !elf_of(scene_, object) && !plain;
    });
  }

  LinkContext& context_;
  const Scene& scene_;
  Link& link_;
  bool keep_bound_;
};

}  // namespace

LinkContext::LinkContext(const Scene& of) : scene(&of) {
  versions.reserve(of.files.size());
  for (const SceneFile& file : of.files) versions.emplace_back(file.facts->elf);
}

void bind(LinkContext& context, Link& link, std::size_t first_load, bool keep_bound) {
  Binder binder(context, link, keep_bound);
  for (std::size_t load = first_load; load < link.plan.loads.size(); ++load) {
    for (std::size_t i = 0; i < link.plan.objects.size(); ++i) {
      if (link.plan.objects[i].file != none && link.plan.objects[i].load == load) {
        binder.bind_object(i, link.plan.loads[load]);
      }
    }
  }
}

}  // namespace wheelvet
