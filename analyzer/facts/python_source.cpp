#include "facts/python_source.h"

#include <string.h>

#include <algorithm>
#include <unordered_set>

#include "facts/python_reader.h"

namespace wheelvet {
namespace {

// A function that calls one which stands further down needs one more pass; chains longer than two
// such steps were not met.
constexpr int kPasses = 3;

// What the names of the calls that open something hold, and of those that find what to open.
constexpr std::string_view kOpenerWords[] = {
    "CDLL",         "PyDLL",          "LoadLibrary",        "load_library",
    "dlopen",       "load_module",    "load_op_library",    "ExtensionFileLoader",
    "load_dynamic", "nvidia_dynamic", "EXTENSION_SUFFIXES", "spec_from_file_location",
    "pjrt_plugin",  "library_path",   "import_module",      "__import__"};

/// "lib/libfoo.so.1" and the like: ".so" where a name may end.
bool mentions_library(std::string_view text) {
  constexpr std::size_t kMaxName = 256;
  if (text.size() > kMaxName || text.find_first_of(" \n\t") != text.npos) return false;
  std::size_t at = text.rfind(".so");
  if (at == text.npos) return false;
  std::string_view after = text.substr(at + 3);
  return after.empty() || after[0] == '.' || after[0] == '*';
}

void add_mentions(const PythonTokens& tokens, PythonSource& out) {
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < tokens.tokens.size(); ++i) {
    if (tokens.tokens[i].kind != PythonTokenKind::string) continue;
    PythonLiteral literal = read_python_literal(tokens.spelling(i));
    if (!literal.formatted && mentions_library(literal.body) && seen.insert(literal.body).second) {
      out.mentions.push_back(unescaped(literal.body, literal.raw));
    }
  }
}

/// A path in the package, or a part of a library's name.
bool may_name_library(const PythonValue& value) {
  return std::any_of(value.texts.begin(), value.texts.end(), [](const std::string& text) {
    bool composed = has_mark(text, kPyParameter) && text.size() > 2 && !text.starts_with(kPyName);
    return text.starts_with(kPyRoot) || composed || text.ends_with(".so") ||
           text.find(".so.") != text.npos;
  });
}

std::string with_dots(std::string text) {
  std::replace(text.begin(), text.end(), '/', '.');
  return text;
}

PythonModule module_at(std::string_view path) {
  PythonModule module;
  module.path = path;
  std::size_t slash = path.rfind('/');
  if (slash != path.npos) module.folder = path.substr(0, slash);
  std::string_view stem = path.substr(slash == path.npos ? 0 : slash + 1);
  stem = stem.substr(0, stem.rfind('.'));
  module.package = with_dots(module.folder);
  module.name = module.package;
  if (stem != "__init__") {
    if (!module.name.empty()) module.name += '.';
    module.name += stem;
  }
  return module;
}

// The library's memmem reads a text several times as fast as string_view's find.
bool contains(std::string_view text, std::string_view word) {
  return memmem(text.data(), text.size(), word.data(), word.size()) != nullptr;
}

/// ".so" where a file name may end, in a literal or a comment.
bool spells_library(std::string_view text) {
  for (std::size_t at = text.find(".so"); at != text.npos; at = text.find(".so", at + 3)) {
    char after = at + 3 < text.size() ? text[at + 3] : '\0';
    if (after == '"' || after == '\'' || after == '.' || after == '{' || after == '*') return true;
  }
  return false;
}

}  // namespace

bool may_open_libraries(std::string_view text) {
  return spells_library(text) ||
         std::any_of(std::begin(kOpenerWords), std::end(kOpenerWords),
                     [&](std::string_view word) { return contains(text, word); });
}

PythonSource read_python_source(std::string_view text, std::string_view path,
                                const PythonHelpers& known) {
  PythonTokens tokens = read_python_tokens(text);
  PythonStatements statements = read_python_statements(tokens);
  PythonModule module = module_at(path);
  PythonReader reader(tokens, statements, module, known);
  PythonSource out = reader.read(false);
  bool evaluate =
      may_open_libraries(text) || contains(text, "setdlopenflags") || reader.imports_helpers();
  for (int pass = 0; evaluate && pass < kPasses; ++pass) out = reader.read(true);
  out.incomplete |= tokens.incomplete;
  add_mentions(tokens, out);
  return out;
}

PythonReader::PythonReader(const PythonTokens& tokens, const PythonStatements& statements,
                           const PythonModule& module, const PythonHelpers& known)
    : tokens_(&tokens), statements_(statements), module_(module), known_(known) {}

