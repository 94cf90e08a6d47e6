#include "history/history_text.h"

#include <charconv>

namespace wheelvet {
namespace {

// "word value\n"; `offset` is that of the line.
struct Line {
  std::string_view word, value;
  std::size_t offset;
};

template <class Each>
void each_line(std::string_view text, Each&& each) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    std::size_t space = line.find(' ');
    if (space == std::string_view::npos) throw Unreadable("history text", at, "line without value");
    each(Line{line.substr(0, space), line.substr(space + 1), at});
    at = end + 1;
  }
}

[[noreturn]] void refuse(const Line& line, std::string reason) {
  throw Unreadable("history text", line.offset, std::move(reason));
}

std::uint64_t number(const Line& line) {
  std::uint64_t value = 0;
  const char* end = line.value.data() + line.value.size();
  auto [stop, error] = std::from_chars(line.value.data(), end, value);
  if (error != std::errc() || stop != end) refuse(line, "not a number");
  return value;
}

std::pair<std::string_view, std::string_view> split(std::string_view text) {
  std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return {text, {}};
  return {text.substr(0, space), text.substr(space + 1)};
}

std::vector<std::string>* coverage_list(Coverage& coverage, std::string_view word) {
  if (word == "opener") return &coverage.openers;
  if (word == "namespace") return &coverage.namespaces;
  if (word == "global") return &coverage.globals;
  if (word == "plain") return &coverage.plain;
  if (word == "without") return &coverage.without;
  return nullptr;
}

void read_build_line(const Line& line, HistoryBuild& build) {
  if (line.word == "label") {
    build.label = line.value;
  } else if (line.word == "wheel") {
    build.wheel = line.value;
  } else if (line.word == "cuda") {
    build.cuda = line.value;
  } else if (line.word == "python") {
    build.python = line.value;
  } else if (line.word == "strings") {
    build.cxx11_strings = line.value == "cxx11";
  } else {
    refuse(line, "unknown word");
  }
}

void read_object_line(const Line& line, HistoryObject& object) {
  if (line.word == "soname") {
    object.soname = line.value;
  } else if (line.word == "needed") {
    object.needed.emplace_back(line.value);
  } else if (line.word == "rpath") {
    object.rpath.emplace_back(line.value);
  } else if (line.word == "runpath") {
    object.runpath.emplace_back(line.value);
  } else if (line.word == "size") {
    object.size = number(line);
  } else if (line.word == "exports") {
    object.exports = static_cast<std::uint32_t>(number(line));
  } else if (line.word == "versions") {
    auto [file, names] = split(line.value);
    auto& versions = object.versions.emplace_back(file, std::vector<std::string>{}).second;
    while (!names.empty()) {
      auto [name, rest] = split(names);
      versions.emplace_back(name);
      names = rest;
    }
  } else {
    refuse(line, "unknown word");
  }
}

}  // namespace

void read_head(std::string_view text, History& history) {
  each_line(text, [&](const Line& line) {
    if (std::vector<std::string>* list = coverage_list(history.coverage, line.word)) {
      list->emplace_back(line.value);
    } else if (line.word == "library") {
      history.libraries.emplace_back(line.value);
    } else if (line.word == "build") {
      auto [version, machine] = split(line.value);
      HistoryBuild& build = history.builds.emplace_back();
      build.version = version;
      build.machine = machine;
    } else if (history.builds.empty()) {
      refuse(line, "belongs to no build");
    } else {
      read_build_line(line, history.builds.back());
    }
  });
}

std::vector<BuildFacts> read_facts_text(std::string_view text, std::size_t builds) {
  std::vector<BuildFacts> out;
  each_line(text, [&](const Line& line) {
    if (line.word == "build") {
      if (number(line) != out.size()) refuse(line, "builds are not in order");
      out.emplace_back();
    } else if (out.empty()) {
      refuse(line, "belongs to no build");
    } else if (line.word == "requires") {
      out.back().requires_dist.emplace_back(line.value);
    } else if (line.word == "object") {
      out.back().objects.emplace_back().path = line.value;
    } else if (out.back().objects.empty()) {
      refuse(line, "belongs to no object");
    } else {
      read_object_line(line, out.back().objects.back());
    }
  });
  if (out.size() != builds) {
    throw Unreadable("history text", text.size(), "another number of builds");
  }
  return out;
}

}  // namespace wheelvet
