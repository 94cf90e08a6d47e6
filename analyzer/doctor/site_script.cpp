#include "doctor/site_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "doctor/words.h"
#include "facts/python_statements.h"
#include "facts/python_tokens.h"

namespace wheelvet {
namespace {

constexpr int most_depth = 40;             // of expressions and calls
constexpr std::size_t most_steps = 20000;  // statements run: loops and calls may multiply
constexpr std::size_t most_unread = 20;
// Work, in tokens looked at and bytes kept, before the rest is given up.
constexpr std::size_t least_work = 400000, work_per_token = 100;
// Bytes of a value with all that it holds: a longer one is no environment variable (execve(2):
// 128 KiB), and `a = a + a` doubles.
constexpr std::size_t most_value = 128u << 10;
constexpr std::size_t entry_bytes = 64;  // what an entry of a list counts besides its text

struct Entry;

struct Value {
  enum Kind { unknown, text, other, name, mapping, list };
  Kind kind = unknown;
  std::string spelt;  ///< text: itself; other: its type; name: dotted
  std::optional<bool> truth;
  std::vector<Entry> entries;  ///< of a mapping; a list uses the first

  std::size_t bytes = 0;  ///< see most_value

  bool is_text() const { return kind == text; }
};

struct Entry {
  Value first, second;
};

Value text_of_value(std::string text) {
  if (text.size() > most_value) return {};
  bool truth = !text.empty();
  std::size_t bytes = text.size();
  return {Value::text, std::move(text), truth, {}, bytes};
}
Value other_value(std::string type, std::optional<bool> truth = {}) {
  return {Value::other, std::move(type), truth, {}, 0};
}
// False: the value would be too large with it.
bool add_entry(Value& to, Entry entry) {
  to.bytes += entry_bytes + entry.first.bytes + entry.second.bytes;
  if (to.bytes > most_value) return false;
  to.entries.push_back(std::move(entry));
  return true;
}
Value truth_of(std::optional<bool> truth) { return truth ? other_value("bool", truth) : Value{}; }

struct Range {
  std::size_t first = 0, last = 0;
};

enum class Flow { next, raised, left };  // left: return, break, continue, SystemExit

class Runner {
 public:
  Runner(const PythonTokens& tokens, const PythonStatements& statements, const Variables& before,
         const std::string& path, const std::function<bool(const std::string&)>& exists)
      : tokens_(tokens), statements_(statements), path_(path), exists_(exists) {
    out_.after = before;
    work_left_ = least_work + work_per_token * tokens.tokens.size();
    bodies_.resize(statements.blocks.size());
    for (std::size_t i = 0; i < statements.statements.size(); ++i) {
      bodies_[statements.statements[i].block].push_back(i);
    }
  }

  SiteRun run() {
    run_block(0);
    return std::move(out_);
  }

 private:
  // --- statements ---

  Flow run_block(std::uint32_t block) {
    if (++depth_ > most_depth) {
      --depth_;
      return Flow::next;
    }
    Flow flow = Flow::next;
    const std::vector<std::size_t>& body = bodies_[block];
    std::optional<bool> taken;  // of an if chain: whether a branch before was
    for (std::size_t at = 0; at < body.size(); ++at) {
      const PythonStatement& statement = statements_.statements[body[at]];
      if (++steps_ > most_steps || work_left_ == 0) {
        unread(statement.first, "and what follows: more than is followed");
        break;
      }
      flow = statement.opens == 0 ? run_simple({statement.first, statement.last})
                                  : run_compound(statement, body, at, taken);
      if (flow == Flow::next) continue;
      if (flow == Flow::raised) lose(body, at + 1);
      break;
    }
    --depth_;
    return flow;
  }

  PythonBlockKind kind_of(const PythonStatement& statement) const {
    return statements_.blocks[statement.opens].kind;
  }

  Flow run_compound(const PythonStatement& statement, const std::vector<std::size_t>& body,
                    std::size_t& at, std::optional<bool>& taken) {
    Range head{statement.first + 1, statement.last};
    switch (kind_of(statement)) {
      case PythonBlockKind::if_:
        taken = false;
        return run_branch(statement, condition(head, statement.opens), taken);
      case PythonBlockKind::elif_:
        if (taken == true) return Flow::next;
        return run_branch(statement, condition(head, statement.opens), taken);
      case PythonBlockKind::else_:
        if (!taken) return run_branch(statement, std::nullopt, taken);
        return *taken ? Flow::next : run_block(statement.opens);
      case PythonBlockKind::try_:
        return run_try(statement, body, at);
      case PythonBlockKind::with_:
      case PythonBlockKind::other:
      case PythonBlockKind::finally_:
        return run_block(statement.opens);
      case PythonBlockKind::for_:
        return run_for(statement);
      case PythonBlockKind::function:
        define(statement);
        return Flow::next;
      case PythonBlockKind::class_:
        return Flow::next;
      default:
        unread(statement.first, "a branch that only a run decides");
        return Flow::next;
    }
  }

