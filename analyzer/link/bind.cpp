#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "link/demangle.h"
#include "link/process.h"

namespace wheelvet {
namespace {

enum class Owns { yes, no, maybe };

// An import under consideration.
struct Wanted {
  LookupName name;
  std::optional<WantedVersion> version;
  std::string_view family;         // kind of library that alone can own it, or empty
  bool family_known = false;       // found out when it is asked for, which it often is not
  std::optional<bool> asked = {};  // of the history; the same names for all files of a scene
  bool copy = false;               // for a copy relocation: the program's own symbol does not count
  bool called = false;             // for a jump slot as well, which is a lookup of its own
};

// How an object refers to one of its symbols (glibc's type classes): each kind of relocation is a
// lookup of its own.
enum class Reference { plt, data, copy };

// One lookup is enough to tell whether a name is there; `exactly`: every lookup that is made.
std::vector<Reference> references(std::uint8_t relocations, bool exactly) {
  bool data = (relocations & used_by_data) != 0, copy = (relocations & used_by_copy) != 0;
  if (!exactly) return {data || copy ? Reference::data : Reference::plt};
  std::vector<Reference> out;
  if (relocations & (used_by_plt | used_by_tls)) out.push_back(Reference::plt);
  if (data) out.push_back(Reference::data);
  if (copy) out.push_back(Reference::copy);
  return out;
}

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
  std::string_view first;
  each_identifier(mangled.substr(digit), [&](std::string_view word) {
    first = word;
    return false;
  });
  return first;
}

}  // namespace

std::string_view family_of(const Rules& rules, std::string_view name) {
  std::string_view scope = first_scope(name);
  for (const FamilyRule& family : rules.families) {
    bool scoped = !scope.empty() && std::find(family.namespaces.begin(), family.namespaces.end(),
                                              scope) != family.namespaces.end();
    if (scoped || has_prefix(name, family.prefixes)) return family.kind;
  }
  return {};
}

