#include "link/bind_memory.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <type_traits>

#include "link/process.h"

namespace wheelvet {
namespace {

// Fields of fixed size are put as they lie in memory; texts are numbered.
struct Key {
  template <class T>
  void put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_text(std::string_view value) {
    put(static_cast<std::uint32_t>(value.size()));
    text.append(value);
  }
  std::string text;
};

// A part of a key in four bytes.
std::uint32_t number_of(BindMemory& memory, const std::string& part) {
  auto next = static_cast<std::uint32_t>(memory.numbers.size());
  return memory.numbers.emplace(part, next).first->second;
}

// The names that a file imports and that the history was asked for.
const std::vector<std::string_view>& asked_by(BindMemory& memory, const FileFacts& file,
                                              const KnownExports& known) {
  auto [at, fresh] = memory.asked.try_emplace(&file);
  if (!fresh) return at->second;
  const SymbolTable& table = file.elf.symbols;
  for (std::size_t i = 1; i < table.count; ++i) {
    if (sought(table, i) && known.asked->contains(table.name(i)))
      at->second.push_back(table.name(i));
  }
  return at->second;
}

// What the releases that are known by their history answer to one file: which of its names each
// library has.
void put_answers(Key& key, BindMemory& memory, const Scene& scene, const FileFacts& file) {
  for (const SceneFile& each : scene.files) {
    const KnownExports* known = each.facts->known.get();
    if (!known || (known->exported.empty() && known->possible.empty())) continue;
    const std::vector<std::string_view>& names = asked_by(memory, file, *known);
    if (names.empty()) return;
    key.put_text(each.facts->path);
    std::string answers(names.size(), '-');
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (known->exported.contains(names[i])) answers[i] = 'x';
      if (known->possible.contains(names[i])) answers[i] = '?';
    }
    key.text += answers;
  }
}

// A library that is known by its history: where it lies, whether all that it needs is known and, if
// it is to be bound itself, the versions that it wants. It is made anew for every scene, so that
// its address says nothing.
void put_known(Key& key, const FileFacts& file, bool to_bind) {
  key.put_text(file.path);
  key.put(file.known->nothing);
  key.put(file.known->needs_known);
  key.put_text(file.elf.soname);
  if (!to_bind) return;
  for (const VersionNeed& need : file.elf.version_needs) {
    key.put_text(need.file);
    for (const NeededVersion& version : need.versions) key.put_text(version.name);
  }
}

std::string text_of(const LinkContext& context, const PlannedObject& object, bool to_bind) {
  Key key;
  std::size_t library = object.library;
  key.put(object.found);
  if (object.file != none) {
    const FileFacts& file = *context.scene->files[object.file].facts;
    if (file.known) {
      put_known(key, file, to_bind);
      library = context.libraries[object.file];
    } else {
      key.put(&file);
    }
  }
  key.put(library);
  if (library != none) key.put(context.table_of(library).second);
  key.put_text(object.name);
  for (const std::string& name : object.names) key.put_text(name);
  return std::move(key.text);
}

// What is to be bound, and what else of the process that can bear upon.
class Selection {
 public:
  Selection(const LinkContext& context, const Link& link, std::size_t first_load)
      : context_(context), plan_(link.plan), kept_(plan_.objects.size()) {
    for (std::size_t i = 0; i < plan_.objects.size(); ++i) {
      if (plan_.objects[i].load < first_load) continue;
      kept_[i] = true;
      add_needs(plan_.objects[i]);
    }
    for (std::size_t object : link.static_tls.objects) kept_[object] = true;
    for (const Refusal& refusal : link.refusals) kept_[refusal.object] = true;
    std::vector<bool> reached(plan_.objects.size());
    for (std::size_t object : plan_.global_scope) reached[object] = true;
    for (std::size_t load = first_load; load < plan_.loads.size(); ++load) {
      for (std::size_t object : plan_.loads[load].scope) reached[object] = true;
    }
    for (std::size_t i = 0; i < plan_.objects.size(); ++i) {
      if (!kept_[i]) kept_[i] = named(plan_.objects[i]) || (reached[i] && concerns(i));
    }
  }

  bool keeps(std::size_t object) const { return kept_[object]; }
  // Versions are wanted of something that no object is called.
  bool wants_absent() const {
    return std::any_of(needs_.begin(), needs_.end(), [&](std::string_view name) {
      return loaded_as(*context_.scene, plan_, name) == none;
    });
  }
  // Scene files to be bound that have imports, in the order of the plan.
  const std::vector<std::size_t>& files() const { return files_; }

 private:
  void add_needs(const PlannedObject& object) {
    if (object.file == none) return;
    const FileFacts& file = *context_.scene->files[object.file].facts;
    if (!file.known) files_.push_back(object.file);
    for (const VersionNeed& need : file.elf.version_needs) needs_.insert(need.file);
  }

  // The object that versions are wanted of, by the name that it is known by.
  bool named(const PlannedObject& object) const {
    const ElfFacts* elf = elf_of(*context_.scene, object);
    return (elf && needs_.contains(elf->soname)) ||
           std::any_of(object.names.begin(), object.names.end(),
                       [&](const std::string& name) { return needs_.contains(name); });
  }

  bool concerns(std::size_t index) const {
    const PlannedObject& object = plan_.objects[index];
    if (object.file != none) return true;
    BindMemory& memory = *context_.memory;
    std::uint32_t number = number_of(memory, text_of(context_, object, false));
    return std::any_of(files_.begin(), files_.end(), [&](std::size_t file) {
      auto [at, fresh] = memory.concerns.try_emplace({context_.scene->files[file].facts, number});
      if (fresh) at->second = may_concern(context_, object, file);
      return at->second;
    });
  }

