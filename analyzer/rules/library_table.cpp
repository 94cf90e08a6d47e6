#include "rules/library_table.h"

#include <fmt/format.h>

#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

// Takes the part before the separator off the front of a text.
std::string_view take(std::string_view& text, char separator) {
  std::size_t end = text.find(separator);
  std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

std::vector<std::string> items(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) out.emplace_back(take(list, ','));
  return out;
}

// One word after soname and kind; false when it is none that a row may hold.
bool add_word(std::string_view word, LibraryRule& rule) {
  std::string_view value = word;
  std::string_view key = take(value, '=');
  if (word == "plain") {
    rule.plain = true;
  } else if (word == "versioned") {
    rule.versioned = true;
  } else if (value.empty()) {
    return false;
  } else if (key == "pip") {
    rule.pip = items(value);
  } else if (key == "path") {
    rule.path = items(value);
  } else if (key == "apt") {
    rule.apt = value;
  } else if (key == "exports") {
    rule.exports = value;
  } else if (key == "prefixes") {
    rule.prefixes = items(value);
  } else {
    return false;
  }
  return true;
}

LibraryRule read_row(std::string_view line, unsigned number) {
  LibraryRule rule;
  rule.soname = take(line, ' ');
  rule.kind = take(line, ' ');
  if (rule.kind.empty()) {
    throw WrongUsage(fmt::format("rules/libraries.txt:{}: a library needs a kind", number));
  }
  while (!line.empty()) {
    std::string_view word = take(line, ' ');
    if (add_word(word, rule)) continue;
    throw WrongUsage(fmt::format("rules/libraries.txt:{}: '{}' is no word of a row", number, word));
  }
  return rule;
}

}  // namespace

std::vector<LibraryRule> read_library_table(std::string_view lines) {
  std::vector<LibraryRule> out;
  for (unsigned number = 1; !lines.empty(); ++number) {
    std::string_view line = take(lines, '\n');
    if (!line.empty() && line.front() != '#') out.push_back(read_row(line, number));
  }
  return out;
}

}  // namespace wheelvet
