#include "facts/requirement.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "facts/metadata.h"
#include "facts/python_version.h"
#include "wheelvet/facts.h"

namespace wheelvet {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

bool name_character(char c) {
  return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
         c == '.';
}

// A number too large to hold counts as very large.
long take_number(std::string_view& text) {
  long value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc() ? value : 1L << 40;
}

// A version as PEP 440 orders it: a development release before its pre-releases, those before the
// release, post-releases after it, local versions after the one without.
struct Key {
  long epoch = 0;
  std::vector<long> release;
  int stage = 3;  // 0 dev of the release itself, 1 pre-release, 3 the release
  char letter = 0;
  long pre = 0;
  long post = -1;
  long dev = 1L << 50;
  std::string local;
};

std::optional<Key> key_of(std::string_view version) {
  std::optional<std::string> normal = normalised_version(version);
  if (!normal) return std::nullopt;
  std::string_view text = *normal;
  Key key;
  std::size_t plus = text.find('+');
  if (plus != std::string_view::npos) {
    key.local = text.substr(plus + 1);
    text = text.substr(0, plus);
  }
  std::size_t bang = text.find('!');
  if (bang != std::string_view::npos) {
    key.epoch = take_number(text);
    text.remove_prefix(1);
  }
  key.release.push_back(take_number(text));
  while (text.size() > 1 && text[0] == '.' && digit(text[1])) {
    text.remove_prefix(1);
    key.release.push_back(take_number(text));
  }
  if (text.starts_with('a') || text.starts_with('b') || text.starts_with("rc")) {
    key.stage = 1;
    key.letter = text.front();
    text.remove_prefix(text.starts_with("rc") ? 2 : 1);
    key.pre = take_number(text);
  }
  if (text.starts_with(".post")) {
    text.remove_prefix(5);
    key.post = take_number(text);
  }
  if (text.starts_with(".dev")) {
    text.remove_prefix(4);
    key.dev = take_number(text);
    if (key.stage == 3 && key.post < 0) key.stage = 0;
  }
  return key;
}

int sign(long value) { return value < 0 ? -1 : value > 0 ? 1 : 0; }

int compare_releases(std::vector<long> a, std::vector<long> b) {
  std::size_t size = std::max(a.size(), b.size());
  a.resize(size);
  b.resize(size);
  return a < b ? -1 : a > b ? 1 : 0;
}

int compare_public(const Key& a, const Key& b) {
  if (a.epoch != b.epoch) return sign(a.epoch - b.epoch);
  if (int order = compare_releases(a.release, b.release)) return order;
  auto rest = [](const Key& key) {
    return std::make_tuple(key.stage, key.letter, key.pre, key.post, key.dev);
  };
  return rest(a) < rest(b) ? -1 : rest(b) < rest(a) ? 1 : 0;
}

bool begins_with(const std::vector<long>& whole, std::vector<long> part) {
  std::vector<long> padded = whole;
  if (padded.size() < part.size()) padded.resize(part.size());
  return std::equal(part.begin(), part.end(), padded.begin());
}

// The release as it stands in a clause, zeros at its end kept: "1.0.*" is not "1.*".
std::vector<long> written_release(std::string_view text) {
  std::vector<long> out;
  while (!text.empty() && digit(text[0])) {
    out.push_back(take_number(text));
    if (text.size() < 2 || text[0] != '.' || !digit(text[1])) break;
    text.remove_prefix(1);
  }
  return out;
}

// A clause without a local version is compared with the public version alone.
std::optional<bool> fits(const VersionClause& clause, const Key& have, std::string_view version) {
  if (clause.comparison == "===") return version == clause.version;
  std::optional<Key> wanted = key_of(clause.version);
  if (!wanted) return std::nullopt;
  int order = compare_public(have, *wanted);
  bool same_local = wanted->local.empty() || wanted->local == have.local;
  bool same = clause.any_after ? have.epoch == wanted->epoch &&
                                     begins_with(have.release, written_release(clause.version))
                               : order == 0 && same_local;
  if (clause.comparison == "==") return same;
  if (clause.comparison == "!=") return !same;
  if (clause.comparison == ">=") return order >= 0;
  if (clause.comparison == "<=") return order <= 0;
  bool same_release = compare_releases(have.release, wanted->release) == 0;
  if (clause.comparison == ">") {
    return order > 0 && !(same_release && have.post >= 0 && wanted->post < 0);
  }
  if (clause.comparison == "<") {
    return order < 0 && !(same_release && have.stage < 3 && wanted->stage == 3);
  }
  std::vector<long> series = written_release(clause.version);  // "~="
  series.pop_back();
  return order >= 0 && have.epoch == wanted->epoch && begins_with(have.release, series);
}

// One comparison of a marker: a variable, an operator and a quoted text.
struct Term {
  std::string variable, comparison, value;
};

std::optional<Term> read_term(std::string_view text) {
  text = trimmed(text);
  while (text.starts_with('(') && text.ends_with(')')) {
    text = trimmed(text.substr(1, text.size() - 2));
  }
  std::size_t end = text.find_first_of(" =!<>~");
  std::size_t quote = text.find_first_of("'\"");
  if (end == std::string_view::npos || quote == std::string_view::npos || quote < end) {
    return std::nullopt;
  }
  std::size_t close = text.find(text[quote], quote + 1);
  if (close == std::string_view::npos || close + 1 != text.size()) return std::nullopt;
  return Term{std::string(text.substr(0, end)), std::string(trimmed(text.substr(end, quote - end))),
              std::string(text.substr(quote + 1, close - quote - 1))};
}

std::optional<bool> term_holds(const Term& term, std::string_view machine, std::string_view python,
                               std::string_view extra) {
  if (term.variable == "python_version" || term.variable == "python_full_version") {
    return admits_python(term.comparison + term.value, python);
  }
  std::string_view have;
  if (term.variable == "platform_system") have = "Linux";
  if (term.variable == "sys_platform") have = "linux";
  if (term.variable == "os_name") have = "posix";
  if (term.variable == "platform_machine") have = machine;
  if (term.variable == "implementation_name") have = "cpython";
  if (term.variable == "platform_python_implementation") have = "CPython";
  if (term.variable == "extra") have = extra;
  bool known = !have.empty() || term.variable == "extra";
  if (!known || (term.comparison != "==" && term.comparison != "!=")) return std::nullopt;
  bool equal = have == term.value;
  return equal == (term.comparison == "==");
}

// Splits at a word that stands outside of quotes and parentheses.
std::vector<std::string_view> split_at(std::string_view text, std::string_view word) {
  std::vector<std::string_view> out;
  int depth = 0;
  char quote = 0;
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (quote) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')') {
      --depth;
    } else if (depth == 0 && text.substr(at).starts_with(word)) {
      out.push_back(text.substr(start, at - start));
      at += word.size() - 1;
      start = at + 1;
    }
  }
  out.push_back(text.substr(start));
  return out;
}