PythonSource PythonReader::read(bool evaluate) {
  out_ = {};
  evaluate_ = evaluate;
  states_.assign(statements_.blocks.size(), BlockState{});
  scopes_.assign(1, Scope{});
  spent_ = 0;
  for (const PythonStatement& statement : statements_.statements) read_statement(statement);
  module_names_ = std::move(scopes_[0].names);
  for (const auto& [name, helper] : own_) {
    bool useful = !helper.opens.empty() || may_name_library(helper.returns);
    if (!name.starts_with('.') && useful) out_.helpers[module_.name + "." + name] = helper;
  }
  for (const auto& [name, value] : module_names_) {
    if (name.starts_with('.') || !may_name_library(value)) continue;
    PythonHelper& constant = out_.helpers[module_.name + "." + name];
    constant.constant = true;
    constant.returns = value;
  }
  return std::move(out_);
}

bool PythonReader::imports_helpers() const {
  return std::any_of(imported_.begin(), imported_.end(), [&](const auto& imported) {
    auto helper = known_.lower_bound(imported.second);
    return helper != known_.end() && helper->first.starts_with(imported.second);
  });
}

void PythonReader::read_statement(const PythonStatement& statement) {
  block_ = statement.block;
  line_ = tokens_->tokens[statement.first].line;
  if (state().dead) {
    if (statement.opens != 0) states_[statement.opens].dead = true;
  } else if (statement.opens != 0) {
    read_head(statement);
  } else {
    read_simple({statement.first, statement.last});
  }
}

void PythonReader::read_head(const PythonStatement& statement) {
  Range rest{statement.first + 1, statement.last};
  if (tokens_->is(statement.first, "async")) ++rest.first;
  std::optional<bool> condition;
  switch (statements_.blocks[statement.opens].kind) {
    case PythonBlockKind::if_:
    case PythonBlockKind::elif_:
    case PythonBlockKind::while_:
      condition = truth_of(rest);
      break;
    case PythonBlockKind::for_:
      if (evaluate_) read_for(rest);
      break;
    case PythonBlockKind::with_:
      if (evaluate_) read_with(rest);
      break;
    default:
      break;
  }
  enter_block(statement, condition);
  if (statements_.blocks[statement.opens].kind == PythonBlockKind::function) {
    read_function_head(rest, states_[statement.opens]);
  }
}

std::optional<bool> PythonReader::truth_of(Range range) {
  if (range.last - range.first == 1) {
    bool number = tokens_->tokens[range.first].kind == PythonTokenKind::number;
    if (number || tokens_->is(range.first, "True")) return tokens_->spelling(range.first) != "0";
    if (tokens_->is(range.first, "False")) return false;
  }
  return known_truth(evaluate(range));
}

void PythonReader::enter_block(const PythonStatement& statement, std::optional<bool> condition) {
  const PythonBlock& block = statements_.blocks[statement.opens];
  BlockState next = state();
  next.taken = false;
  next.refused = true;
  bool chained = block.kind == PythonBlockKind::elif_ || block.kind == PythonBlockKind::else_;
  PythonBlockKind before = statements_.blocks[block.previous].kind;
  bool of_if = before == PythonBlockKind::if_ || before == PythonBlockKind::elif_;
  if (chained && block.previous != 0 && of_if) {
    next.taken = states_[block.previous].taken;
    next.refused = states_[block.previous].refused;
  }
  switch (block.kind) {
    case PythonBlockKind::if_:
    case PythonBlockKind::elif_:
    case PythonBlockKind::else_: {
      if (block.kind == PythonBlockKind::else_ && of_if) condition = true;
      bool certain = condition == true && next.refused;
      if (next.taken || condition == false) next.dead = true;
      if (!certain) next.guarded = next.conditional = true;
      next.taken |= condition == true;
      next.refused &= condition == false;
      break;
    }
    case PythonBlockKind::try_:
      next.guarded |= block.swallows;
      break;
    case PythonBlockKind::except_:
    case PythonBlockKind::match_:
    case PythonBlockKind::case_:
      next.guarded = next.conditional = true;
      break;
    case PythonBlockKind::while_:
      if (condition == false) next.dead = true;
      if (condition != true) next.guarded = next.conditional = true;
      break;
    case PythonBlockKind::with_:
      for (std::size_t i = statement.first; i < statement.last; ++i) {
        next.guarded |= tokens_->is(i, "suppress");  // contextlib's
      }
      break;
    case PythonBlockKind::class_:
      next.in_class = true;
      break;
    default:
      break;
  }
  states_[statement.opens] = next;
}

