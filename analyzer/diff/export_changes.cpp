#include "diff/export_changes.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <thread>
#include <unordered_map>

#include "facts/metadata.h"
#include "link/lookup.h"
#include "link/name_difference.h"
#include "link/scene.h"

namespace wheelvet {
namespace {

// Forms of one function that are compared with each other; instances of operators come by hundreds.
constexpr std::size_t most_forms = 32;

// Marks that every linker makes for its own ends (GNU ld's default scripts).
bool is_linker_mark(std::string_view name) {
  return name == "_end" || name == "_edata" || name == "_etext" || name == "__bss_start" ||
         name == "_init" || name == "_fini";
}

bool is_export(const Symbol& symbol) {
  bool bindable = symbol.binding == STB_GLOBAL || symbol.binding == STB_WEAK ||
                  symbol.binding == STB_GNU_UNIQUE;
  bool visible = symbol.visibility == STV_DEFAULT || symbol.visibility == STV_PROTECTED;
  // A symbol that bears the name of a version is absolute.
  bool mark = symbol.section == SHN_ABS || is_linker_mark(symbol.name);
  return symbol.section != SHN_UNDEF && bindable && visible && !symbol.name.empty() && !mark;
}

template <class Each>
void each_export(const ElfFacts& elf, Each&& each) {
  for (std::size_t i = 1; i < elf.symbols.count; ++i) {
    elf.symbols.expect(i + 16);
    if (elf.symbols.undefined(i)) continue;
    Symbol symbol = elf.symbols.at(i);
    if (is_export(symbol)) each(symbol);
  }
}

// A library of one side, with what its lookups need.
struct Library {
  const FileFacts* file;
  VersionNames versions;
  bool quiet;  // nobody outside links with it: private, or a Python module

  explicit Library(const FileFacts& of)
      : file(&of), versions(of.elf), quiet(is_private(of) || is_module(of)) {}
};

struct Pair {
  std::optional<Library> before, now;
};

// An export that only one side has.
struct Lone {
  const Library* library = nullptr;
  Symbol symbol;
  std::string_view version;
  const Library* elsewhere = nullptr;  // another library, or this one under another version
  std::string_view elsewhere_version;
  bool taken = false;  // a change explains it
};

enum class Kind { gone, changed, string_abi, version, moved, type, size, added };

struct KindText {
  const char* word;
  const char* one;  // the title for one name, and for several
  const char* title;
  Severity severity;  // of strong names of libraries that others link with
};

KindText text_of(Kind kind) {
  switch (kind) {
    case Kind::changed:
      return {"parameters", "function with other parameters", "functions with other parameters",
              Severity::error};
    case Kind::gone:
      return {"exports-gone", "name that is no longer exported",
              "names that are no longer exported", Severity::error};
    case Kind::string_abi:
      return {"string-abi", "name in the other spelling of std::string (C++11 ABI)",
              "names in the other spelling of std::string (C++11 ABI)", Severity::error};
    case Kind::version:
      return {"symbol-version", "name under another symbol version",
              "names under another symbol version", Severity::error};
    case Kind::type:
      return {"symbol-type", "name of another type", "names of another type", Severity::error};
    case Kind::size:
      return {"data-size", "data object of another size", "data objects of another size",
              Severity::warning};
    case Kind::moved:
      return {"exports-moved", "name that moved to another library",
              "names that moved to another library", Severity::warning};
    case Kind::added:
      return {"exports-added", "new name", "new names", Severity::note};
  }
  return {};
}

// What stands apart inside a kind: how likely somebody outside needs the name.
enum class Standing { linked, weak, quiet };

const char* standing_text(Standing standing) {
  switch (standing) {
    case Standing::weak:
      return ", inline or of templates (users mostly compile these for themselves)";
    case Standing::quiet:
      return ", of Python modules and private libraries (nobody outside links with these)";
    case Standing::linked:
      return "";
  }
  return "";
}

Severity severity_of(Kind kind, Standing standing) {
  Severity severity = text_of(kind).severity;
  if (standing == Standing::quiet) return Severity::note;
  if (standing == Standing::linked) return severity;
  return severity == Severity::error ? Severity::warning : Severity::note;
}

// Names of an implementation go last: closures, detail namespaces, long instances.
int obscurity(std::string_view name) {
  for (std::string_view mark : {"detail", "internal", "impl", "Ul", "_GLOBAL__", "_ZSt", "_ZNSt",
                                "_ZNKSt", "_ZTS", "_ZTI", "_ZGV", "_ZTT"}) {
    if (name.find(mark) != std::string_view::npos) return 2;
  }
  return name.starts_with("_Z") && name.find('I') != std::string_view::npos ? 1 : 0;
}

using ChangedNames = std::map<std::pair<Kind, Standing>, std::vector<NameChange>>;

class Comparison {
 public:
  Comparison(const std::vector<LibraryPair>& pairs, const std::set<std::string, std::less<>>& used,
             unsigned jobs)
      : used_(used), jobs_(jobs) {
    pairs_.reserve(pairs.size());  // libraries are pointed to
    for (const LibraryPair& pair : pairs) {
      Pair& own = pairs_.emplace_back();
      if (pair.before) own.before.emplace(*pair.before);
      if (pair.now) own.now.emplace(*pair.now);
    }
  }