  const LinkContext& context_;
  const LoadPlan& plan_;
  std::vector<bool> kept_;
  std::vector<std::size_t> files_;
  std::set<std::string_view> needs_;
};

// Places of the kept objects of a plan.
std::vector<std::uint32_t> places_of(const std::vector<std::size_t>& kept, std::size_t count) {
  std::vector<std::uint32_t> out(count, static_cast<std::uint32_t>(none));
  for (std::size_t i = 0; i < kept.size(); ++i) out[kept[i]] = static_cast<std::uint32_t>(i);
  return out;
}

void put_scope(Key& key, const std::vector<std::size_t>& scope,
               const std::vector<std::uint32_t>& places) {
  for (std::size_t index : scope) {
    if (places[index] != static_cast<std::uint32_t>(none)) key.put(places[index]);
  }
  key.put(static_cast<std::uint32_t>(none));
}

template <class T>
std::vector<T> added(const std::vector<T>& all, std::size_t before) {
  return {all.begin() + static_cast<std::ptrdiff_t>(before), all.end()};
}

// Applies `to` to every number of an object.
template <class To>
void rename_objects(BoundLoads& of, To&& to) {
  for (Binding& each : of.bindings) {
    each.object = to(each.object);
    each.provider = to(each.provider);
  }
  for (VersionMismatch& each : of.mismatches) {
    each.object = to(each.object);
    each.provider = to(each.provider);
  }
  for (Refusal& each : of.refusals) each.object = to(each.object);
  for (std::size_t& object : of.static_tls.objects) object = to(object);
}

}  // namespace

BindKey bind_key(const LinkContext& context, const Link& link, std::size_t first_load) {
  BindMemory& memory = *context.memory;
  std::lock_guard lock(memory.mutex);
  const LoadPlan& plan = link.plan;
  Selection selection(context, link, first_load);
  BindKey out;
  Key key;
  key.put(plan.machine);
  key.put(selection.wants_absent() && brought_by_others(*context.scene, plan));
  for (std::size_t i = 0; i < plan.objects.size(); ++i) {
    if (!selection.keeps(i)) continue;
    const PlannedObject& object = plan.objects[i];
    bool to_bind = object.load >= first_load;
    key.put(number_of(memory, text_of(context, object, to_bind)));
    // Which of the loads before brought it in says nothing to those that follow.
    key.put(static_cast<std::uint32_t>(to_bind ? object.load - first_load + 1 : 0));
    out.objects.push_back(i);
  }
  std::vector<std::uint32_t> places = places_of(out.objects, plan.objects.size());
  put_scope(key, plan.global_scope, places);
  for (std::size_t load = first_load; load < plan.loads.size(); ++load) {
    key.put(plan.loads[load].lazy);
    key.put(is_start(plan, plan.loads[load]));
    put_scope(key, plan.loads[load].scope, places);
  }
  for (std::size_t file : selection.files()) {
    Key answers;
    put_answers(answers, memory, *context.scene, *context.scene->files[file].facts);
    key.put(number_of(memory, answers.text));
  }
  for (const Refusal& refusal : link.refusals) {
    key.put(places[refusal.object]);
    key.put_text(refusal.reason);
  }
  key.put(link.static_tls.left);
  key.put(link.static_tls.alignment);
  put_scope(key, link.static_tls.objects, places);
  out.text = std::move(key.text);
  return out;
}

LinkSize size_of(const Link& link) {
  return {link.bindings.size(), link.mismatches.size(), link.refusals.size(), link.bound,
          link.assumed};
}

bool recall(BindMemory& memory, const BindKey& key, Link& link) {
  std::shared_ptr<const BoundLoads> known;
  {
    std::lock_guard lock(memory.mutex);
    auto at = memory.results.find(key.text);
    if (at == memory.results.end()) return false;
    known = at->second;
  }
  BoundLoads result = *known;
  rename_objects(result,
                 [&](std::size_t place) { return place == none ? none : key.objects[place]; });
  std::move(result.bindings.begin(), result.bindings.end(), std::back_inserter(link.bindings));
  std::move(result.mismatches.begin(), result.mismatches.end(),
            std::back_inserter(link.mismatches));
  std::move(result.refusals.begin(), result.refusals.end(), std::back_inserter(link.refusals));
  link.bound += result.bound;
  link.assumed += result.assumed;
  link.static_tls = std::move(result.static_tls);
  return true;
}

void remember(BindMemory& memory, BindKey key, const LinkSize& before, const Link& link) {
  BoundLoads result{
      added(link.bindings, before.bindings), added(link.mismatches, before.mismatches),
      added(link.refusals, before.refusals), link.bound - before.bound,
      link.assumed - before.assumed,         link.static_tls};
  std::vector<std::uint32_t> places = places_of(key.objects, link.plan.objects.size());
  bool told = true;
  rename_objects(result, [&](std::size_t object) -> std::size_t {
    if (object == none) return none;
    told = told && places[object] != static_cast<std::uint32_t>(none);
    return places[object];
  });
  if (!told) return;  // it hangs on something that the key does not speak of
  auto kept = std::make_shared<const BoundLoads>(std::move(result));
  std::lock_guard lock(memory.mutex);
  memory.results.emplace(std::move(key.text), std::move(kept));
}

}  // namespace wheelvet
