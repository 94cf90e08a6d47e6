// Expressions: Python's grammar, as far as paths, names and conditions need it.
#include <algorithm>
#include <charconv>

#include "facts/python_reader.h"

namespace wheelvet {
namespace {

// Brackets inside brackets, and fields inside f-strings. Deeper ones are unknown.
constexpr int kMaxDepth = 48;
// Bytes of values made for one file in one pass; the real maximum met is under 1 MB.
constexpr std::size_t kMaxSpent = 64 << 20;

constexpr std::string_view kComparisons[] = {"==", "!=", "<", ">", "<=", ">=", "in", "not", "is"};
// Words that may stand before an expression in a statement and say nothing about its value.
constexpr std::string_view kLeading[] = {"await", "yield", "from", "*", "**", "-", "+", "~"};

bool all_known(const PythonValue& value) {
  return std::all_of(value.texts.begin(), value.texts.end(), [](const std::string& text) {
    return std::none_of(text.begin(), text.end(),
                        [](char c) { return static_cast<unsigned char>(c) <= kPyLastMark; });
  });
}

/// left OP right, where both are known; only what platform conditions use.
std::optional<bool> compare(std::string_view operation, const PythonValue& left,
                            const PythonValue& right) {
  // Other texts that are compared change in the course of a run.
  if (!left.platform && !right.platform) return std::nullopt;
  std::optional<std::string> a = known_text(left);
  if (!a) return std::nullopt;
  if (operation == "in" || operation == "not in") {
    std::optional<std::string> whole = known_text(right);
    if (!whole && (!right.list || !all_known(right))) return std::nullopt;
    bool found = whole ? whole->find(*a) != std::string::npos
                       : std::find(right.texts.begin(), right.texts.end(), *a) != right.texts.end();
    return found == (operation == "in");
  }
  std::optional<std::string> b = known_text(right);
  if (!b) return std::nullopt;
  if (operation == "==" || operation == "is") return *a == *b;
  if (operation == "!=" || operation == "is not") return *a != *b;
  return std::nullopt;
}

std::optional<bool> negated(std::optional<bool> truth) {
  if (truth) return !*truth;
  return std::nullopt;
}

std::optional<bool> either(std::optional<bool> a, std::optional<bool> b) {
  if (a.value_or(false) || b.value_or(false)) return true;
  if (a && b) return false;
  return std::nullopt;
}

/// A tuple inside of a list: one text of all its elements.
PythonValue row_of(const std::vector<PythonValue>& elements) {
  PythonValue row = text_value("");
  row.texts.clear();
  constexpr std::size_t kMaxRows = 16;
  std::vector<std::string> made{""};
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::vector<std::string> next;
    std::vector<std::string> texts = elements[i].texts;
    if (texts.empty()) texts = unknown_value().texts;
    for (const std::string& left : made) {
      for (const std::string& right : texts) {
        if (next.size() == kMaxRows) break;
        // A tuple inside of the tuple is not taken apart.
        std::string text = has_mark(right, kPyColumn) ? unknown_value().texts[0] : right;
        next.push_back(i == 0 ? text : left + kPyColumn + text);
      }
    }
    made = std::move(next);
  }
  for (std::string& text : made) join_values(row, text_value(std::move(text)));
  return row;
}

}  // namespace

PythonValue PythonReader::charged(PythonValue value) {
  for (const std::string& text : value.texts) spent_ += text.size() + 32;
  if (spent_ > kMaxSpent) {
    out_.incomplete = true;
    return unknown_value();
  }
  return value;
}

PythonValue PythonReader::evaluate(Range range) {
  std::vector<PythonValue> values = evaluate_list(range);
  if (values.size() == 1) return values[0];
  PythonValue all;
  for (const PythonValue& value : values) join_values(all, value);
  all.list = true;
  return all;
}

/// The expressions of `range` between commas. Words that start no expression are stepped over, so
/// that any statement can be read as a list of expressions.
std::vector<PythonValue> PythonReader::evaluate_list(Range range) {
  std::vector<PythonValue> values;
  if (depth_ >= kMaxDepth || spent_ > kMaxSpent) {
    out_.incomplete = true;
    return {unknown_value()};
  }
  Range outer = range_;
  range_ = range;
  ++depth_;
  bool separated = true;
  while (range_.first < range_.last) {
    std::size_t before = range_.first;
    PythonValue value = expression();
    if (range_.first == before) {
      separated = separated || at(",") || at(";");
      ++range_.first;
      continue;
    }
    // Two expressions side by side are of different parts of the statement: `assert`, `raise`.
    if (separated || values.empty()) values.push_back(std::move(value));
    separated = false;
    if (at(",")) {
      separated = true;
      ++range_.first;
    }
  }
  --depth_;
  range_ = outer;
  return values;
}

