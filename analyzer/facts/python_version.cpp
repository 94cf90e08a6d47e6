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

// A version in its parts. Numbers are digits without leading zeros: they may be of any length.
struct Version {
  std::string epoch = "0";
  std::vector<std::string> release;  // zeros at the end left out
  std::string pre_label, pre;        // "a", "b", "rc"
  std::string post, dev;             // empty: there is none
  std::vector<std::string> local;

  bool is_pre() const { return !pre_label.empty() || !dev.empty(); }
};

int compare_numbers(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Takes the number behind a label; empty when the label is not there.
std::string take_after(std::string_view& text, std::string_view label) {
  std::string number;
  if (!text.starts_with(label)) return number;
  text.remove_prefix(label.size());
  take_number(text, number);
  return number;
}

std::optional<Version> read_version(std::string_view written) {
  std::optional<std::string> normal = normalised_version(written);
  if (!normal) return std::nullopt;
  std::string_view text = *normal;
  Version out;
  if (std::size_t mark = text.find('!'); mark != std::string_view::npos) {
    out.epoch = text.substr(0, mark);
    text.remove_prefix(mark + 1);
  }
  std::string number;
  take_number(text, number);
  out.release.push_back(number);
  while (text.size() > 1 && text[0] == '.' && digit(text[1])) {
    text.remove_prefix(1);
    take_number(text, number);
    out.release.push_back(number);
  }
  for (std::string_view label : {"a", "b", "rc"}) {
    if (!text.starts_with(label)) continue;
    out.pre_label = label;
    out.pre = take_after(text, label);
    break;
  }
  out.post = take_after(text, ".post");
  out.dev = take_after(text, ".dev");
  while (!text.empty()) {
    text.remove_prefix(1);  // '+' or '.'
    std::size_t end = std::min(text.find('.'), text.size());
    out.local.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

int compare_releases(const Version& a, const Version& b) {
  std::size_t size = std::max(a.release.size(), b.release.size());
  for (std::size_t i = 0; i < size; ++i) {
    int order = compare_numbers(i < a.release.size() ? a.release[i] : "0",
                                i < b.release.size() ? b.release[i] : "0");
    if (order != 0) return order;
  }
  return 0;
}

int compare_bases(const Version& a, const Version& b) {
  int order = compare_numbers(a.epoch, b.epoch);
  return order != 0 ? order : compare_releases(a, b);
}

// Where a version stands by its pre-release: development releases of a release before all others,
// the release itself and its post-releases behind.
int pre_rank(const Version& version) {
  if (!version.pre_label.empty()) return 1;
  return version.post.empty() && !version.dev.empty() ? 0 : 2;
}

int compare_locals(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    bool left = is_number(a[i]), right = is_number(b[i]);
    if (left != right) return left ? 1 : -1;  // numbers stand behind words
    int order = left ? compare_numbers(a[i], b[i]) : a[i].compare(b[i]);
    if (order != 0) return order < 0 ? -1 : 1;
  }
  return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
}

// The order of PEP 440, "Summary of permitted suffixes and relative ordering"; without the local
// parts.
int compare_public(const Version& a, const Version& b) {
  if (int order = compare_bases(a, b); order != 0) return order;
  if (pre_rank(a) != pre_rank(b)) return pre_rank(a) < pre_rank(b) ? -1 : 1;
  if (int order = a.pre_label.compare(b.pre_label); order != 0) return order < 0 ? -1 : 1;
  if (int order = compare_numbers(a.pre, b.pre); order != 0) return order;
  if (int order = compare_numbers(a.post, b.post); order != 0) return order;  // none is shorter
  if (a.dev.empty() != b.dev.empty()) return a.dev.empty() ? 1 : -1;
  return compare_numbers(a.dev, b.dev);
}

int compare(const Version& a, const Version& b) {
  int order = compare_public(a, b);
  return order != 0 ? order : compare_locals(a.local, b.local);
}

// The numbers of a release as they are written, zeros at the end and all.
std::vector<std::string> written_release(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('v') || text.starts_with('V')) text.remove_prefix(1);
  if (std::size_t mark = text.find('!'); mark != std::string_view::npos) {
    text.remove_prefix(mark + 1);
  }
  std::vector<std::string> out;
  std::string number;
  while (take_number(text, number)) {
    out.push_back(number);
    if (text.size() < 2 || text[0] != '.' || !digit(text[1])) break;
    text.remove_prefix(1);
  }
  return out;
}

// "1.2.*": the release begins so, whatever follows it.
bool begins_with(const Version& version, const Version& clause,
                 const std::vector<std::string>& release) {
  if (version.epoch != clause.epoch) return false;
  for (std::size_t i = 0; i < release.size(); ++i) {
    if ((i < version.release.size() ? version.release[i] : "0") != release[i]) return false;
  }
  return true;
}

bool equals(const Version& version, const Version& clause, const VersionClause& written) {
  if (written.any_after) return begins_with(version, clause, written_release(written.version));
  if (clause.local.empty()) return compare_public(version, clause) == 0;
  return compare(version, clause) == 0;
}

// PEP 440, "Version specifiers", with pre-releases allowed, as packaging 26 reads it (older ones
// differ in bounds that are pre-releases themselves).
bool fits(const Version& version, std::string_view text, const VersionClause& written) {
  const std::string& is = written.comparison;
  if (is == "===") return lower(trimmed(text)) == lower(trimmed(written.version));
  std::optional<Version> clause = read_version(written.version);
  if (!clause) return false;
  if (is == "==") return equals(version, *clause, written);
  if (is == "!=") return !equals(version, *clause, written);
  if (is == "<=") return compare_public(version, *clause) <= 0;
  if (is == ">=") return compare_public(version, *clause) >= 0;
  if (is == "~=") {
    std::vector<std::string> series = written_release(written.version);
    series.pop_back();
    return compare_public(version, *clause) >= 0 && begins_with(version, *clause, series);
  }
  if (is == "<") {
    // No pre-release of what is excluded, unless that is one itself.
    if (!clause->is_pre()) clause->dev = "0";
    return compare_public(version, *clause) < 0;
  }
  // No local version and no post-release of what is excluded, unless that is one itself.
  bool its_post = clause->post.empty() && clause->dev.empty() &&
                  compare_bases(version, *clause) == 0 && version.pre_label == clause->pre_label &&
                  version.pre == clause->pre;
  return compare_public(version, *clause) > 0 && !its_post;
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
    bool only_release = part.find_first_not_of("0123456789.!vV") == std::string_view::npos;
    if (clause.any_after && !only_release) return std::nullopt;
    if (!arbitrary && !normalised_version(part)) return std::nullopt;
    bool local = part.find('+') != std::string_view::npos;
    if (local && !equality && !arbitrary) return std::nullopt;
    if (clause.comparison == "~=" && written_release(part).size() < 2) return std::nullopt;
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

std::optional<int> compare_pep440(std::string_view a, std::string_view b) {
  std::optional<Version> left = read_version(a), right = read_version(b);
  if (!left || !right) return std::nullopt;
  return compare(*left, *right);
}

std::optional<bool> admits_version(const std::vector<VersionClause>& clauses,
                                   std::string_view version) {
  std::optional<Version> read = read_version(version);
  if (!read) return std::nullopt;
  return std::all_of(clauses.begin(), clauses.end(),
                     [&](const VersionClause& clause) { return fits(*read, version, clause); });
}

}  // namespace wheelvet
