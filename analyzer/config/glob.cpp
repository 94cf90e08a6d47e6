#include "config/glob.h"

#include <algorithm>
#include <filesystem>

namespace wheelvet {

// Only the last star has to be tried again: what matched before it stays matched. So the time is
// bounded by the product of the lengths, whatever the pattern.
bool matches_glob(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<std::string> files_matching(const std::string& pattern) {
  namespace fs = std::filesystem;
  fs::path path(pattern);
  std::vector<fs::path> found = {path.is_absolute() ? fs::path("/") : fs::path()};
  for (const fs::path& part : path.relative_path()) {
    std::vector<fs::path> next;
    for (const fs::path& folder : found) {
      if (part.string().find_first_of("*?") == std::string::npos) {
        next.push_back(folder / part);
        continue;
      }
      std::error_code error;
      for (fs::directory_iterator at(folder.empty() ? "." : folder, error), end; at != end;
           at.increment(error)) {
        std::string name = at->path().filename().string();
        if (name[0] != '.' && matches_glob(part.string(), name)) next.push_back(folder / name);
      }
    }
    found = std::move(next);
  }
  std::vector<std::string> out;
  std::error_code error;
  for (const fs::path& each : found) {
    if (fs::exists(each, error)) out.push_back(each.lexically_normal().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace wheelvet