  Flow run_branch(const PythonStatement& statement, std::optional<bool> condition,
                  std::optional<bool>& taken) {
    if (condition == false) return Flow::next;
    if (condition == true) {
      taken = true;
      return run_block(statement.opens);
    }
    taken.reset();
    ++unsure_;
    run_block(statement.opens);  // an exception there is no more than possible
    --unsure_;
    return Flow::next;
  }

  // A condition; that of a guard such as `if "X" not in os.environ` is kept for the assignments
  // below it.
  std::optional<bool> condition(Range range, std::uint32_t block) {
    std::optional<bool> truth = evaluate(range).truth;
    // What a guard that is not taken would have done is worth a word.
    if (truth == false) note_guarded(range, block);
    return truth;
  }

  void note_guarded(Range range, std::uint32_t block) {
    for (std::size_t i = range.first; i < range.last; ++i) {
      if (tokens_.tokens[i].kind != PythonTokenKind::string) continue;
      PythonLiteral literal = read_python_literal(tokens_.spelling(i));
      auto known = out_.after.find(literal.body);
      if (known == out_.after.end()) continue;
      skip_block(block, literal.body, known->second);
      return;
    }
  }

  // Assignments to `name` in a block are kept back by its guard.
  void skip_block(std::uint32_t block, std::string_view name, const Variable& earlier) {
    for (std::size_t index : bodies_[block]) {
      const PythonStatement& each = statements_.statements[index];
      std::optional<SiteAssignment> found = plain_assignment({each.first, each.last});
      if (!found || found->name != name) continue;
      spend(entry_bytes + found->value.size() + earlier.value.size());
      found->how = "guarded";
      found->outcome = found->fault.empty() ? SiteOutcome::kept : SiteOutcome::spared;
      found->earlier = earlier.value;
      found->from = earlier.from;
      out_.assignments.push_back(*found);
    }
  }

  Flow run_try(const PythonStatement& statement, const std::vector<std::size_t>& body,
               std::size_t& at) {
    unsigned raised_before = out_.raised_line;
    Flow flow = run_block(statement.opens);
    bool handled = false;
    while (at + 1 < body.size()) {
      const PythonStatement& next = statements_.statements[body[at + 1]];
      PythonBlockKind kind = next.opens ? kind_of(next) : PythonBlockKind::other;
      if (kind == PythonBlockKind::except_) {
        if (flow == Flow::raised && !handled && catches({next.first + 1, next.last})) {
          handled = true;
          out_.raised_line = raised_before;
          flow = run_block(next.opens);
        }
      } else if (kind == PythonBlockKind::else_) {
        if (flow == Flow::next && !handled) flow = run_block(next.opens);
      } else if (kind == PythonBlockKind::finally_) {
        run_block(next.opens);
      } else {
        break;
      }
      ++at;
    }
    return flow;
  }

  bool catches(Range head) const {
    if (head.first >= head.last) return true;
    for (std::size_t i = head.first; i < head.last; ++i) {
      std::string_view word = tokens_.spelling(i);
      if (word == "TypeError" || word == "Exception" || word == "BaseException") return true;
    }
    return false;
  }

  Flow run_for(const PythonStatement& statement) {
    std::size_t in = find({statement.first, statement.last}, "in");
    if (in == statement.last) return Flow::next;
    Value over = evaluate({in + 1, statement.last});
    std::vector<Range> targets = split({statement.first + 1, in}, ",");
    if (over.kind != Value::mapping && over.kind != Value::list) {
      unread(statement.first, "a loop over what only a run tells");
      return Flow::next;
    }
    for (const auto& [key, value] : over.entries) {
      if (targets.size() == 2 && over.kind == Value::mapping) {
        assign_name(targets[0], key);
        assign_name(targets[1], value);
      } else if (targets.size() == 2 && key.kind == Value::list && key.entries.size() == 2) {
        assign_name(targets[0], key.entries[0].first);
        assign_name(targets[1], key.entries[1].first);
      } else {
        assign_name(targets[0], key);
      }
      Flow flow = run_block(statement.opens);
      if (flow == Flow::raised) return flow;
      if (flow == Flow::left) break;
    }
    return Flow::next;
  }

  void define(const PythonStatement& statement) {
    std::size_t name = statement.first + 1;
    if (tokens_.is(statement.first, "async")) return;
    functions_[std::string(tokens_.spelling(name))] = &statement;
  }