void PythonReader::read_simple(Range range) {
  if (read_import(range)) return;
  if (!evaluate_) {
    // Conditions are followed in every file, and what they ask for may be kept in a name:
    // `WINDOWS = sys.platform == "win32"`.
    constexpr std::size_t kMaxFlag = 16;
    bool flag = range.last - range.first <= kMaxFlag && tokens_->is(range.first + 1, "=");
    if (flag) read_assignment(range);
    return;
  }
  if (tokens_->is(range.first, "return") || tokens_->is(range.first, "yield")) {
    PythonValue value =
        range.first + 1 == range.last ? PythonValue{} : evaluate({range.first + 1, range.last});
    const std::string& function = scopes_[state().scope].function;
    if (!function.empty()) join_values(own_[function].returns, value);
  } else if (!read_assignment(range)) {
    evaluate(range);
  }
}

bool PythonReader::read_import(Range range) {
  if (tokens_->is(range.first, "import")) {
    read_plain_import({range.first + 1, range.last});
    return true;
  }
  if (tokens_->is(range.first, "from")) {
    read_from_import({range.first + 1, range.last});
    return true;
  }
  return false;
}

std::string PythonReader::dotted(Range range, std::size_t& at) const {
  std::string out;
  while (at < range.last && tokens_->tokens[at].kind == PythonTokenKind::name &&
         !tokens_->is(at, "import")) {
    out += tokens_->spelling(at++);
    if (at >= range.last || !tokens_->is(at, ".")) break;
    out += '.';
    ++at;
  }
  return out;
}

void PythonReader::add_import(std::string module, std::vector<std::string> names) {
  bool in_function = !scopes_[state().scope].function.empty();
  out_.imports.push_back(
      {std::move(module), std::move(names), state().guarded, in_function, false, line_});
}

void PythonReader::read_plain_import(Range range) {
  for (Range part : split(range, ",")) {
    std::size_t at = part.first;
    std::string module = dotted(part, at);
    if (module.empty()) {
      out_.incomplete = true;
      continue;
    }
    bool renamed = at + 1 < part.last && tokens_->is(at, "as");
    std::string name =
        renamed ? std::string(tokens_->spelling(at + 1)) : module.substr(0, module.find('.'));
    imported_[name] = renamed ? module : name;
    add_import(std::move(module), {});
  }
}

void PythonReader::read_from_import(Range range) {
  std::size_t at = range.first;
  std::size_t level = 0;
  for (; at < range.last && (tokens_->is(at, ".") || tokens_->is(at, "...")); ++at) {
    level += tokens_->spelling(at).size();
  }
  std::string module = dotted(range, at);
  if (at >= range.last || !tokens_->is(at, "import") || (level == 0 && module.empty())) {
    out_.incomplete = true;
    return;
  }
  if (level > 0) {
    std::string base = module_.package;
    std::size_t up = 1;
    for (; up < level && !base.empty(); ++up) {
      std::size_t dot = base.rfind('.');
      base.erase(dot == std::string::npos ? 0 : dot);
    }
    if (base.empty()) base.assign(level - up + 1, '.');
    if (!module.empty() && !base.ends_with('.')) base += '.';
    module = base + module;
  }
  Range list{at + 1, range.last};
  if (list.first < list.last && tokens_->tokens[list.first].match != 0) {
    list.last = std::min<std::size_t>(list.last, tokens_->tokens[list.first].match);
    ++list.first;
  }
  std::vector<std::string> names;
  for (Range part : split(list, ",")) {
    if (part.first == part.last) continue;
    std::string name(tokens_->spelling(part.first));
    bool renamed = part.first + 2 < part.last && tokens_->is(part.first + 1, "as");
    std::string as = renamed ? std::string(tokens_->spelling(part.first + 2)) : name;
    imported_[as] = module + "." + name;
    names.push_back(std::move(name));
  }
  add_import(std::move(module), std::move(names));
}

void PythonReader::read_function_head(Range range, BlockState& state) {
  Scope scope;
  scope.outer = state.scope;
  std::string name(range.first < range.last ? tokens_->spelling(range.first) : "");
  bool method = state.in_class;
  scope.function = (method ? "." : "") + name;
  PythonHelper helper;
  std::size_t open = range.first;
  while (open < range.last && !tokens_->is(open, "(")) ++open;
  if (evaluate_ && open < range.last && tokens_->tokens[open].match != 0) {
    read_parameters({open + 1, tokens_->tokens[open].match}, helper, scope, method);
  }
  own_[scope.function] = std::move(helper);
  state.in_class = false;
  state.conditional = false;
  state.scope = scopes_.size();
  scopes_.push_back(std::move(scope));
}

