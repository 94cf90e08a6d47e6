#include "facts/requirement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "facts/metadata.h"
#include "wheelvet/facts.h"

namespace wheelvet {
namespace {

constexpr int deepest = 32;  // parentheses in a marker

constexpr std::array<std::string_view, 12> variables = {
    "python_version",      "python_full_version",    "os_name",
    "sys_platform",        "platform_release",       "platform_system",
    "platform_version",    "platform_machine",       "platform_python_implementation",
    "implementation_name", "implementation_version", "extra"};

// Names from before PEP 508 that are still read (packaging._parser).
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> old_variables = {
    {{"os.name", "os_name"},
     {"sys.platform", "sys_platform"},
     {"platform.version", "platform_version"},
     {"platform.machine", "platform_machine"},
     {"platform.python_implementation", "platform_python_implementation"},
     {"python_implementation", "platform_python_implementation"}}};

bool name_character(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '_' || c == '.';
}

struct Fault {
  const char* reason;
};

// Reads from the front of a text; blanks count for nothing.
class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}

  bool at_end() {
    skip_blanks();
    return left_.empty();
  }

  bool take(std::string_view token) {
    skip_blanks();
    if (!left_.starts_with(token)) return false;
    left_.remove_prefix(token.size());
    return true;
  }

  // A word that is followed by no further letter.
  bool take_word(std::string_view word) {
    skip_blanks();
    if (!left_.starts_with(word)) return false;
    if (left_.size() > word.size() && name_character(left_[word.size()])) return false;
    left_.remove_prefix(word.size());
    return true;
  }

  std::string_view take_name() {
    skip_blanks();
    std::size_t end = 0;
    while (end < left_.size() && name_character(left_[end])) ++end;
    return take_front(end);
  }

  std::string_view take_until(std::string_view marks) {
    return take_front(std::min(left_.find_first_of(marks), left_.size()));
  }

  std::string_view rest() const { return left_; }

 private:
  void skip_blanks() {
    while (!left_.empty() && (left_[0] == ' ' || left_[0] == '\t' || left_[0] == '\n')) {
      left_.remove_prefix(1);
    }
  }
  std::string_view take_front(std::size_t size) {
    std::string_view out = left_.substr(0, size);
    left_.remove_prefix(size);
    return out;
  }

  std::string_view left_;
};

MarkerValue read_value(Reader& in) {
  for (std::string_view quote : {"'", "\""}) {
    if (!in.take(quote)) continue;
    std::string text(in.take_until(quote));
    if (!in.take(quote)) throw Fault{"a quote of its marker is not closed"};
    return {std::move(text), false};
  }
  std::string_view name = in.take_name();
  for (const auto& [old, known] : old_variables) {
    if (name == old) name = known;
  }
  if (std::find(variables.begin(), variables.end(), name) == variables.end()) {
    throw Fault{"its marker uses a variable that does not exist"};
  }
  return {std::string(name), true};
}

std::string read_comparison(Reader& in) {
  for (const char* sign : {"===", "==", "~=", "!=", "<=", ">=", "<", ">"}) {
    if (in.take(sign)) return sign;
  }
  if (in.take_word("in")) return "in";
  if (in.take_word("not") && in.take_word("in")) return "not in";
  throw Fault{"its marker compares by no known operator"};
}

Marker read_any(Reader& in, int depth);

Marker read_atom(Reader& in, int depth) {
  if (in.take("(")) {
    if (depth == deepest) throw Fault{"its marker is nested too deeply"};
    Marker inside = read_any(in, depth + 1);
    if (!in.take(")")) throw Fault{"a parenthesis of its marker is not closed"};
    return inside;
  }
  Marker out;
  out.left = read_value(in);
  out.comparison = read_comparison(in);
  out.right = read_value(in);
  if (out.left.variable == out.right.variable) {
    throw Fault{"its marker compares no variable with a text"};
  }
  return out;
}

Marker joined(std::vector<Marker> parts, Marker::Kind kind) {
  if (parts.size() == 1) return std::move(parts.front());
  Marker out;
  out.kind = kind;
  out.parts = std::move(parts);
  return out;
}

Marker read_all(Reader& in, int depth) {
  std::vector<Marker> parts = {read_atom(in, depth)};
  while (in.take_word("and")) parts.push_back(read_atom(in, depth));
  return joined(std::move(parts), Marker::Kind::all);
}

Marker read_any(Reader& in, int depth) {
  std::vector<Marker> parts = {read_all(in, depth)};
  while (in.take_word("or")) parts.push_back(read_all(in, depth));
  return joined(std::move(parts), Marker::Kind::any);
}

void read_extras(Reader& in, Requirement& out) {
  if (!in.take("[")) return;
  if (in.take("]")) return;
  do {
    std::string_view extra = in.take_name();
    if (extra.empty()) throw Fault{"one of its extras has no name"};
    out.extras.push_back(normalised_name(extra));
  } while (in.take(","));
  if (!in.take("]")) throw Fault{"its extras are not closed"};
}