// The parenthesis that opens a text closes at its end.
bool in_one_parenthesis(std::string_view text) {
  if (!text.starts_with('(') || !text.ends_with(')')) return false;
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at + 1 == text.size();
  }
  return false;
}

constexpr int deepest = 8;

std::optional<bool> holds(std::string_view text, std::string_view machine, std::string_view python,
                          std::string_view extra, int depth) {
  text = trimmed(text);
  while (in_one_parenthesis(text)) text = trimmed(text.substr(1, text.size() - 2));
  if (depth > deepest) return std::nullopt;
  std::vector<std::string_view> any = split_at(text, " or ");
  std::vector<std::string_view> parts = any.size() > 1 ? any : split_at(text, " and ");
  if (parts.size() == 1) {
    std::optional<Term> term = read_term(text);
    return term ? term_holds(*term, machine, python, extra) : std::nullopt;
  }
  bool all = any.size() == 1, unknown = false;
  for (std::string_view part : parts) {
    std::optional<bool> one = holds(part, machine, python, extra, depth + 1);
    if (one && *one != all) return *one;  // a false among "and", a true among "or"
    unknown = unknown || !one;
  }
  return unknown ? std::nullopt : std::optional<bool>(all);
}

}  // namespace

std::optional<Requirement> split_requirement(std::string_view text) {
  Requirement out;
  std::size_t semicolon = text.find(';');
  if (semicolon != std::string_view::npos) out.marker = trimmed(text.substr(semicolon + 1));
  text = trimmed(text.substr(0, semicolon));
  std::size_t end = 0;
  while (end < text.size() && name_character(text[end])) ++end;
  if (end == 0) return std::nullopt;
  out.name = normalised_name(text.substr(0, end));
  text = trimmed(text.substr(end));
  if (text.starts_with('[')) {
    std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    std::string_view list = text.substr(1, close - 1);
    while (!list.empty()) {
      std::size_t comma = list.find(',');
      out.extras.emplace_back(trimmed(list.substr(0, comma)));
      list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    }
    text = trimmed(text.substr(close + 1));
  }
  if (text.starts_with('@')) return std::nullopt;
  if (text.starts_with('(') && text.ends_with(')')) text = trimmed(text.substr(1, text.size() - 2));
  out.specifier = text;
  return out;
}

std::optional<bool> marker_holds(std::string_view marker, std::string_view machine,
                                 std::string_view python, std::string_view extra) {
  if (trimmed(marker).empty()) return true;
  return holds(marker, machine, python, extra, 0);
}

std::optional<int> order_versions(std::string_view a, std::string_view b) {
  std::optional<Key> left = key_of(a), right = key_of(b);
  if (!left || !right) return std::nullopt;
  int order = compare_public(*left, *right);
  if (order != 0) return order;
  return left->local < right->local ? -1 : left->local > right->local ? 1 : 0;
}

std::optional<bool> admits_version(std::string_view specifier, std::string_view version) {
  std::optional<std::vector<VersionClause>> clauses = read_specifier(specifier);
  std::optional<Key> have = key_of(version);
  if (!clauses || !have) return std::nullopt;
  for (const VersionClause& clause : *clauses) {
    std::optional<bool> one = fits(clause, *have, version);
    if (!one) return std::nullopt;
    if (!*one) return false;
  }
  return true;
}

std::string public_version(std::string_view version) {
  return std::string(version.substr(0, version.find('+')));
}

}  // namespace wheelvet
