#include "link/opener.h"

#include <fmt/format.h>

#include <algorithm>

#include "facts/metadata.h"
#include "link/search_path.h"

namespace wheelvet {
namespace {

// A pattern that could stand for any library says nothing of this one: its file name must have
// letters of its own.
bool tells_something(std::string_view pattern) {
  std::string_view base = base_name(pattern);
  std::size_t letters = 0;
  for (std::size_t i = 0; i < base.size(); ++i) {
    for (std::string_view common : {"lib", ".so", ".abi3", ".cpython"}) {
      if (base.substr(i).starts_with(common)) i += common.size();
    }
    if (i < base.size() && base[i] != '*' && base[i] != '.') ++letters;
  }
  return letters >= 2;
}

bool opens(const PythonOpens& each, std::string_view path) {
  if (!tells_something(each.pattern)) return false;
  return each.searched ? fits_pattern(each.pattern, base_name(path))
                       : fits_pattern(each.pattern, path);
}

// The file that holds a module: "a/b.py" or "a/b/__init__.py" of "a.b".
const PythonFacts* file_of_module(const Scene& scene, const std::string& module) {
  std::string path = module;
  std::replace(path.begin(), path.end(), '.', '/');
  for (const char* ending : {"/__init__.py", ".py"}) {
    auto found = scene.python_files.find(path + ending);
    if (found != scene.python_files.end()) return found->second;
  }
  return nullptr;
}

// A module with the packages it lies in, outermost first.
std::vector<std::string> with_parents(const std::string& module) {
  std::vector<std::string> out;
  for (std::size_t dot = module.find('.'); dot != std::string::npos;
       dot = module.find('.', dot + 1)) {
    out.push_back(module.substr(0, dot));
  }
  out.push_back(module);
  return out;
}

struct Opening {
  const PythonFacts* file = nullptr;
  const PythonOpens* open = nullptr;
};

Opening find_opening(const Scene& scene, std::size_t file) {
  const SceneFile& of = scene.files[file];
  Opening best;
  if (is_module(*of.facts)) return best;  // it is imported
  for (const InputFacts& input : scene.facts->inputs) {
    if (input.input != of.input) continue;
    for (const PythonFacts& source : input.python) {
      for (const PythonOpens& each : source.opens) {
        bool better = !best.open || (best.open->conditional && !each.conditional);
        if (better && opens(each, of.facts->path)) best = {&source, &each};
      }
    }
  }
  return best;
}

}  // namespace

bool fits_pattern(std::string_view pattern, std::string_view text) {
  std::size_t star = std::string_view::npos, retry = 0, p = 0, t = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::optional<Opener> opener_of(const Scene& scene, std::size_t file) {
  Opening found = find_opening(scene, file);
  if (!found.open) return std::nullopt;
  return Opener{fmt::format("{}:{}", found.file->path, found.open->line), found.open->global,
                found.open->conditional};
}

std::set<std::string> imports_before(const Scene& scene, std::size_t file) {
  std::set<std::string> seen;
  std::vector<std::string> work;
  std::string folder = folder_of(scene.files[file].facts->path);
  if (Opening opening = find_opening(scene, file); opening.file) {
    work.insert(work.end(), opening.file->imports.begin(), opening.file->imports.end());
    folder = folder_of(opening.file->path);
  }
  std::replace(folder.begin(), folder.end(), '/', '.');
  if (!folder.empty()) work.push_back(folder);
  while (!work.empty()) {
    std::string module = std::move(work.back());
    work.pop_back();
    for (const std::string& each : with_parents(module)) {
      if (!seen.insert(each).second) continue;
      const PythonFacts* source = file_of_module(scene, each);
      if (source) work.insert(work.end(), source->imports.begin(), source->imports.end());
    }
  }
  return seen;
}

}  // namespace wheelvet
