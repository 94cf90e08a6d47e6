#include "machine/tree.h"

#include <algorithm>
#include <deque>
#include <filesystem>

#include "input/random_file.h"

namespace wheelvet {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;  // as the kernel: path_resolution(7)

void push_front(std::deque<std::string>& parts, const fs::path& path) {
  std::vector<std::string> fresh;
  for (const fs::path& part : path) {
    std::string text = part.string();
    if (!text.empty() && text != "/" && text != ".") fresh.push_back(text);
  }
  parts.insert(parts.begin(), fresh.begin(), fresh.end());
}

}  // namespace

std::string real_path(const std::string& root, const std::string& path) {
  std::deque<std::string> rest;
  push_front(rest, path);
  std::vector<std::string> done;
  int links = 0;
  auto joined = [&] {
    std::string out;
    for (const std::string& part : done) out += "/" + part;
    return out;
  };
  while (!rest.empty()) {
    std::string part = rest.front();
    rest.pop_front();
    if (part == "..") {
      if (!done.empty()) done.pop_back();
      continue;
    }
    done.push_back(part);
    std::error_code error;
    fs::path here = root + joined();
    fs::file_status status = fs::symlink_status(here, error);
    if (!fs::exists(status)) return {};
    if (!fs::is_symlink(status)) continue;
    if (++links > most_links) return {};
    fs::path target = fs::read_symlink(here, error);
    if (error) return {};
    done.pop_back();
    if (target.is_absolute()) done.clear();
    push_front(rest, target);
  }
  return done.empty() ? "/" : joined();
}

std::string on_this_host(const std::string& root, const std::string& path) {
  if (root.empty()) return path;
  std::string real = real_path(root, path);
  return real.empty() ? std::string() : root + real;
}

bool is_folder(const std::string& root, const std::string& path) {
  std::error_code error;
  std::string here = on_this_host(root, path);
  return !here.empty() && fs::is_directory(here, error);
}

bool is_file(const std::string& root, const std::string& path) {
  std::error_code error;
  std::string here = on_this_host(root, path);
  return !here.empty() && fs::is_regular_file(here, error);
}

std::vector<std::string> names_in(const std::string& root, const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  std::string here = on_this_host(root, path);
  if (here.empty()) return names;
  fs::directory_iterator walk(here, error);
  for (; !error && walk != fs::directory_iterator(); walk.increment(error)) {
    names.push_back(walk->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string text_of(const std::string& root, const std::string& path, std::size_t limit) {
  std::string here = on_this_host(root, path);
  if (here.empty()) return {};
  try {
    RandomFile file(here);
    if (file.size() > limit) return {};
    std::vector<std::uint8_t> bytes = file.read(0, file.size(), "file");
    return {bytes.begin(), bytes.end()};
  } catch (const Unreadable&) {
    return {};
  }
}

}  // namespace wheelvet
