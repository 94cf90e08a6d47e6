#include "facts/metadata.h"

#include <algorithm>
#include <set>

#include "facts/utf8.h"

namespace wheelvet {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (;;) {
    std::size_t end = text.find(at);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::string normalised_name(std::string_view name) {
  std::string out;
  for (char c : lower(name)) {
    bool separator = c == '-' || c == '_' || c == '.';
    if (!separator) {
      out += c;
    } else if (out.empty() || out.back() != '-') {
      out += '-';
    }
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> read_headers(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> headers;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    // Only an empty line ends the headers: one of blanks continues a field, as in long licences.
    if (line.empty() || line == "\r") break;
    if (line.front() == ' ' || line.front() == '\t') {
      if (!headers.empty()) headers.back().second += "\n" + std::string(trimmed(line));
      continue;
    }
    std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    headers.emplace_back(lower(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  }
  return headers;
}

void add_metadata(std::string_view text, PackageFacts& package) {
  package.has_metadata = true;
  if (!is_utf8(text)) package.not_utf8.emplace_back("METADATA");
  for (auto& [name, value] : read_headers(text)) {
    if (name == "name") package.name = value;
    if (name == "version") package.version = value;
    if (name == "requires-python") package.requires_python = value;
    if (name == "requires-dist") package.requirements.push_back(value);
  }
  package.stated_name = package.name;
  package.stated_version = package.version;
}

void add_wheel_file(std::string_view text, PackageFacts& package) {
  package.has_wheel = true;
  if (!is_utf8(text)) package.not_utf8.emplace_back("WHEEL");
  package.tags.clear();
  for (auto& [name, value] : read_headers(text)) {
    if (name == "tag") package.tags.push_back(value);
    if (name == "wheel-version") package.wheel_version = value;
    if (name == "root-is-purelib") package.pure = lower(value) == "true";
  }
}

void add_record(std::string_view text, PackageFacts& package) {
  std::set<std::string> tops;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with('"')) line.remove_prefix(1);
    std::string_view path = line.substr(0, line.find_first_of(",\""));
    std::size_t slash = path.find('/');
    std::string_view top = path.substr(0, slash);
    if (is_library_name(path)) package.libraries.emplace_back(path);
    if (top.empty() || top == "..") continue;
    tops.emplace(top);
    // Namespace packages (nvidia, cuda) are told apart by their second folder.
    if (slash != std::string_view::npos) tops.emplace(path.substr(0, path.find('/', slash + 1)));
  }
  package.top_level.assign(tops.begin(), tops.end());
}

std::vector<EntryPoint> read_entry_points(std::string_view text) {
  std::vector<EntryPoint> out;
  std::string group;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    bool continued = line.starts_with(' ') || line.starts_with('\t');
    line = trimmed(line);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line.starts_with('[') && line.ends_with(']')) {
      group = line.substr(1, line.size() - 2);
      continue;
    }
    std::size_t mark = line.find('=');
    if (continued && !out.empty() && out.back().group == group) {
      out.back().target += std::string(line);
    } else if (mark == std::string_view::npos) {
      out.push_back({group, std::string(line), ""});
    } else {
      out.push_back({group, std::string(trimmed(line.substr(0, mark))),
                     std::string(trimmed(line.substr(mark + 1)))});
    }
  }
  return out;
}

WheelName read_wheel_name(std::string_view file_name) {
  WheelName out;
  if (!file_name.ends_with(".whl")) return out;
  std::vector<std::string> parts = split(file_name.substr(0, file_name.size() - 4), '-');
  if (parts.size() != 5 && parts.size() != 6) return out;
  out.name = parts[0];
  out.version = parts[1];
  if (parts.size() == 6) out.build = parts[2];
  std::size_t first = parts.size() - 3;
  for (const std::string& python : split(parts[first], '.')) {
    for (const std::string& abi : split(parts[first + 1], '.')) {
      for (const std::string& platform : split(parts[first + 2], '.')) {
        out.tags.push_back(python + "-" + abi + "-" + platform);
      }
    }
  }
  return out;
}

std::string installed_path(std::string_view member) {
  std::size_t slash = member.find('/');
  std::string_view top = member.substr(0, slash);
  if (slash == std::string_view::npos || !top.ends_with(".data")) return std::string(member);
  std::string_view rest = member.substr(slash + 1);
  auto below = [&](std::string_view scheme) { return rest.starts_with(scheme); };
  if (below("purelib/") || below("platlib/")) return std::string(rest.substr(8));
  if (below("data/")) return "../../../" + std::string(rest.substr(5));
  if (below("scripts/")) return "../../../bin/" + std::string(rest.substr(8));
  return "../../../" + std::string(rest);
}

std::string bundled_from(std::string_view path, std::string_view package) {
  std::string_view base = path.substr(path.find_last_of('/') + 1);
  std::size_t end = base.find(".so");
  std::size_t dash = base.substr(0, end).rfind('-');
  if (end == std::string_view::npos || dash == std::string_view::npos || dash == 0) return {};
  std::string_view hash = base.substr(dash + 1, end - dash - 1);
  bool hashed =
      hash.size() == 8 && hash.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!hashed) return {};
  std::string_view stem = base.substr(0, dash);
  std::string tail = "-" + std::string(package);
  if (!package.empty() && stem.ends_with(tail)) stem.remove_suffix(tail.size());
  return std::string(stem) + std::string(base.substr(end));
}

bool is_library_name(std::string_view path) {
  std::string_view base = path.substr(path.find_last_of('/') + 1);
  if (base.ends_with(".py")) return false;  // "libx.so.1-gdb.py": gdb's script for a library
  for (std::size_t at = base.find(".so"); at != std::string_view::npos;
       at = base.find(".so", at + 1)) {
    std::string_view rest = base.substr(at + 3);
    if (at != 0 && (rest.empty() || rest.front() == '.')) return true;
  }
  return false;
}

bool may_be_program(std::string_view path) {
  if (is_library_name(path) || path.find(".dist-info/") != std::string_view::npos) return false;
  std::string_view base = path.substr(path.find_last_of('/') + 1);
  bool script = path.find(".data/scripts/") != std::string_view::npos;
  return script || base.find('.') == std::string_view::npos;
}

}  // namespace wheelvet