  ChangedNames run() {
    collect();
    find_elsewhere();
    match_forms();
    for (const Lone& lone : lost_) {
      if (!lone.taken) settle(lone);
    }
    for (const Lone& lone : fresh_) {
      if (!lone.taken && !lone.elsewhere) add(Kind::added, nullptr, &lone, {});
    }
    return std::move(changes_);
  }

 private:
  static std::string_view version_of(const Library& library, const Symbol& symbol) {
    std::optional<WantedVersion> version = library.versions.of(symbol.version);
    return version ? version->name : std::string_view();
  }

  // The definition that a reference to the other side's export would be bound to.
  static std::optional<std::size_t> counterpart(const Library& from, const Symbol& symbol,
                                                const Library& in) {
    return find_definition(in.file->elf, in.versions, LookupName(symbol.name),
                           from.versions.of(symbol.version));
  }

  void collect() {
    for (const Pair& pair : pairs_) {
      if (pair.before) {
        each_export(pair.before->file->elf, [&](const Symbol& symbol) {
          std::optional<std::size_t> there;
          if (pair.now) there = counterpart(*pair.before, symbol, *pair.now);
          if (there) {
            compare(*pair.before, symbol, *pair.now, pair.now->file->elf.symbols.at(*there));
          } else {
            lost_.push_back({&*pair.before, symbol, version_of(*pair.before, symbol), {}, {}});
          }
        });
      }
      if (!pair.now) continue;
      each_export(pair.now->file->elf, [&](const Symbol& symbol) {
        bool known = pair.before && counterpart(*pair.now, symbol, *pair.before);
        if (!known) fresh_.push_back({&*pair.now, symbol, version_of(*pair.now, symbol), {}, {}});
      });
    }
  }

  // The same name on both sides: it may have become something else.
  void compare(const Library& before, const Symbol& was, const Library& now, const Symbol& is) {
    auto group = [](const Symbol& symbol) {
      switch (symbol.type) {
        case STT_FUNC:
        case STT_GNU_IFUNC:
          return "function";
        case STT_TLS:
          return "thread-local variable";
        default:
          return "data";
      }
    };
    Lone old{&before, was, version_of(before, was), {}, {}};
    Lone fresh{&now, is, version_of(now, is), {}, {}};
    if (std::string_view(group(was)) != group(is)) {
      if (was.type != STT_NOTYPE && is.type != STT_NOTYPE) {
        add(Kind::type, &old, &fresh, fmt::format("{} before, {} now", group(was), group(is)));
      }
    } else if (was.type == STT_OBJECT && is.type == STT_OBJECT && was.size != is.size) {
      add(Kind::size, &old, &fresh, fmt::format("{} bytes before, {} now", was.size, is.size));
    }
  }

  // One walk over each side finds the names of the other side's lone ones in any library.
  void find_elsewhere() {
    auto search = [&](std::vector<Lone>& lone, bool in_now) {
      std::unordered_multimap<std::string_view, Lone*> wanted;
      wanted.reserve(lone.size());
      for (Lone& each : lone) wanted.emplace(each.symbol.name, &each);
      for (const Pair& pair : pairs_) {
        const std::optional<Library>& library = in_now ? pair.now : pair.before;
        if (!library) continue;
        each_export(library->file->elf, [&](const Symbol& symbol) {
          auto [begin, end] = wanted.equal_range(symbol.name);
          for (auto at = begin; at != end; ++at) {
            Lone& each = *at->second;
            bool own = in_now ? pair.before && &*pair.before == each.library
                              : pair.now && &*pair.now == each.library;
            if (each.elsewhere && !own) continue;
            each.elsewhere = &*library;
            each.elsewhere_version = version_of(*library, symbol);
          }
        });
      }
    };
    search(lost_, true);
    search(fresh_, false);
  }

