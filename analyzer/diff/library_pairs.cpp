#include "diff/library_pairs.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "facts/metadata.h"
#include "link/scene.h"

namespace wheelvet {
namespace {

std::string folder_of_path(const std::string& path) {
  std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

// "libfoo" of "libfoo.so.1.2", "libfoo-1.2.so", "libfoo_cu12.so"; digits tell releases, not
// libraries.
std::string without_numbers(const FileFacts& file) {
  std::string name = bundled_from(file.path, "");
  if (name.empty()) name = base_name(file.path);
  name = name.substr(0, name.find(".so"));
  while (!name.empty() &&
         (std::string_view("0123456789.-_").find(name.back()) != std::string_view::npos)) {
    name.pop_back();
  }
  return name;
}

using KeyOf = std::function<std::string(const FileFacts&)>;

struct PairingRule {
  const char* by;
  KeyOf key;  // empty: the rule does not speak of this file
};

std::vector<PairingRule> pairing_rules() {
  return {
      {"path", [](const FileFacts& file) { return file.path; }},
      {"soname", [](const FileFacts& file) { return file.elf.soname; }},
      {"bundled name",
       [](const FileFacts& file) {
         std::string name = bundled_from(file.path, "");
         return name.empty() ? name : folder_of_path(file.path) + "/" + name;
       }},
      {"module",
       [](const FileFacts& file) {
         if (!is_module(file)) return std::string();
         return folder_of_path(file.path) + "/" + std::string(module_name(file.path));
       }},
      {"file name",
       [](const FileFacts& file) {
         return folder_of_path(file.path) + "/" + without_numbers(file);
       }},
      {"file name", without_numbers},
  };
}

std::vector<const FileFacts*> libraries_of(const InputFacts& input) {
  std::vector<const FileFacts*> out;
  for (const FileFacts& file : input.files) {
    if (file.kind == FileKind::elf && !file.problem) out.push_back(&file);
  }
  std::sort(out.begin(), out.end(),
            [](const FileFacts* a, const FileFacts* b) { return a->path < b->path; });
  return out;
}

// What has this key, when it is the only one.
std::map<std::string, const FileFacts*> by_key(const std::vector<const FileFacts*>& files,
                                               const KeyOf& key) {
  std::map<std::string, const FileFacts*> out;
  for (const FileFacts* file : files) {
    std::string text = key(*file);
    if (text.empty()) continue;
    auto [known, fresh] = out.emplace(std::move(text), file);
    if (!fresh) known->second = nullptr;
  }
  return out;
}

}  // namespace

bool is_private(const FileFacts& file) {
  std::string folder = folder_of_path(file.path);
  return folder.ends_with(".libs") || !bundled_from(file.path, "").empty();
}

std::vector<LibraryPair> pair_libraries(const InputFacts& before, const InputFacts& now) {
  std::vector<const FileFacts*> left = libraries_of(before), right = libraries_of(now);
  std::vector<LibraryPair> out;
  for (const PairingRule& rule : pairing_rules()) {
    std::map<std::string, const FileFacts*> there = by_key(right, rule.key);
    for (const auto& [key, file] : by_key(left, rule.key)) {
      auto partner = there.find(key);
      if (!file || partner == there.end() || !partner->second) continue;
      out.push_back({file, partner->second, rule.by});
      std::erase(left, file);
      std::erase(right, partner->second);
    }
  }
  // A single file against a single file is meant, whatever their names.
  if (out.empty() && left.size() == 1 && right.size() == 1) {
    return {{left.front(), right.front(), "the only one"}};
  }
  for (const FileFacts* file : left) out.push_back({file, nullptr, {}});
  for (const FileFacts* file : right) out.push_back({nullptr, file, {}});
  std::sort(out.begin(), out.end(), [](const LibraryPair& a, const LibraryPair& b) {
    return std::pair(!a.before, a.any().path) < std::pair(!b.before, b.any().path);
  });
  return out;
}

}  // namespace wheelvet