void read_versions(Reader& in, Requirement& out) {
  bool enclosed = in.take("(");
  std::string_view text = trimmed(in.take_until(enclosed ? ")" : ";"));
  if (enclosed && !in.take(")")) throw Fault{"its parenthesis is not closed"};
  std::optional<std::vector<VersionClause>> clauses = read_specifier(text);
  if (!clauses) throw Fault{"its version clause is none"};
  out.versions = text;
  out.clauses = std::move(*clauses);
}

Requirement read_all_of(std::string_view text) {
  Reader in(text);
  Requirement out;
  std::string_view name = in.take_name();
  if (name.empty()) throw Fault{"it begins with no name"};
  out.name = normalised_name(name);
  read_extras(in, out);
  if (in.take("@")) {
    in.at_end();  // blanks before the address
    out.url = in.take_until(" \t\n");
    if (out.url.empty()) throw Fault{"no address follows its @"};
  } else {
    read_versions(in, out);
  }
  if (in.take(";")) {
    out.marker = read_any(in, 0);
  }
  if (!in.at_end()) throw Fault{"something stands behind it"};
  return out;
}

std::optional<bool> compare_texts(std::string_view left, std::string_view comparison,
                                  std::string_view right) {
  if (comparison == "in") return right.find(left) != std::string_view::npos;
  if (comparison == "not in") return right.find(left) == std::string_view::npos;
  if (comparison == "==") return left == right;
  if (comparison == "!=") return left != right;
  if (comparison == "<") return left < right;
  if (comparison == "<=") return left <= right;
  if (comparison == ">") return left > right;
  if (comparison == ">=") return left >= right;
  return std::nullopt;  // ~= and === of what is no version
}

// As a version specifier where the right side is one, else as texts (packaging.markers._eval_op).
std::optional<bool> compare(std::string_view left, std::string_view comparison,
                            std::string_view right) {
  bool word = comparison == "in" || comparison == "not in";
  std::optional<std::vector<VersionClause>> clause;
  if (!word && right.find(',') == std::string_view::npos) {
    clause = read_specifier(fmt::format("{}{}", comparison, right));
  }
  if (clause && clause->size() == 1) {
    std::optional<bool> fits = admits_version(*clause, left);
    if (fits) return fits;
  }
  return compare_texts(left, comparison, right);
}

std::optional<bool> compare(const Marker& marker, const MarkerValues& values,
                            std::string_view extra) {
  const std::string& variable = marker.left.variable ? marker.left.text : marker.right.text;
  const std::string& text = marker.left.variable ? marker.right.text : marker.left.text;
  if (variable == "extra") {
    std::string have = normalised_name(extra), wanted = normalised_name(text);
    return marker.left.variable ? compare(have, marker.comparison, wanted)
                                : compare(wanted, marker.comparison, have);
  }
  auto known = values.find(variable);
  if (known == values.end()) return std::nullopt;
  return marker.left.variable ? compare(known->second, marker.comparison, text)
                              : compare(text, marker.comparison, known->second);
}

}  // namespace

ReadRequirement read_pep508(std::string_view text) {
  try {
    return {read_all_of(text), nullptr};
  } catch (const Fault& fault) {
    return {std::nullopt, fault.reason};
  }
}

MarkerValues marker_values(std::string_view python, std::string_view machine) {
  if (python.ends_with('t')) python.remove_suffix(1);
  std::string newest = std::string(python) + ".99";
  return {{"python_version", std::string(python)},
          {"python_full_version", newest},
          {"implementation_version", newest},
          {"implementation_name", "cpython"},
          {"platform_python_implementation", "CPython"},
          {"os_name", "posix"},
          {"sys_platform", "linux"},
          {"platform_system", "Linux"},
          {"platform_machine", std::string(machine)}};
}

std::optional<bool> holds(const Marker& marker, const MarkerValues& values,
                          std::string_view extra) {
  if (marker.kind == Marker::Kind::comparison) return compare(marker, values, extra);
  bool all = marker.kind == Marker::Kind::all;
  bool open = false;
  for (const Marker& part : marker.parts) {
    std::optional<bool> one = holds(part, values, extra);
    if (one && *one != all) return one;
    open = open || !one;
  }
  if (open) return std::nullopt;
  return all;
}

bool is_wanted(const Requirement& requirement, const MarkerValues& values,
               const std::vector<std::string>& extras) {
  if (!requirement.marker) return true;
  if (holds(*requirement.marker, values, "").value_or(false)) return true;
  return std::any_of(extras.begin(), extras.end(), [&](const std::string& extra) {
    return holds(*requirement.marker, values, extra).value_or(false);
  });
}

std::string extra_in(const Marker& marker) {
  if (marker.kind == Marker::Kind::comparison) {
    const MarkerValue& variable = marker.left.variable ? marker.left : marker.right;
    const MarkerValue& text = marker.left.variable ? marker.right : marker.left;
    return variable.text == "extra" && marker.comparison == "==" ? text.text : std::string();
  }
  for (const Marker& part : marker.parts) {
    if (std::string extra = extra_in(part); !extra.empty()) return extra;
  }
  return {};
}

}  // namespace wheelvet