  Flow run_simple(Range range) {
    std::string_view word = tokens_.spelling(range.first);
    if (tokens_.tokens[range.first].kind == PythonTokenKind::name) {
      if (word == "import" || word == "from") return run_import(range);
      if (word == "return" || word == "break" || word == "continue") return Flow::left;
      if (word == "raise") return raise(range.first);
      if (word == "del") return run_del(range);
      if (word == "pass" || word == "global" || word == "nonlocal") return Flow::next;
    }
    std::size_t equal = find_assignment(range);
    if (equal == range.last) {
      raised_ = false;
      Value value = evaluate(range);
      if (raised_) return raise(range.first);
      return value.kind == Value::other && value.spelt == "exit" ? Flow::left : Flow::next;
    }
    return run_assignment(range, equal);
  }

  Flow run_import(Range range) {
    if (tokens_.is(range.first, "import")) {
      for (Range each : split({range.first + 1, range.last}, ",")) {
        std::size_t as = find(each, "as");
        std::string module = spelling({each.first, as});
        std::string bound =
            as < each.last ? spelling({as + 1, each.last}) : module.substr(0, module.find('.'));
        std::string value = as < each.last ? module : bound;
        names_[bound] = {Value::name, value, true, {}, 0};
      }
      return Flow::next;
    }
    std::size_t import = find(range, "import");
    std::string module = spelling({range.first + 1, import});
    for (Range each : split({std::min(import + 1, range.last), range.last}, ",")) {
      std::size_t first = each.first;
      while (first < each.last && tokens_.is(first, "(")) ++first;
      if (first >= each.last) continue;
      std::string name(tokens_.spelling(first));
      bool as = first + 2 < each.last && tokens_.is(first + 1, "as");
      names_[as ? std::string(tokens_.spelling(first + 2)) : name] = {
          Value::name, module + "." + name, {}, {}, 0};
    }
    return Flow::next;
  }

  Flow run_del(Range range) {
    for (Range each : split({range.first + 1, range.last}, ",")) {
      std::optional<Value> key = environ_key(each);
      if (!key || !key->is_text()) continue;
      record(key->spelt, {}, "del", each.first);
      if (!unsure_) out_.after.erase(key->spelt);
    }
    return Flow::next;
  }

  Flow run_assignment(Range range, std::size_t equal) {
    bool augmented = tokens_.spelling(equal).size() > 1;
    std::vector<Range> targets{{range.first, equal}};
    std::size_t begin = equal + 1;
    while (!augmented) {
      std::size_t next = find({begin, range.last}, "=");
      if (next == range.last) break;
      targets.push_back({begin, next});
      begin = next + 1;
    }
    raised_ = false;
    Value value = evaluate({begin, range.last});
    if (raised_) return raise(range.first);
    for (Range target : targets) {
      std::optional<Value> key = environ_key(target);
      if (key) {
        if (!key->is_text()) {
          unread(target.first, "a variable whose name only a run tells");
          continue;
        }
        if (augmented) value = joined(variable(key->spelt), value);
        if (!set(key->spelt, value, augmented ? "+=" : "=", target.first))
          return raise(target.first);
      } else if (augmented) {
        names_[spelling(target)] = joined(name_value(spelling(target)), value);
      } else {
        assign_name(target, value);
      }
    }
    return Flow::next;
  }

  void assign_name(Range target, const Value& value) {
    std::size_t colon = find(target, ":");
    spend(value.bytes);
    if (work_left_ == 0) return;
    names_[spelling({target.first, colon})] = unsure_ ? Value{} : value;
  }

  // `os.environ["X"] = value` as a fact, without doing it.
  std::optional<SiteAssignment> plain_assignment(Range range) {
    std::size_t equal = find_assignment(range);
    if (equal == range.last) return std::nullopt;
    std::optional<Value> key = environ_key({range.first, equal});
    if (!key || !key->is_text()) return std::nullopt;
    Value value = evaluate({equal + 1, range.last});
    SiteAssignment out;
    out.name = key->spelt;
    out.known = value.is_text();
    out.value = value.is_text() ? value.spelt : spelling({equal + 1, range.last});
    out.fault = fault_of(value);
    out.line = tokens_.tokens[range.first].line;
    return out;
  }

  Flow raise(std::size_t token) {
    if (unsure_) return Flow::left;
    out_.raised_line = tokens_.tokens[token].line;
    return Flow::raised;
  }

  // What stands in `body` from `at` on is never reached.
  void lose(const std::vector<std::size_t>& body, std::size_t at) {
    for (; at < body.size(); ++at) lose_statement(statements_.statements[body[at]]);
  }
  void lose_statement(const PythonStatement& statement) {
    if (statement.opens) {
      PythonBlockKind kind = kind_of(statement);
      // The handlers of a try that the exception is on its way to are not lost.
      if (kind == PythonBlockKind::except_ || kind == PythonBlockKind::finally_) return;
      lose(bodies_[statement.opens], 0);
      return;
    }
    std::optional<SiteAssignment> found = plain_assignment({statement.first, statement.last});
    if (!found) found = called_assignment({statement.first, statement.last});
    if (!found) return;
    found->how = "=";
    found->outcome = SiteOutcome::lost;
    out_.assignments.push_back(*found);
  }

