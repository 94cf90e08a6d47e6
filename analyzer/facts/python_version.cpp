#include "facts/python_version.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace wheelvet {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return c >= 'a' && c <= 'z'; }

std::string_view trimmed(std::string_view text) {
  std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Takes digits from the front, without leading zeros; false when there are none.
bool take_number(std::string_view& text, std::string& out) {
  std::size_t end = 0;
  while (end < text.size() && digit(text[end])) ++end;
  if (end == 0) return false;
  std::size_t zeros = std::min(text.find_first_not_of('0'), end - 1);
  out = text.substr(zeros, end - zeros);
  text.remove_prefix(end);
  return true;
}

void skip_separator(std::string_view& text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '_' || text[0] == '.')) text.remove_prefix(1);
}

struct Label {
  std::string_view spelling, canonical;
};

// Longer spellings before those they begin with (PEP 440, "Normalization").
constexpr std::array<Label, 8> pre_labels = {{{"alpha", "a"},
                                              {"beta", "b"},
                                              {"preview", "rc"},
                                              {"pre", "rc"},
                                              {"rc", "rc"},
                                              {"a", "a"},
                                              {"b", "b"},
                                              {"c", "rc"}}};
constexpr std::array<Label, 3> post_labels = {
    {{"post", ".post"}, {"rev", ".post"}, {"r", ".post"}}};
constexpr std::array<Label, 1> dev_labels = {{{"dev", ".dev"}}};

// "[-_.]label[-_.]N" with everything but the label optional; leaves `text` when it is not there.
template <std::size_t N>
void take_label(std::string_view& text, const std::array<Label, N>& labels, std::string& out) {
  std::string_view rest = text;
  skip_separator(rest);
  for (const Label& label : labels) {
    if (!rest.starts_with(label.spelling)) continue;
    rest.remove_prefix(label.spelling.size());
    std::string_view number_at = rest;
    skip_separator(number_at);
    std::string number = "0";
    if (take_number(number_at, number)) rest = number_at;
    out += std::string(label.canonical) + number;
    text = rest;
    return;
  }
}

// "-N" is an old spelling of ".postN".
void take_bare_post(std::string_view& text, std::string& out) {
  if (text.size() < 2 || text[0] != '-' || !digit(text[1])) return;
  text.remove_prefix(1);
  std::string number;
  take_number(text, number);
  out += ".post" + number;
}

// "+local": letters and digits in parts.
bool take_local(std::string_view& text, std::string& out) {
  if (text.empty() || text[0] != '+') return true;
  text.remove_prefix(1);
  out += '+';
  for (;;) {
    std::size_t end = 0;
    while (end < text.size() && (digit(text[end]) || letter(text[end]))) ++end;
    if (end == 0) return false;
    std::string_view part = text.substr(0, end);
    text.remove_prefix(end);
    std::string number;
    bool all_digits = part.find_first_not_of("0123456789") == std::string_view::npos;
    if (all_digits) take_number(part, number);
    out += all_digits ? number : std::string(part);
    if (text.empty()) return true;
    if (text[0] != '-' && text[0] != '_' && text[0] != '.') return false;
    text.remove_prefix(1);
    out += '.';
  }
}

using Numbers = std::vector<int>;

// The release of a version as numbers; a number too large to hold counts as very large.
Numbers release_of(std::string_view version) {
  Numbers out;
  while (!version.empty() && digit(version[0])) {
    int value = 0;
    auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), value);
    out.push_back(error == std::errc() ? value : 1 << 30);
    version.remove_prefix(static_cast<std::size_t>(end - version.data()));
    if (version.size() < 2 || version[0] != '.' || !digit(version[1])) break;
    version.remove_prefix(1);
  }
  return out;
}

int compare(Numbers a, Numbers b) {
  std::size_t size = std::max(a.size(), b.size());
  a.resize(size);
  b.resize(size);
  return a < b ? -1 : a > b ? 1 : 0;
}

bool begins_with(const Numbers& whole, const Numbers& part) {
  return whole.size() >= part.size() && std::equal(part.begin(), part.end(), whole.begin());
}