bool PythonReader::at(std::string_view spelt) const {
  return range_.first < range_.last && tokens_->is(range_.first, spelt);
}

PythonValue PythonReader::expression() {
  if (at("lambda")) {
    range_.first = find(range_, ",");
    return unknown_value();
  }
  bool named = range_.first + 1 < range_.last && tokens_->is(range_.first + 1, ":=");
  if (named) {
    std::string name(tokens_->spelling(range_.first));
    range_.first += 2;
    PythonValue value = disjunction();
    assign_name(name, value, state().conditional);
    return value;
  }
  PythonValue value = disjunction();
  while (at("if")) {
    ++range_.first;
    std::optional<bool> condition = known_truth(disjunction());
    if (!at("else")) break;
    ++range_.first;
    PythonValue other = at("lambda") ? unknown_value() : disjunction();
    if (condition == false) value = std::move(other);
    if (!condition) join_values(value, other);
  }
  return charged(std::move(value));
}

PythonValue PythonReader::disjunction() {
  PythonValue value = conjunction();
  std::optional<bool> truth = known_truth(value);
  while (at("or")) {
    ++range_.first;
    PythonValue right = conjunction();
    truth = either(truth, known_truth(right));
    join_values(value, right);
    if (truth) value = truth_value(*truth);
  }
  return value;
}

PythonValue PythonReader::conjunction() {
  PythonValue value = comparison();
  std::optional<bool> truth = known_truth(value);
  while (at("and")) {
    ++range_.first;
    PythonValue right = comparison();
    truth = negated(either(negated(truth), negated(known_truth(right))));
    value = truth ? truth_value(*truth) : std::move(right);
    if (!truth && known_truth(value)) value = unknown_value();
  }
  return value;
}

PythonValue PythonReader::comparison() {
  bool opposite = false;
  bool said = false;
  while (at("not")) {
    opposite = !opposite;
    said = true;
    ++range_.first;
  }
  PythonValue value = sum();
  std::optional<bool> truth = known_truth(value);
  std::size_t compared = 0;
  PythonValue left = value;
  for (;;) {
    auto symbol = std::find_if(std::begin(kComparisons), std::end(kComparisons),
                               [&](std::string_view each) { return at(each); });
    if (symbol == std::end(kComparisons)) break;
    std::string operation(*symbol);
    ++range_.first;
    if ((operation == "not" && at("in")) || (operation == "is" && at("not"))) {
      operation += " " + std::string(tokens_->spelling(range_.first++));
    }
    PythonValue right = sum();
    std::optional<bool> holds = compare(operation, left, right);
    truth = compared++ == 0 ? holds : truth == true ? holds : std::nullopt;
    left = std::move(right);
  }
  if (compared == 0 && !said) return value;
  return truth ? truth_value(*truth != opposite) : unknown_value();
}

PythonValue PythonReader::sum() {
  PythonValue value = product();
  for (;;) {
    bool add = at("+");
    if (!add && !at("|") && !at("-") && !at("&") && !at("^") && !at("<<") && !at(">>")) {
      return value;
    }
    bool either = at("|");  // of flags: both; of sets: either
    ++range_.first;
    PythonValue right = product();
    if (either || (add && (value.list || right.list))) {
      join_values(value, right);
    } else {
      value = charged(add ? concatenate(value, "", right) : unknown_value());
    }
  }
}

namespace {

/// What `text % value` comes to: one value, or a list of one for each field.
PythonValue percent_formatted(const std::string& text, const PythonValue& value) {
  std::vector<std::pair<std::size_t, std::size_t>> fields;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != '%') continue;
    std::size_t end = text.find_first_of("sdriuxXofgeEGc%", i + 1);
    if (end == text.npos) break;
    if (text[i + 1] == '(')
      end = std::min(text.find_first_of("sdr", text.find(')', i)), text.size() - 1);
    fields.emplace_back(i, end + 1);
    i = end;
  }
  PythonValue out = text_value("");
  std::size_t from = 0, used = 0;
  bool each = value.list && value.texts.size() == fields.size();
  for (auto [begin, end] : fields) {
    out = concatenate(out, text.substr(from, begin - from), text_value(""));
    from = end;
    if (text[end - 1] == '%') {
      out = concatenate(out, "%", text_value(""));
    } else if (each) {
      out = concatenate(out, "", text_value(value.texts[used++]));
    } else {
      out = concatenate(out, "", value.list || fields.size() > 1 ? unknown_value() : value);
    }
  }
  return concatenate(out, text.substr(std::min(from, text.size())), text_value(""));
}

}  // namespace