  // os.environ.setdefault("X", value) as a fact.
  std::optional<SiteAssignment> called_assignment(Range range) {
    std::size_t open = find(range, "(");
    if (open == range.last || open < range.first + 2) return std::nullopt;
    if (!tokens_.is(open - 1, "setdefault") || !is_environ({range.first, open - 2}))
      return std::nullopt;
    std::vector<Range> arguments = split({open + 1, tokens_.tokens[open].match}, ",");
    if (arguments.size() != 2) return std::nullopt;
    Value key = evaluate(arguments[0]), value = evaluate(arguments[1]);
    if (!key.is_text()) return std::nullopt;
    SiteAssignment out;
    out.name = key.spelt;
    out.known = value.is_text();
    out.value = value.is_text() ? value.spelt : spelling(arguments[1]);
    out.line = tokens_.tokens[range.first].line;
    return out;
  }

  // --- the environment ---

  // The type of a value that is surely no str; empty otherwise.
  static std::string fault_of(const Value& value) {
    bool other =
        value.kind == Value::other || value.kind == Value::list || value.kind == Value::mapping;
    return other ? value.spelt : std::string();
  }

  SiteAssignment& record(const std::string& name, const Value& value, const char* how,
                         std::size_t token) {
    auto before = out_.after.find(name);
    spend(entry_bytes + value.bytes +
          (before == out_.after.end() ? 0 : before->second.value.size()));
    SiteAssignment& out = out_.assignments.emplace_back();
    out.name = name;
    out.known = value.is_text();
    out.value = value.spelt;
    out.how = how;
    out.line = tokens_.tokens[token].line;
    out.fault = fault_of(value);
    if (before != out_.after.end()) {
      out.earlier = before->second.value;
      out.from = before->second.from;
    }
    if (unsure_) out.outcome = SiteOutcome::maybe;
    return out;
  }

  // False: it raises.
  bool set(const std::string& name, const Value& value, const char* how, std::size_t token) {
    SiteAssignment& done = record(name, value, how, token);
    if (!done.fault.empty()) {
      if (!unsure_) done.outcome = SiteOutcome::raises;
      return false;
    }
    if (!value.is_text()) unread(token, fmt::format("the value of {}", name));
    std::string from = fmt::format("{}:{}", path_, done.line);
    bool sure = value.is_text() && !unsure_;
    if (unsure_ && out_.after.contains(name)) {
      out_.after[name].sure = false;
    } else {
      out_.after[name] = {value.is_text() ? value.spelt : std::string(), from, sure};
    }
    return true;
  }

  Value set_default(const std::string& name, const Value& value, std::size_t token) {
    auto known = out_.after.find(name);
    if (known == out_.after.end()) {
      raised_ = !set(name, value, "setdefault", token) && !unsure_;
      return value;
    }
    SiteAssignment& done = record(name, value, "setdefault", token);
    if (!unsure_) done.outcome = done.fault.empty() ? SiteOutcome::kept : SiteOutcome::spared;
    return variable(name);
  }

  Value variable(const std::string& name) const {
    auto known = out_.after.find(name);
    if (known == out_.after.end() || !known->second.sure) return {};
    return text_of_value(known->second.value);
  }
  std::optional<bool> has_variable(const std::string& name) const {
    auto known = out_.after.find(name);
    if (known == out_.after.end()) return false;
    return known->second.sure ? std::optional<bool>(true) : std::nullopt;
  }

  bool is_environ(Range range) const {
    std::string name = resolved(spelling(range));
    return name == "os.environ";
  }

  // The key of `os.environ[key]`.
  std::optional<Value> environ_key(Range range) {
    if (range.last < range.first + 4 || !tokens_.is(range.last - 1, "]")) return std::nullopt;
    for (std::size_t i = range.first; i < range.last; ++i) {
      if (!tokens_.is(i, "[") || tokens_.tokens[i].match != range.last - 1) continue;
      if (!is_environ({range.first, i})) return std::nullopt;
      return evaluate({i + 1, range.last - 1});
    }
    return std::nullopt;
  }

  // A dotted name with its first part replaced by what that was imported as.
  std::string resolved(const std::string& dotted) const {
    std::size_t dot = dotted.find('.');
    auto known = names_.find(dotted.substr(0, dot));
    if (known == names_.end() || known->second.kind != Value::name) return dotted;
    return known->second.spelt + (dot == std::string::npos ? "" : dotted.substr(dot));
  }

  // --- expressions ---

  void spend(std::size_t work) { work_left_ -= std::min(work, work_left_); }

  Value evaluate(Range range) {
    if (range.first >= range.last || depth_ > most_depth) return {};
    spend(range.last - range.first);
    if (work_left_ == 0) return {};
    ++depth_;
    Value out = ternary(range);
    --depth_;
    return out;
  }