// Whether some release X.Y.* fits one clause. `lowest` and `highest` are its ends.
bool fits_clause(const VersionClause& clause, const Numbers& minor) {
  constexpr int last_patch = 1 << 30;
  Numbers version = release_of(clause.version);
  Numbers lowest = minor, highest = minor;
  lowest.push_back(0);
  highest.push_back(last_patch);
  const std::string& is = clause.comparison;
  if (is == ">=") return compare(highest, version) >= 0;
  if (is == ">") return compare(highest, version) > 0;
  if (is == "<=") return compare(lowest, version) <= 0;
  if (is == "<") return compare(lowest, version) < 0;
  bool covered = begins_with(minor, version);  // every patch release begins so
  bool touched = covered || begins_with(version, minor);
  if (is == "!=") return !(clause.any_after && covered);
  if (is == "~=") {
    Numbers series(version.begin(), version.end() - 1);
    return compare(highest, version) >= 0 &&
           (begins_with(minor, series) || begins_with(series, minor));
  }
  return touched;  // "==" and "==="
}

bool name_character(char c) {
  return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
         c == '.';
}

}  // namespace

std::optional<std::string> normalised_version(std::string_view given) {
  std::string lowered = lower(trimmed(given));
  std::string_view text = lowered;
  if (text.starts_with('v')) text.remove_prefix(1);
  std::string out, number;
  if (!take_number(text, number)) return std::nullopt;
  if (text.starts_with('!')) {
    if (number != "0") out = number + "!";
    text.remove_prefix(1);
    if (!take_number(text, number)) return std::nullopt;
  }
  std::vector<std::string> release = {number};
  while (text.size() > 1 && text[0] == '.' && digit(text[1])) {
    text.remove_prefix(1);
    take_number(text, number);
    release.push_back(number);
  }
  while (release.size() > 1 && release.back() == "0") release.pop_back();
  for (std::size_t i = 0; i < release.size(); ++i) out += (i ? "." : "") + release[i];
  take_label(text, pre_labels, out);
  std::size_t before = text.size();
  take_bare_post(text, out);
  if (text.size() == before) take_label(text, post_labels, out);
  take_label(text, dev_labels, out);
  if (!take_local(text, out) || !text.empty()) return std::nullopt;
  return out;
}

std::optional<std::vector<VersionClause>> read_specifier(std::string_view text) {
  static constexpr std::array<std::string_view, 8> comparisons = {
      "===", "~=", "==", "!=", "<=", ">=", "<", ">"};
  std::vector<VersionClause> out;
  while (!trimmed(text).empty()) {
    std::size_t comma = text.find(',');
    std::string_view part = trimmed(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    if (part.empty()) continue;  // "a,,b" and a comma at the end are taken by packaging
    VersionClause clause;
    for (std::string_view comparison : comparisons) {
      if (clause.comparison.empty() && part.starts_with(comparison)) clause.comparison = comparison;
    }
    part = trimmed(part.substr(clause.comparison.size()));
    if (clause.comparison.empty() || part.empty()) return std::nullopt;
    bool equality = clause.comparison == "==" || clause.comparison == "!=";
    if (equality && part.ends_with(".*")) {
      clause.any_after = true;
      part.remove_suffix(2);
    }
    clause.version = part;
    bool arbitrary = clause.comparison == "===";
    if (!arbitrary && !normalised_version(part)) return std::nullopt;
    if (clause.comparison == "~=" && release_of(part).size() < 2) return std::nullopt;
    out.push_back(std::move(clause));
  }
  return out;
}

std::optional<bool> admits_python(std::string_view specifier, std::string_view python) {
  std::optional<std::vector<VersionClause>> clauses = read_specifier(specifier);
  if (!clauses) return std::nullopt;
  Numbers minor = release_of(python);
  return std::all_of(clauses->begin(), clauses->end(),
                     [&](const VersionClause& clause) { return fits_clause(clause, minor); });
}

const char* requirement_fault(std::string_view text) {
  text = trimmed(text.substr(0, text.find(';')));
  std::size_t end = 0;
  while (end < text.size() && name_character(text[end])) ++end;
  if (end == 0) return "it begins with no name";
  text = trimmed(text.substr(end));
  if (text.starts_with('[')) {
    std::size_t close = text.find(']');
    if (close == std::string_view::npos) return "its extras are not closed";
    text = trimmed(text.substr(close + 1));
  }
  if (text.starts_with('@')) return nullptr;  // a URL
  if (text.starts_with('(')) {
    if (!text.ends_with(')')) return "its parenthesis is not closed";
    text = trimmed(text.substr(1, text.size() - 2));
  }
  return read_specifier(text) ? nullptr : "its version clause is none";
}

}  // namespace wheelvet