  void settle(const Lone& lost) {
    if (!lost.elsewhere) {
      add(Kind::gone, &lost, nullptr, {});
      return;
    }
    Lone there{lost.elsewhere, lost.symbol, lost.elsewhere_version, {}, {}};
    bool same = lost.version == lost.elsewhere_version;
    add(same ? Kind::moved : Kind::version, &lost, &there, {});
  }

  // Names that are gone and names that are new share a qualified name: one change, not two. Only a
  // hash of the qualified name is kept of each.
  void match_forms() {
    std::vector<Lone*> all;
    for (auto* list : {&lost_, &fresh_}) {
      for (Lone& lone : *list) {
        if (!lone.elsewhere && lone.symbol.name.starts_with("_Z")) all.push_back(&lone);
      }
    }
    std::vector<std::size_t> hashes = hashes_of(all);
    std::map<std::size_t, std::pair<std::vector<Lone*>, std::vector<Lone*>>> groups;
    const Lone* first_fresh = fresh_.data();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (hashes[i] == 0) continue;
      auto& [lost, fresh] = groups[hashes[i]];
      bool is_fresh = all[i] >= first_fresh && all[i] < first_fresh + fresh_.size();
      std::vector<Lone*>& list = is_fresh ? fresh : lost;
      if (list.size() < most_forms) list.push_back(all[i]);
    }
    for (auto& [hash, group] : groups) {
      if (!group.first.empty() && !group.second.empty()) match_group(group.first, group.second);
    }
  }

  std::vector<std::size_t> hashes_of(const std::vector<Lone*>& names) const {
    std::vector<std::size_t> out(names.size());
    std::atomic<std::size_t> next{0};
    constexpr std::size_t piece = 256;
    auto work = [&] {
      for (std::size_t from = next.fetch_add(piece); from < names.size();
           from = next.fetch_add(piece)) {
        for (std::size_t i = from; i < std::min(from + piece, names.size()); ++i) {
          std::optional<CxxName> name = read_cxx_name(names[i]->symbol.name);
          if (!name) continue;
          std::size_t hash = std::hash<std::string>()(without_string_abi(name->scoped));
          out[i] = hash == 0 ? 1 : hash;
        }
      }
    };
    std::vector<std::jthread> pool;
    for (unsigned i = 1; i < jobs_; ++i) pool.emplace_back(work);
    work();
    pool.clear();
    return out;
  }

  struct Match {
    bool other_than_strings;
    int distance;
    std::size_t unshared;  // bytes of the mangled name behind the shared beginning
    std::size_t lost, fresh;

    auto key() const { return std::tuple(other_than_strings, distance, unshared, lost, fresh); }
  };

  static std::size_t unshared(std::string_view a, std::string_view b) {
    auto [end, unused] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return static_cast<std::size_t>(a.end() - end);
  }

  // The closest first, every name once.
  void match_group(const std::vector<Lone*>& lost, const std::vector<Lone*>& fresh) {
    std::vector<CxxName> was, is;
    for (const Lone* each : lost) was.push_back(*read_cxx_name(each->symbol.name));
    for (const Lone* each : fresh) is.push_back(*read_cxx_name(each->symbol.name));
    std::vector<Match> matches;
    for (std::size_t l = 0; l < lost.size(); ++l) {
      for (std::size_t f = 0; f < fresh.size(); ++f) {
        if (!same_qualified_name(was[l], is[f])) continue;
        matches.push_back({!differ_in_string_abi(was[l], is[f]), parameter_distance(was[l], is[f]),
                           unshared(lost[l]->symbol.name, fresh[f]->symbol.name), l, f});
      }
    }
    std::sort(matches.begin(), matches.end(),
              [](const Match& a, const Match& b) { return a.key() < b.key(); });
    for (const Match& match : matches) {
      Lone& from = *lost[match.lost];
      Lone& to = *fresh[match.fresh];
      if (from.taken || to.taken) continue;
      from.taken = to.taken = true;
      add(match.other_than_strings ? Kind::changed : Kind::string_abi, &from, &to,
          name_difference(was[match.lost], is[match.fresh], {"before", "now"}));
    }
  }