  Value ternary(Range range) {
    std::size_t condition = find(range, "if");
    if (condition == range.last || condition == range.first) return logic(range);
    std::size_t otherwise = find({condition, range.last}, "else");
    if (otherwise == range.last) return {};
    std::optional<bool> truth = evaluate({condition + 1, otherwise}).truth;
    if (!truth) return {};
    return *truth ? evaluate({range.first, condition}) : evaluate({otherwise + 1, range.last});
  }

  Value logic(Range range) {
    std::vector<Range> parts = split(range, "or");
    if (parts.size() > 1) {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        Value value = evaluate(parts[i]);
        if (!value.truth) return {};
        if (*value.truth || i + 1 == parts.size()) return value;
      }
    }
    parts = split(range, "and");
    if (parts.size() > 1) {
      bool open = false;
      Value last;
      for (Range part : parts) {
        last = evaluate(part);
        if (last.truth == false) return last;
        open = open || !last.truth;
      }
      return open ? Value{} : last;
    }
    if (tokens_.is(range.first, "not")) {
      std::optional<bool> truth = evaluate({range.first + 1, range.last}).truth;
      return truth_of(truth ? std::optional<bool>(!*truth) : truth);
    }
    return comparison(range);
  }

  Value comparison(Range range) {
    std::size_t in = find(range, "in");
    if (in < range.last && in > range.first) {
      bool negated = tokens_.is(in - 1, "not");
      Value key = evaluate({range.first, negated ? in - 1 : in});
      if (!key.is_text() || !is_environ({in + 1, range.last})) return {};
      std::optional<bool> there = has_variable(key.spelt);
      return truth_of(there ? std::optional<bool>(*there != negated) : there);
    }
    for (const char* operation : {"==", "!=", "is"}) {
      std::size_t at = find(range, operation);
      if (at == range.last || at == range.first) continue;
      bool negated = tokens_.is(at, "!=") || tokens_.is(at + 1, "not");
      std::size_t right = tokens_.is(at + 1, "not") ? at + 2 : at + 1;
      Value a = evaluate({range.first, at}), b = evaluate({right, range.last});
      bool known = a.kind != Value::unknown && b.kind != Value::unknown;
      if (!known) return {};
      bool same = a.kind == b.kind && a.spelt == b.spelt && a.truth == b.truth;
      return truth_of(same != negated);
    }
    return sum(range);
  }

  Value sum(Range range) {
    std::vector<Range> parts = split(range, "+");
    if (parts.size() < 2) return primary(range);
    Value out = evaluate(parts[0]);
    for (std::size_t i = 1; i < parts.size(); ++i) out = joined(out, evaluate(parts[i]));
    return out;
  }

  static Value joined(const Value& a, const Value& b) {
    return a.is_text() && b.is_text() ? text_of_value(a.spelt + b.spelt) : Value{};
  }

  Value primary(Range range) {
    const PythonToken& token = tokens_.tokens[range.first];
    std::size_t at = range.first;
    Value value;
    if (token.kind == PythonTokenKind::string) {
      value = strings(at, range.last);
    } else if (token.kind == PythonTokenKind::number) {
      bool plain = range.last == range.first + 1;
      return plain ? number(tokens_.spelling(range.first)) : Value{};
    } else if (tokens_.is(at, "...")) {
      return range.last == range.first + 1 ? other_value("ellipsis", true) : Value{};
    } else if (token.match != 0) {
      value = bracketed(at);
      at = token.match + 1;
    } else if (token.kind == PythonTokenKind::name) {
      return named(range);
    } else {
      return {};
    }
    return trailers(value, at, range.last);
  }

  static Value number(std::string_view spelt) {
    bool fraction =
        spelt.find_first_of(".eEjJ") != std::string_view::npos && !spelt.starts_with("0x");
    return other_value(fraction ? "float" : "int",
                       spelt.find_first_not_of("0._xob") != std::string_view::npos);
  }

  Value strings(std::size_t& at, std::size_t last) {
    std::string out;
    bool known = true;
    for (; at < last && tokens_.tokens[at].kind == PythonTokenKind::string; ++at) {
      PythonLiteral literal = read_python_literal(tokens_.spelling(at));
      if (literal.bytes) return ++at, other_value("bytes");
      if (literal.formatted) {
        std::optional<std::string> text = formatted(literal);
        known = known && text;
        if (text) out += *text;
      } else {
        out += unescaped(literal.body, literal.raw);
      }
    }
    return known ? text_of_value(out) : Value{};
  }