namespace {

// What a library that is not among the inputs needs in turn is not known either: torch's libraries
// bring CUDA's, and those bring each other. A name of such a family may come in with it.
bool may_bring(std::string_view kind, std::string_view family) {
  if (kind == "torch") return family == "cuda" || family == "nccl" || family == "driver";
  if (kind == "cuda" || kind == "nccl") return family == "cuda" || family == "driver";
  return false;
}

// Whether a library that is not among the inputs exports a name itself.
Owns owns_itself(const LinkContext& context, const PlannedObject& object, const Wanted& wanted) {
  const Scene& scene = *context.scene;
  if (wanted.version && !wanted.version->file.empty()) {
    bool named = std::find(object.names.begin(), object.names.end(), wanted.version->file) !=
                 object.names.end();
    if (!named) return Owns::no;
    // The tables of plain system libraries are complete: a name that they lack is not taken on
    // trust.
    const LibraryRule* rule =
        object.library == none ? nullptr : &scene.rules->libraries[object.library];
    const ExportTable* table =
        rule && rule->plain ? context.table_of(object.library).first : nullptr;
    return table && !table->names.contains(wanted.name.text) ? Owns::maybe : Owns::yes;
  }
  if (object.library == none) {
    return wanted.family.empty() ? Owns::maybe : Owns::no;
  }
  const LibraryRule& rule = scene.rules->libraries[object.library];
  if (auto [table, columns] = context.table_of(object.library); table) {
    auto found = table->names.find(wanted.name.text);
    if (found == table->names.end()) return Owns::no;
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

// Whether a library of a release that is known by its history exports a name. What the history does
// not keep (std templates, bundled third parties) is not known; names that belong to another kind
// of library are no library of torch's.
Owns known_to_own(const LinkContext& context, const PlannedObject& object, const FileFacts& facts,
                  Wanted& wanted) {
  const Scene& scene = *context.scene;
  const KnownExports& known = *facts.known;
  std::size_t library = context.libraries[object.file];
  std::string_view name = wanted.name.text;
  const LibraryRule* rule = library == none ? nullptr : &scene.rules->libraries[library];
  if (rule && rule->kind != "torch") {  // bundled, under the name of a library with an owner
    PlannedObject as_system = object;
    as_system.library = library;
    as_system.found = Found::system;
    as_system.names.push_back(facts.elf.soname);
    return owns_itself(context, as_system, wanted);
  }
  if (!wanted.asked) wanted.asked = known.asked->contains(name);
  if (*wanted.asked && known.exported.contains(name)) return Owns::yes;
  if (*wanted.asked && known.possible.contains(name)) return Owns::maybe;
  bool may_come = !known.needs_known && may_bring("torch", wanted.family);
  if (may_come && !wanted.version) return Owns::maybe;
  bool decided = *wanted.asked || known.nothing || wanted.version.has_value();
  if (decided) return Owns::no;
  return wanted.family.empty() || wanted.family == "torch" ? Owns::maybe : Owns::no;
}

Owns owns(const LinkContext& context, const PlannedObject& object, const Wanted& wanted) {
  const Scene& scene = *context.scene;
  Owns answer = owns_itself(context, object, wanted);
  if (answer == Owns::no && !wanted.version && object.library != none &&
      may_bring(scene.rules->libraries[object.library].kind, wanted.family)) {
    return Owns::maybe;
  }
  return answer;
}

class Binder {
 public:
  Binder(LinkContext& context, Link& link, bool keep_bound)
      : context_(context), scene_(*context.scene), link_(link), keep_bound_(keep_bound) {
    bool fresh = link.static_tls.alignment == 0;
    if (fresh) link.static_tls = start_static_tls(scene_, link.plan);
  }

  void bind_object(std::size_t index, const Load& load) {
    const PlannedObject& object = link_.plan.objects[index];
    const ElfFacts* elf = elf_of(scene_, object);
    if (!elf) return;
    bool program = object.found == Found::interpreter;
    if (!program) {
      std::string reason = refusal_of(scene_, *elf, !is_start(link_.plan, load));
      if (!reason.empty()) refuse(index, std::move(reason));
    }
    check_versions(index, *elf);
    bool now = (elf->flags & DF_BIND_NOW) != 0 || (elf->flags_1 & DF_1_NOW) != 0;
    lazy_ = load.lazy && !now;
    own_scope_.clear();
    if (keep_bound_ && elf->symbolic && !program) own_scope_ = {index};
    const VersionNames& versions = context_.versions_of(object.file);
    const SymbolTable& table = elf->symbols;
    // Symbol 0 stands for the object's own variables.
    if (table.count > 0 && (table.relocations[0] & used_by_static_tls)) take_tls(index, index);
    for (std::size_t i = 1; i < table.count; ++i) {
      if (table.relocations[i] == used_by_none) continue;
      bool own_tls = !table.undefined(i) && (table.relocations[i] & used_by_static_tls) != 0;
      // A name that the object defines itself is there; which definition wins matters to those who
      // keep all bindings.
      bool judged = keep_bound_ || sought(table, i);
      Symbol symbol = judged ? table.at(i) : Symbol();
      // A reference that binds inside its own object is not looked up (glibc elf/dl-reloc.c).
      bool looked_up = judged && symbol.binding != STB_LOCAL && symbol.visibility != STV_HIDDEN &&
                       symbol.visibility != STV_INTERNAL;
      if (looked_up) {
        bind_symbol(index, load, symbol, i, versions);
      } else if (own_tls) {
        take_tls(index, index);
      }
    }
  }

 private:
  void bind_symbol(std::size_t index, const Load& load, const Symbol& symbol, std::size_t number,
                   const VersionNames& versions) {
    std::size_t last = none;
    for (Reference reference : references(symbol.relocations, keep_bound_)) {
      Wanted wanted{LookupName(symbol.name, reference == Reference::plt), std::nullopt, {}};
      if (versions.any()) wanted.version = versions.of(symbol.version);
      wanted.copy = reference == Reference::copy;
      wanted.called = !keep_bound_ && (symbol.relocations & (used_by_plt | used_by_tls)) != 0;
      Binding binding = look_up(index, load, wanted);
      binding.symbol = number;
      if (binding.outcome == Outcome::bound && symbol.visibility == STV_PROTECTED) {
        binding.provider = protected_provider(load, reference, wanted, binding);
      }
      bool may_stay = symbol.binding == STB_WEAK || (lazy_ && symbol.relocations == used_by_plt);
      if (binding.outcome > Outcome::assumed && may_stay) {
        binding.outcome = Outcome::weak;
      }
      bool static_tls = (symbol.relocations & used_by_static_tls) != 0;
      if (static_tls && binding.outcome == Outcome::bound) take_tls(index, binding.provider);
      if (last != none && last == binding.provider) continue;
      last = binding.provider;
      keep(std::move(binding), wanted);
    }
  }

  // The first definition in the scopes of the object at `index`: of the process, and of its load.
  Binding look_up(std::size_t index, const Load& load, Wanted& wanted) {
    Binding binding;
    binding.object = index;
    std::size_t maybe = none;
    const std::vector<std::size_t>* scopes[] = {&own_scope_, &link_.plan.global_scope, &load.scope};
    for (const std::vector<std::size_t>* scope : scopes) {
      for (std::size_t candidate : *scope) {
        if (settle(candidate, wanted, binding, maybe)) return binding;
      }
    }
    if (maybe != none) {
      binding.outcome = Outcome::undecided;
      binding.owner = link_.plan.objects[maybe].name;
    }
    return binding;
  }

  // True when `candidate` ends the search.
  bool settle(std::size_t candidate, Wanted& wanted, Binding& binding, std::size_t& maybe) {
    const PlannedObject& object = link_.plan.objects[candidate];
    const FileFacts* file = object.file == none ? nullptr : scene_.files[object.file].facts;
    if (file && file->known) return settle_known(candidate, *file, wanted, binding, maybe);
    if (const ElfFacts* elf = elf_of(scene_, object)) {
      if (wanted.copy && object.found == Found::interpreter) return false;
      const VersionNames& versions = context_.versions_of(object.file);
      std::optional<std::size_t> found =
          find_definition(*elf, versions, wanted.name, wanted.version);
      if (!found) return false;
      if (wanted.called && elf->symbols.undefined(*found)) {
        wanted.name.plt_only = true;  // an undefined symbol with a value serves addresses alone
        return false;
      }
      bool versioned = versions.any() && !elf->symbols.versions.empty();
      if (wanted.version && !versioned) {
        check_unversioned(object, *elf, *wanted.version, binding.object);
      }
      binding.outcome = Outcome::bound;
      binding.provider = candidate;
      if (keep_bound_ && elf->symbols.at(*found).binding == STB_GNU_UNIQUE) {
        binding.provider = unique_provider(wanted, candidate, binding.object);
      }
      return true;
    }
    find_family(wanted);
    // A file that is there but cannot be read may own anything.
    Owns answer = object.file != none ? Owns::maybe : owns(context_, object, wanted);
    if (answer == Owns::no) return false;
    if (answer == Owns::yes && object.found != Found::absent) {
      binding.outcome = Outcome::assumed;
      binding.provider = candidate;
      return true;
    }
    if (maybe == none) maybe = candidate;
    return false;
  }

  void find_family(Wanted& wanted) const {
    if (!wanted.family_known) wanted.family = family_of(*scene_.rules, wanted.name.text);
    wanted.family_known = true;
  }

  // The same for a library of which only the history is at hand.
  bool settle_known(std::size_t candidate, const FileFacts& file, Wanted& wanted, Binding& binding,
                    std::size_t& maybe) {
    find_family(wanted);
    const PlannedObject& object = link_.plan.objects[candidate];
    Owns answer = known_to_own(context_, object, file, wanted);
    if (answer == Owns::maybe && maybe == none) maybe = candidate;
    if (answer != Owns::yes) return false;
    binding.outcome = Outcome::bound;
    binding.provider = candidate;
    return true;
  }

  // Up to glibc 2.40 the process is ended when the very file that a version is wanted of has no
  // versions at all (assertion in elf/dl-lookup.c, check_match).
  void check_unversioned(const PlannedObject& object, const ElfFacts& elf,
                         const WantedVersion& version, std::size_t importer) {
    const std::string& glibc = scene_.machine->glibc;
    if (version.file.empty() || glibc.empty() || compare_versions(glibc, "2.41") >= 0) return;
    bool named = elf.soname == version.file || std::find(object.names.begin(), object.names.end(),
                                                         version.file) != object.names.end();
    if (!named) return;
    refuse(importer,
           "Inconsistency detected by ld.so: dl-lookup.c: check_match: Assertion "
           "`version->filename == NULL || ! _dl_name_match_p (version->filename, map)' failed!");
  }

  // A reference from `importer` wants the variables of `provider` in static TLS.
  void take_tls(std::size_t importer, std::size_t provider) {
    if (take_static_tls(scene_, link_.plan, link_.static_tls, provider)) return;
    bool fresh = link_.plan.objects[provider].load == link_.plan.objects[importer].load;
    refuse(fresh ? provider : importer, "cannot allocate memory in static TLS block");
  }

  void refuse(std::size_t object, std::string reason) {
    bool known = std::any_of(
        link_.refusals.begin(), link_.refusals.end(),
        [&](const Refusal& each) { return each.object == object && each.reason == reason; });
    if (!known) link_.refusals.push_back({object, std::move(reason)});
  }

  // One definition of a STB_GNU_UNIQUE name serves the whole process: the first that a lookup came
  // upon, or the copy that the program took of it (glibc do_lookup_unique).
  std::size_t unique_provider(const Wanted& wanted, std::size_t found, std::size_t importer) {
    auto [settled, fresh] =
        link_.unique.emplace(std::string(wanted.name.text), wanted.copy ? importer : found);
    return wanted.copy ? found : settled->second;
  }

  // A protected name stays at home unless a definition of the program's takes its place in data
  // (glibc _dl_lookup_symbol_x).
  std::size_t protected_provider(const Load& load, Reference reference, const Wanted& wanted,
                                 const Binding& binding) {
    if (reference == Reference::plt) return binding.object;
    Wanted call = wanted;
    call.name.plt_only = true;
    Binding other = look_up(binding.object, load, call);
    return other.provider == binding.object ? binding.provider : binding.object;
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
      if (need.file.empty()) continue;  // glibc's name of the program, which defines no versions
      std::size_t provider = loaded_as(scene_, link_.plan, need.file);
      if (provider == none) {
        if (!brought_by_others(scene_, link_.plan))
          link_.mismatches.push_back({index, none, need.file, ""});
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

  LinkContext& context_;
  const Scene& scene_;
  Link& link_;
  bool keep_bound_;
  bool lazy_ = false;                   // of the object that is bound
  std::vector<std::size_t> own_scope_;  // DT_SYMBOLIC: the object itself before all others
};

}  // namespace

LinkContext::LinkContext(const Scene& of, BindMemory* shared)
    : scene(&of), memory(shared), tables_(of.rules->libraries.size()) {
  versions.reserve(of.files.size());
  for (const SceneFile& file : of.files) {
    versions.emplace_back(file.facts->elf);
    bool known = file.facts->known != nullptr;
    libraries.push_back(known ? library_of(*of.rules, file.facts->elf.soname) : none);
  }
}

namespace {

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

}  // namespace

std::pair<const ExportTable*, std::uint32_t> LinkContext::table_of(std::size_t library) const {
  Table& at = tables_[library];
  if (!at.known) {
    const LibraryRule& rule = scene->rules->libraries[library];
    const ExportTable* table = export_table(rule.exports);
    at.table = table;
    at.columns = table ? columns_of(*scene, rule, *table) : 0;
    at.known = true;
  }
  return {at.table, at.columns};
}

namespace {

// Needs before those that need them, along the scope from its end: the order in which the loader
// relocates (glibc elf/dl-sort-maps.c, its order reversed). It decides which of several definitions
// of a STB_GNU_UNIQUE name comes first.
class RelocationOrder {
 public:
  explicit RelocationOrder(const LoadPlan& plan) : plan_(plan), seen_(plan.objects.size()) {}

  std::vector<std::size_t> of(const Load& load) {
    if (load.root != none) seen_[load.root] = true;  // the last in any case
    for (std::size_t i = load.scope.size(); i-- > 0;) visit(load.scope[i]);
    if (load.root != none) order_.push_back(load.root);
    return std::move(order_);
  }

 private:
  void visit(std::size_t object) {
    if (seen_[object]) return;
    seen_[object] = true;
    for (std::size_t needed : plan_.objects[object].needed) visit(needed);
    order_.push_back(object);
  }

  const LoadPlan& plan_;
  std::vector<bool> seen_;
  std::vector<std::size_t> order_;
};

std::vector<std::size_t> every_object(const LoadPlan& plan) {
  std::vector<std::size_t> out(plan.objects.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

}  // namespace

bool brought_by_others(const Scene& scene, const LoadPlan& plan) {
  return std::any_of(plan.objects.begin(), plan.objects.end(), [&](const PlannedObject& object) {
    bool plain = object.found == Found::interpreter ||
                 (object.library != none && scene.rules->libraries[object.library].plain);
    return !elf_of(scene, object) && !plain;
  });
}

bool may_concern(const LinkContext& context, const PlannedObject& object, std::size_t file) {
  const SymbolTable& table = context.scene->files[file].facts->elf.symbols;
  const VersionNames& versions = context.versions_of(file);
  for (std::size_t i = 1; i < table.count; ++i) {
    if (!sought(table, i)) continue;
    Wanted wanted{LookupName(table.name(i)), std::nullopt, {}};
    if (versions.any()) wanted.version = versions.of(table.at(i).version);
    wanted.family = family_of(*context.scene->rules, wanted.name.text);
    if (owns(context, object, wanted) != Owns::no) return true;
  }
  return false;
}

namespace {

void bind_loads(LinkContext& context, Link& link, std::size_t first_load, bool keep_bound) {
  Binder binder(context, link, keep_bound);
  const LoadPlan& plan = link.plan;
  for (std::size_t load = first_load; load < plan.loads.size(); ++load) {
    std::vector<std::size_t> order =
        keep_bound ? RelocationOrder(plan).of(plan.loads[load]) : every_object(plan);
    for (std::size_t i : order) {
      if (plan.objects[i].file != none && plan.objects[i].load == load) {
        binder.bind_object(i, plan.loads[load]);
      }
    }
  }
}

}  // namespace

void bind(LinkContext& context, Link& link, std::size_t first_load, bool keep_bound) {
  if (keep_bound || !context.memory) {
    bind_loads(context, link, first_load, keep_bound);
    return;
  }
  BindKey key = bind_key(context, link, first_load);
  if (recall(*context.memory, key, link)) return;
  LinkSize before = size_of(link);
  bind_loads(context, link, first_load, keep_bound);
  remember(*context.memory, std::move(key), before, link);
}

}  // namespace wheelvet
