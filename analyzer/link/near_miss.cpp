#include "link/near_miss.h"

#include <elf.h>
#include <algorithm>
#include <unordered_map>

#include "facts/elf_facts.h"
#include "link/demangle.h"
#include "link/name_difference.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_shown = 3;
constexpr int words_looked_at = 3;  // the scope and the name stand before the parameters

struct Target {
  std::string symbol;
  std::optional<CxxName> name;
};

struct Candidate {
  Resemblance resemblance;
  int distance = 0;  // parameters that differ, for ranking
};

constexpr SideWords sides = {"wanted", "exported"};

class Finder {
 public:
  Finder(const Scene& scene, const std::vector<std::size_t>& files,
         const std::set<std::string>& names)
      : scene_(scene), files_(files) {
    for (const std::string& symbol : names) targets_.push_back({symbol, read_cxx_name(symbol)});
    for (std::size_t t = 0; t < targets_.size(); ++t) {  // keys are views into the finished targets
      std::vector<std::string_view> words = identifiers(targets_[t].symbol);
      by_word_[words.empty() ? std::string_view(targets_[t].symbol) : key_of(words)].push_back(t);
    }
    found_.resize(targets_.size());
  }

  std::map<std::string, std::vector<Resemblance>> run() {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const FileFacts& facts = *scene_.files[files_[i]].facts;
      if (facts.kind == FileKind::elf && !facts.problem) search(i, facts);
    }
    std::map<std::string, std::vector<Resemblance>> out;
    for (std::size_t t = 0; t < targets_.size(); ++t) {
      std::stable_sort(
          found_[t].begin(), found_[t].end(),
          [](const Candidate& a, const Candidate& b) { return a.distance < b.distance; });
      std::vector<Resemblance>& best = out[targets_[t].symbol];
      for (Candidate& candidate : found_[t]) {
        bool known = std::any_of(best.begin(), best.end(), [&](const Resemblance& other) {
          return other.near_miss.symbol == candidate.resemblance.near_miss.symbol;
        });
        if (!known && best.size() < most_shown) best.push_back(std::move(candidate.resemblance));
      }
    }
    return out;
  }

 private:
  // A word that a relative of the name must hold too: the longest of its identifiers before the
  // parameters cannot be told without a parse, so the longest of all that is not from the library
  // of strings is taken among the first few.
  static std::string_view key_of(const std::vector<std::string_view>& words) {
    std::string_view best = words.front();
    for (std::size_t i = 0; i < words.size() && i < std::size_t{words_looked_at}; ++i) {
      if (words[i].size() > best.size() && words[i] != "__cxx11" &&
          !words[i].starts_with("basic_string")) {
        best = words[i];
      }
    }
    return best;
  }

  void search(std::size_t file, const FileFacts& facts) {
    const SymbolTable& table = facts.elf.symbols;
    for (std::size_t i = 1; i < table.count; ++i) {
      table.expect(i + 16);
      if (table.undefined(i)) continue;
      std::string_view name = table.name(i);
      bool mangled = name.starts_with("_Z");
      if (!mangled) {
        consider_word(file, facts, i, name, name);
        continue;
      }
      int left = words_looked_at;
      each_identifier(name, [&](std::string_view word) {
        consider_word(file, facts, i, name, word);
        return --left > 0;
      });
    }
  }

  void consider_word(std::size_t file, const FileFacts& facts, std::size_t index,
                     std::string_view name, std::string_view word) {
    auto targets = by_word_.find(word);
    if (targets == by_word_.end()) return;
    Symbol symbol = facts.elf.symbols.at(index);
    if (symbol.section == SHN_UNDEF || symbol.binding == STB_LOCAL) return;
    for (std::size_t t : targets->second) compare(t, file, facts, symbol, name);
  }

  void compare(std::size_t t, std::size_t file, const FileFacts& facts, const Symbol& symbol,
               std::string_view name) {
    const Target& target = targets_[t];
    Candidate candidate;
    candidate.resemblance.file = file;
    NearMiss& near = candidate.resemblance.near_miss;
    near.symbol = name;
    near.provider = facts.path;
    if (name == target.symbol) {
      bool hidden = symbol.visibility == STV_HIDDEN || symbol.visibility == STV_INTERNAL;
      candidate.resemblance.hidden = hidden;
      near.readable = demangled(name);
      near.difference = hidden ? "defined there, but hidden"
                               : "defined there, in a library that this load does not reach";
      found_[t].push_back(std::move(candidate));
      return;
    }
    if (!target.name) return;
    std::optional<CxxName> other = read_cxx_name(name);
    if (!other) return;
    if (!same_qualified_name(*target.name, *other)) return;
    candidate.resemblance.string_abi = differ_in_string_abi(*target.name, *other);
    candidate.distance = parameter_distance(*target.name, *other);
    near.readable = other->text;
    near.difference = name_difference(*target.name, *other, sides);
    found_[t].push_back(std::move(candidate));
  }

  const Scene& scene_;
  const std::vector<std::size_t>& files_;  // found ones are told by their place in it
  std::vector<Target> targets_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> by_word_;
  std::vector<std::vector<Candidate>> found_;
};

}  // namespace

std::map<std::string, std::vector<Resemblance>> find_resemblances(
    const Scene& scene, const std::set<std::string>& names, ResemblanceMemory* memory) {
  std::vector<std::size_t> searched;  // those that are known by their history have no symbols
  std::vector<const FileFacts*> files;
  for (std::size_t i = 0; i < scene.files.size(); ++i) {
    if (scene.files[i].facts->known) continue;
    searched.push_back(i);
    files.push_back(scene.files[i].facts);
  }
  ResemblanceMemory own;
  if (!memory) memory = &own;
  if (memory->files != files) *memory = {std::move(files), {}};
  std::set<std::string> fresh;
  for (const std::string& name : names) {
    if (!memory->found.contains(name)) fresh.insert(name);
  }
  if (!fresh.empty()) memory->found.merge(Finder(scene, searched, fresh).run());
  std::map<std::string, std::vector<Resemblance>> out;
  for (const std::string& name : names) {
    std::vector<Resemblance>& found = out[name] = memory->found[name];
    for (Resemblance& each : found) each.file = searched[each.file];
  }
  return out;
}

std::string parameter_difference(std::string_view wanted, std::string_view exported) {
  std::optional<CxxName> a = read_cxx_name(wanted), b = read_cxx_name(exported);
  if (!a || !b || a->scoped != b->scoped) return {};
  return name_difference(*a, *b, sides);
}

}  // namespace wheelvet