  // An f-string whose fields are plain names or os.environ["X"].
  std::optional<std::string> formatted(const PythonLiteral& literal) {
    std::string out;
    std::string_view body = literal.body;
    for (std::size_t i = 0; i < body.size(); ++i) {
      bool twice = i + 1 < body.size() && body[i + 1] == body[i];
      if ((body[i] == '{' || body[i] == '}') && twice) {
        out += body[i++];
      } else if (body[i] == '{') {
        std::size_t end = body.find('}', i);
        if (end == std::string_view::npos) return std::nullopt;
        std::string name(body.substr(i + 1, end - i - 1));
        Value value = name_value(name);
        if (!value.is_text() || out.size() > most_value) return std::nullopt;
        out += value.spelt;
        i = end;
      } else {
        out += body[i];
      }
    }
    return literal.raw ? out : unescaped(out, false);
  }

  Value bracketed(std::size_t open) {
    Range inside{open + 1, tokens_.tokens[open].match};
    if (tokens_.is(open, "(")) {
      std::vector<Range> parts = split(inside, ",");
      if (parts.size() == 1) return evaluate(inside);
      Value tuple = sequence(parts);
      if (tuple.kind == Value::list) tuple.spelt = "tuple";
      return tuple;
    }
    std::vector<Range> parts = split(inside, ",");
    if (tokens_.is(open, "[")) return sequence(parts);
    Value out{Value::mapping, "dict", {}, {}, 0};
    for (Range part : parts) {
      if (part.first >= part.last) continue;
      std::size_t colon = find(part, ":");
      if (colon == part.last) return other_value("set");
      Value key = evaluate({part.first, colon}), value = evaluate({colon + 1, part.last});
      if (!add_entry(out, {std::move(key), std::move(value)})) return {};
    }
    out.truth = !out.entries.empty();
    return out;
  }

  Value sequence(const std::vector<Range>& parts) {
    Value out{Value::list, "list", {}, {}, 0};
    for (Range part : parts) {
      if (part.first < part.last && !add_entry(out, {evaluate(part), Value{}})) return {};
    }
    out.truth = !out.entries.empty();
    return out;
  }

  Value name_value(const std::string& name) const {
    auto known = names_.find(name);
    if (known != names_.end()) return known->second;
    if (name == "__file__") return text_of_value(path_);
    return {};
  }

  Value named(Range range) {
    std::string_view word = tokens_.spelling(range.first);
    std::size_t at = range.first + 1;
    if (word == "None") return at == range.last ? other_value("NoneType", false) : Value{};
    if (word == "True" || word == "False") {
      return at == range.last ? other_value("bool", word == "True") : Value{};
    }
    if (word == "Ellipsis" && at == range.last) return other_value("ellipsis", true);
    if (word == "lambda") return other_value("function", true);
    std::string dotted(word);
    while (at + 1 < range.last && tokens_.is(at, ".") &&
           tokens_.tokens[at + 1].kind == PythonTokenKind::name) {
      dotted += "." + std::string(tokens_.spelling(at + 1));
      at += 2;
    }
    if (at == range.last) return plain_name(dotted);
    if (tokens_.is(at, "[") && resolved(dotted) == "os.environ") {
      Value key = evaluate({at + 1, tokens_.tokens[at].match});
      return trailers(key.is_text() ? variable(key.spelt) : Value{}, tokens_.tokens[at].match + 1,
                      range.last);
    }
    if (!tokens_.is(at, "(")) return {};
    Value value = call(dotted, at);
    return trailers(value, tokens_.tokens[at].match + 1, range.last);
  }

  Value plain_name(const std::string& dotted) const {
    Value known = name_value(dotted);
    if (known.kind != Value::unknown && known.kind != Value::name) return known;
    std::string full = resolved(dotted);
    if (full == "os.pathsep") return text_of_value(":");
    if (full == "os.sep") return text_of_value("/");
    return known;
  }

  // What is done to a value that is not a name: `"...".join(...)`, `{...}.items()`.
  Value trailers(Value value, std::size_t at, std::size_t last) {
    if (at >= last) return value;
    if (!tokens_.is(at, ".") || at + 2 >= last || !tokens_.is(at + 2, "(")) return {};
    std::string_view method = tokens_.spelling(at + 1);
    std::size_t open = at + 2;
    if (tokens_.tokens[open].match + 1 != last) return {};
    return call_method(value, method, split({open + 1, tokens_.tokens[open].match}, ","));
  }

  Value call_method(const Value& value, std::string_view method,
                    const std::vector<Range>& arguments) {
    if (value.kind == Value::mapping && method == "items") return value;
    if (!value.is_text()) return {};
    if (method == "join" && arguments.size() == 1) {
      Value list = evaluate(arguments[0]);
      if (list.kind != Value::list) return {};
      std::string out;
      for (std::size_t i = 0; i < list.entries.size(); ++i) {
        if (!list.entries[i].first.is_text() || out.size() > most_value) return {};
        out += (i ? value.spelt : "") + list.entries[i].first.spelt;
      }
      return text_of_value(out);
    }
    if (method == "startswith" && arguments.size() == 1) {
      Value start = evaluate(arguments[0]);
      return start.is_text() ? truth_of(value.spelt.starts_with(start.spelt)) : Value{};
    }
    return {};
  }