void PythonReader::read_parameters(Range range, PythonHelper& helper, Scope& scope, bool method) {
  for (Range part : split(range, ",")) {
    while (part.first < part.last &&
           (tokens_->is(part.first, "*") || tokens_->is(part.first, "**"))) {
      ++part.first;
    }
    if (part.first == part.last || tokens_->is(part.first, "/")) continue;
    std::string name(tokens_->spelling(part.first));
    bool self = method && helper.parameters.empty() && scope.names.empty() &&
                (name == "self" || name == "cls");
    if (self) continue;
    std::size_t equals = find(part, "=");
    helper.defaults.push_back(equals < part.last ? evaluate({equals + 1, part.last})
                                                 : unknown_value());
    scope.names[name] = parameter_value(helper.parameters.size());
    helper.parameters.push_back(std::move(name));
  }
}

void PythonReader::read_for(Range range) {
  std::size_t in = find(range, "in");
  if (in >= range.last) return;
  std::vector<PythonValue> values = evaluate_list({in + 1, range.last});
  PythonValue all;
  for (const PythonValue& value : values) join_values(all, value);
  all.list = false;
  assign({range.first, in}, all);
}

void PythonReader::read_with(Range range) {
  if (tokens_->tokens[range.first].match + 1 == range.last) {
    range = {range.first + 1, range.last - 1};
  }
  for (Range part : split(range, ",")) {
    std::size_t as = find(part, "as");
    PythonValue value = evaluate({part.first, as});
    if (as < part.last) assign({as + 1, part.last}, value);
  }
}

bool PythonReader::read_assignment(Range range) {
  std::vector<Range> parts = split(range, "=");
  if (parts.size() > 1) {
    Range right = parts.back();
    parts.pop_back();
    std::vector<PythonValue> values = evaluate_list(right);
    for (Range target : parts) {
      target.last = find(target, ":");  // an annotation
      std::vector<Range> targets = split(target, ",");
      if (targets.size() == values.size()) {
        for (std::size_t i = 0; i < targets.size(); ++i) assign(targets[i], values[i]);
      } else if (values.size() == 1) {
        assign(target, values[0]);
      } else if (targets.size() == 1) {
        PythonValue all;
        for (const PythonValue& value : values) join_values(all, value);
        all.list = true;
        assign(target, all);
      }
    }
    return true;
  }
  std::size_t add = find(range, "+=");
  if (add != range.first + 1 || add >= range.last) return false;
  std::string name(tokens_->spelling(range.first));
  PythonValue right = evaluate({add + 1, range.last});
  const PythonValue* left = find_name(name);
  if (left == nullptr) return true;
  bool lists = left->list || right.list || left->texts.empty();
  PythonValue made = lists ? *left : concatenate(*left, "", right);
  if (lists) join_values(made, right);
  assign_name(name, made, state().conditional);
  return true;
}

void PythonReader::assign(Range target, const PythonValue& value) {
  while (target.first < target.last && tokens_->tokens[target.first].match + 1 == target.last &&
         tokens_->tokens[target.first].match != 0) {
    target = {target.first + 1, target.last - 1};
  }
  if (target.first < target.last && tokens_->is(target.first, "*")) ++target.first;
  std::vector<Range> targets = split(target, ",");
  if (targets.size() > 1) {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      Range each = targets[i];
      if (each.last - each.first == 1) {
        assign_name(std::string(tokens_->spelling(each.first)), column_of(value, i),
                    state().conditional);
      }
    }
    return;
  }
  std::size_t size = target.last - target.first;
  if (size == 1) {
    assign_name(std::string(tokens_->spelling(target.first)), value, state().conditional);
  } else if (size == 3 && tokens_->is(target.first + 1, ".")) {
    // self.name: kept for all classes of the file together.
    PythonNames& names = scopes_[0].names;
    std::string name = "." + std::string(tokens_->spelling(target.first + 2));
    auto place = names.find(name);
    if (place == names.end()) {
      names[name] = substitute(value, {});
    } else {
      join_values(place->second, substitute(value, {}));
    }
  }
}

void PythonReader::assign_name(const std::string& name, const PythonValue& value, bool add) {
  PythonNames& names = scopes_[state().scope].names;
  auto place = names.find(state().in_class ? "." + name : name);
  if (place != names.end() && add) {
    join_values(place->second, value);
  } else {
    names[state().in_class ? "." + name : name] = value;
  }
}

std::vector<PythonReader::Range> PythonReader::split(Range range, std::string_view at) const {
  std::vector<Range> parts;
  while (range.first < range.last) {
    std::size_t end = find(range, at);
    parts.push_back({range.first, end});
    range.first = std::min(end + 1, range.last);
  }
  return parts;
}

std::size_t PythonReader::find(Range range, std::string_view spelt) const {
  for (std::size_t i = range.first; i < range.last; ++i) {
    if (tokens_->tokens[i].match != 0) {
      i = tokens_->tokens[i].match;
    } else if (tokens_->is(i, spelt)) {
      return i;
    }
  }
  return range.last;
}

}  // namespace wheelvet