PythonValue PythonReader::product() {
  PythonValue value = primary();
  for (;;) {
    bool divide = at("/");
    bool percent = at("%");
    if (!divide && !percent && !at("*") && !at("**") && !at("//") && !at("@")) return value;
    ++range_.first;
    PythonValue right = primary();
    if (divide) {
      value = charged(join_paths(value, right));
    } else if (percent && value.texts.size() == 1) {
      value = charged(percent_formatted(value.texts[0], right));
    } else if (!value.list) {
      value = unknown_value();
    }
  }
}

PythonValue PythonReader::primary() {
  while (std::any_of(std::begin(kLeading), std::end(kLeading),
                     [&](std::string_view word) { return at(word); })) {
    ++range_.first;
  }
  std::string variable;
  PythonValue value = atom(variable);
  while (range_.first < range_.last) {
    std::size_t here = range_.first;
    std::size_t match = std::min<std::size_t>(tokens_->tokens[here].match, range_.last);
    bool member = at(".") && here + 1 < range_.last &&
                  tokens_->tokens[here + 1].kind == PythonTokenKind::name;
    if (member) {
      std::string_view name = tokens_->spelling(here + 1);
      bool called = here + 2 < range_.last && tokens_->is(here + 2, "(") &&
                    tokens_->tokens[here + 2].match != 0;
      if (called && !dotted_name(value)) {
        std::size_t close = tokens_->tokens[here + 2].match;
        range_.first = std::min(close + 1, range_.last);
        value = charged(call_method(value, name, arguments({here + 3, close}), variable));
      } else {
        range_.first += 2;
        value = attribute(value, name);
      }
    } else if (match != 0 && at("(")) {
      range_.first = std::min(match + 1, range_.last);
      PythonArguments list = arguments({here + 1, match});
      std::optional<std::string> name = dotted_name(value);
      value = charged(name ? call_function(*name, list) : unknown_value());
    } else if (match != 0 && at("[")) {
      range_.first = std::min(match + 1, range_.last);
      value = charged(subscript(value, {here + 1, match}));
    } else {
      break;
    }
    variable.clear();
  }
  return value;
}

PythonValue PythonReader::atom(std::string& variable) {
  if (range_.first >= range_.last) return unknown_value();
  const PythonToken& token = tokens_->tokens[range_.first];
  std::string_view spelling = tokens_->spelling(range_.first);
  switch (token.kind) {
    case PythonTokenKind::string:
      return strings();
    case PythonTokenKind::number:
      ++range_.first;
      return text_value(std::string(spelling));
    case PythonTokenKind::name: {
      constexpr std::string_view kNoAtoms[] = {"if", "else", "for", "in",    "is",    "and",
                                               "or", "not",  "as",  "async", "lambda"};
      for (std::string_view word : kNoAtoms) {
        if (spelling == word) return unknown_value();
      }
      ++range_.first;
      variable = spelling;
      return name_value(spelling);
    }
    default:
      break;
  }
  if (token.match != 0) {
    std::size_t close = std::min<std::size_t>(token.match, range_.last);
    Range inside{range_.first + 1, close};
    range_.first = std::min(close + 1, range_.last);
    return charged(bracketed(spelling[0], inside));
  }
  return unknown_value();
}

const PythonValue* PythonReader::find_name(std::string_view name) const {
  std::string member = "." + std::string(name);
  std::size_t at = state().scope;
  for (;;) {
    const PythonNames& names = scopes_[at].names;
    auto place = names.find(name);
    if (place == names.end() && state().in_class) place = names.find(member);
    if (place != names.end()) return &place->second;
    if (at == 0) break;
    at = scopes_[at].outer;
  }
  auto place = module_names_.find(name);
  return place == module_names_.end() ? nullptr : &place->second;
}

PythonValue PythonReader::name_value(std::string_view name) {
  if (name == "None") return {};
  // Flags are set to be changed: a literal says nothing lasting.
  if (name == "True" || name == "False") return unknown_value();
  if (name == "__file__") return own_file();
  if (name == "__name__") return platform_value(module_.name);
  if (name == "TYPE_CHECKING") return truth_value(false);
  if (name == "__package__") return text_value(module_.package);
  if (name == "__path__") return package_folder(text_value(module_.package));
  if (const PythonValue* value = find_name(name)) {
    bool own = scopes_[state().scope].names.count(name) != 0;
    // The parameters of a function around this one are not this one's.
    return own ? *value : substitute(*value, {});
  }
  auto imported = imported_.find(name);
  std::string whole = imported == imported_.end() ? std::string(name) : imported->second;
  return attribute(text_value(std::string(1, kPyName) + whole), {});
}

