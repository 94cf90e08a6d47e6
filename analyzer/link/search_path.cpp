#include "link/search_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace wheelvet {
namespace {

bool in_identifier(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// The length of the token `name` that `text` begins with, '$' and braces counted; 0 when it does
// not.
std::size_t token_length(std::string_view text, std::string_view name) {
  bool braces = text.size() > 1 && text[1] == '{';
  std::size_t begin = braces ? 2 : 1;
  if (text.substr(std::min(begin, text.size())).substr(0, name.size()) != name) return 0;
  std::size_t end = begin + name.size();
  if (braces) return end < text.size() && text[end] == '}' ? end + 1 : 0;
  return end < text.size() && in_identifier(text[end]) ? 0 : end;
}

}  // namespace

std::vector<std::string> split_search_path(std::string_view text) {
  std::vector<std::string> entries;
  for (;;) {
    std::size_t end = text.find(':');
    entries.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return entries;
    text.remove_prefix(end + 1);
  }
}

std::string expand_tokens(std::string_view entry, const std::string& origin,
                          const Machine& machine) {
  // Relative origins are those of files that lie on no machine: "" is site-packages itself.
  bool relative = !origin.starts_with('/');
  std::string out;
  for (std::size_t at = 0; at < entry.size();) {
    std::string_view rest = entry.substr(at);
    if (rest.front() != '$') {
      out += entry[at++];
      continue;
    }
    if (std::size_t length = token_length(rest, "ORIGIN")) {
      if (relative && out.find_first_not_of('/') == std::string::npos) out.clear();
      out += origin.empty() ? "." : origin;
      at += length;
    } else if (std::size_t lib = token_length(rest, "LIB")) {
      if (machine.lib.empty()) return {};
      out += machine.lib;
      at += lib;
    } else if (std::size_t platform = token_length(rest, "PLATFORM")) {
      if (machine.platform.empty()) return {};
      out += machine.platform;
      at += platform;
    } else {
      out += entry[at++];
    }
  }
  return out;
}

std::string join_path(std::string_view folder, std::string_view path) {
  bool absolute = path.starts_with('/') || folder.starts_with('/');
  if (path.starts_with('/')) folder = {};
  std::vector<std::string_view> parts;
  for (std::string_view piece : {folder, path}) {
    while (!piece.empty()) {
      std::size_t end = piece.find('/');
      std::string_view part = piece.substr(0, end);
      piece.remove_prefix(end == std::string_view::npos ? piece.size() : end + 1);
      if (part.empty() || part == ".") continue;
      if (part != "..") {
        parts.push_back(part);
      } else if (!parts.empty() && parts.back() != "..") {
        parts.pop_back();
      } else if (!absolute) {
        parts.push_back(part);
      }
    }
  }
  std::string out = fmt::format("{}", fmt::join(parts, "/"));
  if (absolute) return "/" + out;
  // Outside site-packages a path is told from the prefix: "../.." is "<prefix>/lib".
  std::size_t up = 0;
  while (up < parts.size() && parts[up] == "..") ++up;
  if (up == 1) return "../../../lib/python" + out.substr(2);
  if (up == 2) return "../../../lib" + out.substr(5);
  return out;
}

std::string folder_of(std::string_view path) {
  std::size_t slash = path.rfind('/');
  if (slash == 0) return "/";
  return std::string(slash == std::string_view::npos ? "" : path.substr(0, slash));
}

}  // namespace wheelvet