  Value call(const std::string& dotted, std::size_t open) {
    std::vector<Range> ranges = split({open + 1, tokens_.tokens[open].match}, ",");
    if (ranges.size() == 1 && ranges[0].first >= ranges[0].last) ranges.clear();
    auto own = functions_.find(dotted);
    if (own != functions_.end()) return call_function(*own->second, ranges);
    std::string name = resolved(dotted);
    std::vector<Value> values;
    std::vector<std::pair<std::string, Value>> keywords;
    for (Range each : ranges) {
      std::size_t equal = find(each, "=");
      bool keyword = equal == each.first + 1 && equal < each.last;
      if (keyword) {
        keywords.emplace_back(std::string(tokens_.spelling(each.first)),
                              evaluate({equal + 1, each.last}));
      } else {
        values.push_back(evaluate(each));
      }
    }
    if (name.starts_with("os.environ."))
      return call_environ(name.substr(11), values, keywords, open);
    return call_known(name, values, open);
  }

  Value call_environ(const std::string& method, const std::vector<Value>& values,
                     const std::vector<std::pair<std::string, Value>>& keywords,
                     std::size_t token) {
    bool keyed = !values.empty() && values[0].is_text();
    if (method == "get" && keyed) return get(values);
    if (method == "setdefault" && keyed && values.size() == 2) {
      return set_default(values[0].spelt, values[1], token);
    }
    if (method == "pop" && keyed) {
      Value out = get(values);
      record(values[0].spelt, {}, "del", token);
      if (!unsure_) out_.after.erase(values[0].spelt);
      return out;
    }
    if (method == "update") {
      if (!values.empty() && values[0].kind != Value::mapping)
        unread(token, "what os.environ.update() is given");
      std::vector<std::pair<std::string, Value>> all;
      for (const auto& [key, value] : values.empty() ? std::vector<Entry>{} : values[0].entries) {
        if (key.is_text()) all.emplace_back(key.spelt, value);
      }
      all.insert(all.end(), keywords.begin(), keywords.end());
      for (const auto& [key, value] : all) {
        if (!set(key, value, "update", token)) {
          raised_ = !unsure_;
          return {};
        }
      }
      return other_value("NoneType", false);
    }
    if (method != "copy" && method != "items" && method != "keys" && method != "values") {
      unread(token, "os.environ." + method + "()");
    }
    return {};
  }

  Value get(const std::vector<Value>& values) const {
    std::optional<bool> there = has_variable(values[0].spelt);
    if (!there) return {};
    if (*there) return variable(values[0].spelt);
    return values.size() > 1 ? values[1] : other_value("NoneType", false);
  }

  Value call_known(const std::string& name, const std::vector<Value>& values, std::size_t token) {
    bool texts = !values.empty() && std::all_of(values.begin(), values.end(),
                                                [](const Value& each) { return each.is_text(); });
    if (name == "os.getenv" && !values.empty() && values[0].is_text()) return get(values);
    if (name == "str" && values.size() == 1) return values[0].is_text() ? values[0] : Value{};
    if (name == "os.putenv" && texts && values.size() == 2) {
      SiteAssignment& done = record(values[0].spelt, values[1], "putenv", token);
      done.outcome = unsure_ ? SiteOutcome::maybe : SiteOutcome::set;
      return other_value("NoneType", false);
    }
    if (name == "os.path.join" && texts) {
      std::string out;
      for (const Value& each : values) {
        if (out.size() > most_value) return {};
        if (each.spelt.starts_with('/')) out.clear();
        if (!out.empty() && !out.ends_with('/')) out += '/';
        out += each.spelt;
      }
      return text_of_value(out);
    }
    if (name == "os.path.dirname" && texts) return text_of_value(parent_of(values[0].spelt));
    bool asks = name == "os.path.exists" || name == "os.path.isdir" || name == "os.path.isfile";
    if (asks && texts) return truth_of(exists_(values[0].spelt));
    if (name == "exit" || name == "sys.exit" || name == "quit") return other_value("exit");
    // What is called by name and not known may do anything, to the environment too.
    static const std::set<std::string> harmless = {"print",
                                                   "len",
                                                   "isinstance",
                                                   "hasattr",
                                                   "getattr",
                                                   "int",
                                                   "open",
                                                   "sys.stderr.write",
                                                   "sys.path.insert",
                                                   "sys.path.append",
                                                   "warnings.filterwarnings",
                                                   "warnings.simplefilter"};
    bool known = harmless.contains(name) || name.starts_with("os.path.") || name.starts_with("re.");
    if (!known) unread(token, fmt::format("what {}() does", name));
    return {};
  }