PythonValue PythonReader::bracketed(char open, Range inside) {
  for (std::size_t i = inside.first; i < inside.last; ++i) {
    if (tokens_->tokens[i].match != 0) {
      i = tokens_->tokens[i].match;
    } else if (tokens_->is(i, "for")) {
      return comprehension(inside, i);
    }
  }
  return display(open, inside);
}

/// `[element for target in list if condition ...]`: the clauses first, then the element. The
/// targets stay assigned; nothing is lost by that.
PythonValue PythonReader::comprehension(Range inside, std::size_t first_for) {
  std::size_t at = first_for;
  while (at < inside.last) {
    Range clause{at + 1, find({at + 1, inside.last}, "for")};
    std::size_t in = find(clause, "in");
    if (in < clause.last) {
      PythonValue list = evaluate({in + 1, find({in + 1, clause.last}, "if")});
      list.list = false;
      assign({clause.first, in}, list);
    }
    at = clause.last;
  }
  std::size_t end = first_for;
  if (end > inside.first && tokens_->is(end - 1, "async")) --end;
  PythonValue value = evaluate({inside.first, end});
  value.list = true;
  return value;
}

PythonValue PythonReader::display(char open, Range inside) {
  if (inside.first == inside.last) return {{}, true, false};
  bool tuple = open == '[' || open == '{' || find(inside, ",") < inside.last;
  if (!tuple) return evaluate(inside);
  PythonValue out;
  for (Range part : split(inside, ",")) {
    std::size_t colon = open == '{' ? find(part, ":") : part.last;
    std::vector<PythonValue> values;
    if (colon < part.last && !tokens_->is(part.first, "lambda")) {
      values = {evaluate({part.first, colon}), evaluate({colon + 1, part.last})};
    } else {
      // A tuple or list as an element keeps its elements apart.
      std::size_t match = tokens_->tokens[part.first].match;
      bool nested =
          match != 0 && match + 1 == part.last && find({part.first + 1, match}, "for") == match;
      values = evaluate_list(nested ? Range{part.first + 1, match} : part);
    }
    join_values(out, values.size() == 1 ? values[0] : row_of(values));
  }
  out.list = true;
  return out;
}

PythonValue PythonReader::strings() {
  PythonValue out = text_value("");
  while (range_.first < range_.last &&
         tokens_->tokens[range_.first].kind == PythonTokenKind::string) {
    PythonLiteral literal = read_python_literal(tokens_->spelling(range_.first++));
    PythonValue value = literal.formatted
                            ? formatted(literal.body, literal.raw)
                            : text_value(literal_text(unescaped(literal.body, literal.raw)));
    out = concatenate(out, "", value);
  }
  return charged(std::move(out));
}

PythonValue PythonReader::formatted(std::string_view body, bool raw) {
  PythonValue out = text_value("");
  while (!body.empty()) {
    std::size_t brace = std::min(body.find_first_of("{}"), body.size());
    std::string literal(body.substr(0, brace));
    body.remove_prefix(brace);
    bool twice = body.size() > 1 && body[1] == body[0];
    if (twice) literal += body[0];
    out = concatenate(out, "", text_value(literal_text(unescaped(literal, raw))));
    if (body.empty()) break;
    if (twice || body[0] == '}') {
      body.remove_prefix(twice ? 2 : 1);
      continue;
    }
    int depth = 0;
    std::size_t end = 0;
    for (; end < body.size(); ++end) {
      if (body[end] == '{') ++depth;
      if (body[end] == '}' && --depth == 0) break;
    }
    out = charged(concatenate(out, "", field(body.substr(1, end == 0 ? 0 : end - 1))));
    body.remove_prefix(std::min(end + 1, body.size()));
  }
  return out;
}

/// The expression of an f-string's field, which is a small text of its own.
PythonValue PythonReader::field(std::string_view text) {
  constexpr std::size_t kMaxField = 1024;
  if (text.size() > kMaxField || depth_ >= kMaxDepth) return unknown_value();
  PythonTokens inner = read_python_tokens(text);
  const PythonTokens* outer = tokens_;
  Range outer_range = range_;
  tokens_ = &inner;
  Range all{0, inner.tokens.size() - 1};
  std::size_t conversion = std::min({find(all, "!"), find(all, ":"), find(all, ":=")});
  for (all.last = conversion; all.last > 0; --all.last) {
    PythonTokenKind kind = inner.tokens[all.last - 1].kind;
    if (kind != PythonTokenKind::newline && kind != PythonTokenKind::dedent) break;
  }
  while (all.first < all.last && inner.tokens[all.first].kind == PythonTokenKind::indent)
    ++all.first;
  PythonValue value = evaluate(all);
  tokens_ = outer;
  range_ = outer_range;
  return value.list ? unknown_value() : value;
}