  void add(Kind kind, const Lone* before, const Lone* now, std::string difference) {
    NameChange change;
    const Lone& any = before ? *before : *now;
    if (before) {
      change.symbol = before->symbol.name;
      change.version = before->version;
      change.library = before->library->file->path;
      change.used = used_.contains(before->symbol.name);
    }
    if (now) {
      change.new_symbol = now->symbol.name;
      change.new_version = now->version;
      change.new_library = now->library->file->path;
    }
    change.difference = std::move(difference);
    Standing standing = Standing::linked;
    if (any.symbol.binding != STB_GLOBAL) standing = Standing::weak;
    if (any.library->quiet) standing = Standing::quiet;
    if (kind == Kind::added) standing = Standing::linked;
    changes_[{kind, standing}].push_back(std::move(change));
  }

  const std::set<std::string, std::less<>>& used_;
  unsigned jobs_;
  std::vector<Pair> pairs_;
  std::vector<Lone> lost_, fresh_;
  ChangedNames changes_;
};

// How many libraries of OLD import a name of each other: what they need, others need as well.
std::map<std::string_view, std::size_t> count_importers(const std::vector<LibraryPair>& pairs,
                                                        const ChangedNames& changes) {
  std::map<std::string_view, std::size_t> out;
  for (const auto& [key, names] : changes) {
    if (severity_of(key.first, key.second) == Severity::note) continue;
    for (const NameChange& change : names) out.emplace(change.symbol, 0);
  }
  for (const LibraryPair& pair : pairs) {
    if (!pair.before) continue;
    const SymbolTable& symbols = pair.before->elf.symbols;
    for (std::size_t i = 1; i < symbols.count; ++i) {
      symbols.expect(i + 16);
      if (!symbols.undefined(i)) continue;
      auto known = out.find(symbols.name(i));
      if (known != out.end()) ++known->second;
    }
  }
  return out;
}

void rank(std::vector<NameChange>& names,
          const std::map<std::string_view, std::size_t>& importers) {
  auto key = [&](const NameChange& change) {
    std::string_view name = change.symbol.empty() ? change.new_symbol : change.symbol;
    auto known = importers.find(name);
    std::size_t count = known == importers.end() ? 0 : known->second;
    return std::tuple(!change.used, -static_cast<std::ptrdiff_t>(count), obscurity(name),
                      name.size(), name, std::string_view(change.library));
  };
  std::sort(names.begin(), names.end(),
            [&](const NameChange& a, const NameChange& b) { return key(a) < key(b); });
  for (NameChange& change : names) {
    if (!change.symbol.empty()) change.readable = demangled(change.symbol);
    if (!change.new_symbol.empty()) change.new_readable = demangled(change.new_symbol);
  }
}

// "libtorch_cpu.so 12, libc10.so 3": the libraries with the most names first.
std::string spread(const std::vector<NameChange>& names) {
  std::map<std::string_view, std::size_t> counts;
  for (const NameChange& change : names) {
    ++counts[base_name(change.library.empty() ? change.new_library : change.library)];
  }
  std::vector<std::pair<std::size_t, std::string_view>> order;
  for (const auto& [library, count] : counts) order.emplace_back(count, library);
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out;
  constexpr std::size_t most = 6;
  for (std::size_t i = 0; i < order.size() && i < most; ++i) {
    out += fmt::format("{}{} {}", i ? ", " : "", order[i].second, order[i].first);
  }
  if (order.size() > most) out += fmt::format(", {} more libraries", order.size() - most);
  return out;
}

}  // namespace

std::vector<Change> export_changes(const std::vector<LibraryPair>& pairs,
                                   const std::set<std::string, std::less<>>& used, bool by_users,
                                   unsigned jobs) {
  std::vector<Change> out;
  auto changes = Comparison(pairs, used, jobs).run();
  std::map<std::string_view, std::size_t> importers = count_importers(pairs, changes);
  for (auto& [key, names] : changes) {
    auto [kind, standing] = key;
    KindText text = text_of(kind);
    Change& change = out.emplace_back();
    change.kind = text.word;
    change.severity = severity_of(kind, standing);
    rank(names, importers);
    auto wanted = static_cast<std::size_t>(std::count_if(
        names.begin(), names.end(), [](const NameChange& each) { return each.used; }));
    change.title = counted(names.size(), text.one, text.title) + standing_text(standing);
    if (by_users) change.title += fmt::format("; the users import {} of them", wanted);
    change.evidence.push_back(spread(names));
    change.names = std::move(names);
  }
  return out;
}

std::size_t count_exports(const ElfFacts& elf) {
  std::size_t count = 0;
  each_export(elf, [&](const Symbol&) { ++count; });
  return count;
}

}  // namespace wheelvet