  Value call_function(const PythonStatement& function, const std::vector<Range>& arguments) {
    std::size_t open = function.first + 2;
    std::vector<std::pair<std::string, Value>> bound;
    if (tokens_.is(open, "(")) {
      std::vector<Range> parameters = split({open + 1, tokens_.tokens[open].match}, ",");
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (parameters[i].first >= parameters[i].last) continue;
        std::size_t equal = find(parameters[i], "=");
        Value value =
            equal < parameters[i].last ? evaluate({equal + 1, parameters[i].last}) : Value{};
        if (i < arguments.size()) value = evaluate(arguments[i]);
        bound.emplace_back(std::string(tokens_.spelling(parameters[i].first)), value);
      }
    }
    for (const auto& [name, value] : names_) spend(entry_bytes + value.bytes);
    if (work_left_ == 0) return {};
    std::map<std::string, Value> saved = names_;
    for (auto& [name, value] : bound) names_[name] = value;
    raised_ = run_block(function.opens) == Flow::raised;
    names_ = std::move(saved);
    return {};
  }

  // --- tokens ---

  // The first `spelt` outside of brackets; `last` for none.
  std::size_t find(Range range, std::string_view spelt) const {
    for (std::size_t i = range.first; i < range.last; ++i) {
      if (tokens_.is(i, spelt)) return i;
      if (tokens_.tokens[i].match != 0) i = tokens_.tokens[i].match;
    }
    return range.last;
  }

  std::size_t find_assignment(Range range) const {
    return std::min(find(range, "="), find(range, "+="));
  }

  std::vector<Range> split(Range range, std::string_view at) const {
    std::vector<Range> parts;
    while (true) {
      std::size_t end = find(range, at);
      parts.push_back({range.first, end});
      if (end >= range.last) return parts;
      range.first = end + 1;
    }
  }

  std::string spelling(Range range) const {
    std::string out;
    for (std::size_t i = range.first; i < range.last; ++i) out += tokens_.spelling(i);
    return out;
  }

  void unread(std::size_t token, const std::string& what) {
    std::string line = fmt::format("line {}: {}", tokens_.tokens[token].line, what);
    bool known = std::find(out_.unread.begin(), out_.unread.end(), line) != out_.unread.end();
    if (!known && out_.unread.size() < most_unread) out_.unread.push_back(line);
  }

  const PythonTokens& tokens_;
  const PythonStatements& statements_;
  const std::string& path_;
  const std::function<bool(const std::string&)>& exists_;
  std::vector<std::vector<std::size_t>> bodies_;  // statements of each block
  std::map<std::string, Value> names_;
  std::map<std::string, const PythonStatement*> functions_;
  SiteRun out_;
  int unsure_ = 0;  // branches that may not run
  int depth_ = 0;
  bool raised_ = false;  // by the expression evaluated last
  std::size_t steps_ = 0;
  std::size_t work_left_ = 0;
};

bool is_keyword(std::string_view word) {
  static const std::set<std::string_view> words = {
      "and",    "as",   "assert", "async",  "await",  "break",   "class",    "continue",
      "def",    "del",  "elif",   "else",   "except", "finally", "for",      "from",
      "global", "if",   "import", "in",     "is",     "lambda",  "nonlocal", "not",
      "or",     "pass", "raise",  "return", "try",    "while",   "with",     "yield",
      "match",  "case", "type",   "print",  "exec"};
  return words.contains(word);
}

}  // namespace

SiteRun run_site_script(std::string_view text, const Variables& before, const std::string& path,
                        const std::function<bool(const std::string&)>& exists) {
  PythonTokens tokens = read_python_tokens(text);
  PythonStatements statements = read_python_statements(tokens);
  return Runner(tokens, statements, before, path, exists).run();
}

std::pair<std::string, unsigned> site_script_fault(std::string_view text) {
  PythonTokens tokens = read_python_tokens(text);
  for (std::size_t i = 0; i + 1 < tokens.tokens.size(); ++i) {
    const PythonToken& token = tokens.tokens[i];
    const PythonToken& next = tokens.tokens[i + 1];
    std::string_view word = tokens.spelling(i);
    bool opens =
        token.kind == PythonTokenKind::symbol && (word == "(" || word == "[" || word == "{");
    if (opens && token.match == 0) return {"a bracket that nothing closes", token.line};
    // "export X=1", "set -e": no statement of Python has two names side by side.
    bool names = token.kind == PythonTokenKind::name && next.kind == PythonTokenKind::name;
    if (names && !is_keyword(word) && !is_keyword(tokens.spelling(i + 1))) {
      return {fmt::format("'{} {}' is no Python", word, tokens.spelling(i + 1)), token.line};
    }
  }
  if (!tokens.incomplete) return {};
  return {"brackets, strings or indentation that do not fit", tokens.tokens.back().line};
}

}  // namespace wheelvet