PythonValue PythonReader::attribute(const PythonValue& value, std::string_view name) {
  std::optional<std::string> base = dotted_name(value);
  if (!base) {
    if (name == "parent") return parent_folder(value);
    if (name == "name") return base_name(value);
    if (name == "origin")
      return concatenate(value, ".", concatenate(unknown_value(), "so", text_value("")));
    if (name == "parents" || name == "submodule_search_locations") return value;
    return unknown_value();
  }
  std::string whole = name.empty() ? *base : *base + "." + std::string(name);
  if (whole == "sys.platform") return platform_value("linux");
  if (whole == "os.name") return platform_value("posix");
  if (whole == "os.sep" || whole == "os.path.sep") return text_value("/");
  if (whole == "os.pardir" || whole == "os.path.pardir") return text_value("..");
  if (whole == "os.curdir") return text_value(".");
  if (name == "TYPE_CHECKING") return truth_value(false);
  if (whole == "importlib.machinery.EXTENSION_SUFFIXES") {
    return concatenate(text_value("."), "", concatenate(unknown_value(), "so", text_value("")));
  }
  if (name == "__file__") {
    return join_paths(package_folder(text_value(*base)), text_value("__init__.py"));
  }
  if (name == "__path__") return package_folder(text_value(*base));
  if (*base == "self" || *base == "cls") {
    std::string member = "." + std::string(name);
    auto place = scopes_[0].names.find(member);
    if (place != scopes_[0].names.end()) return place->second;
    place = module_names_.find(member);
    if (place != module_names_.end()) return place->second;
  }
  auto constant = known_.find(whole);
  if (constant != known_.end() && constant->second.constant) return constant->second.returns;
  return text_value(std::string(1, kPyName) + whole);
}

/// Of a text, `[:count]`: some ask for the platform's first letters.
PythonValue PythonReader::sliced(const PythonValue& value, Range inside) const {
  if (value.list) return value;
  std::optional<std::string> text = known_text(value);
  bool head = inside.last - inside.first == 2 && tokens_->is(inside.first, ":") &&
              tokens_->tokens[inside.first + 1].kind == PythonTokenKind::number;
  if (!text || !head) return unknown_value();
  std::string_view number = tokens_->spelling(inside.first + 1);
  std::size_t count = 0;
  std::from_chars(number.data(), number.data() + number.size(), count);
  PythonValue out = text_value(text->substr(0, count));
  out.platform = value.platform;
  return out;
}

PythonValue PythonReader::subscript(const PythonValue& value, Range inside) {
  bool slice = find(inside, ":") < inside.last;
  PythonValue key = evaluate(inside);
  if (slice) return sliced(value, inside);
  bool parents = inside.first >= 3 && tokens_->is(inside.first - 2, "parents");
  std::optional<std::string> number = known_text(key);
  std::size_t index = 0;
  bool counted =
      number &&
      std::from_chars(number->data(), number->data() + number->size(), index).ec == std::errc();
  if (parents) {
    constexpr std::size_t kMaxSteps = 16;
    PythonValue folder = counted && index < kMaxSteps ? value : unknown_value();
    for (std::size_t i = 0; counted && i <= index && i < kMaxSteps; ++i)
      folder = parent_folder(folder);
    return folder;
  }
  if (dotted_name(value)) return unknown_value();
  if (!value.list && counted) return column_of(value, index);
  PythonValue out = counted ? value : entry_of(value, key);
  out.list = false;
  return out;
}

PythonArguments PythonReader::arguments(Range inside) {
  PythonArguments out;
  for (Range part : split(inside, ",")) {
    if (part.first == part.last) continue;
    PythonArgument argument;
    argument.star = tokens_->is(part.first, "*") || tokens_->is(part.first, "**");
    bool named = part.first + 1 < part.last && tokens_->is(part.first + 1, "=") &&
                 tokens_->tokens[part.first].kind == PythonTokenKind::name;
    if (named) {
      argument.keyword = tokens_->spelling(part.first);
      part.first += 2;
    }
    // A generator may stand in a call without brackets of its own.
    argument.value =
        depth_ < kMaxDepth && find(part, "for") < part.last ? bracketed('(', part) : evaluate(part);
    out.push_back(std::move(argument));
  }
  return out;
}

}  // namespace wheelvet
