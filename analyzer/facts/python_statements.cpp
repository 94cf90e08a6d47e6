#include "facts/python_statements.h"

#include <optional>
#include <utility>

namespace wheelvet {
namespace {

using Kind = PythonTokenKind;

constexpr std::pair<std::string_view, PythonBlockKind> kHeads[] = {
    {"if", PythonBlockKind::if_},         {"elif", PythonBlockKind::elif_},
    {"else", PythonBlockKind::else_},     {"try", PythonBlockKind::try_},
    {"except", PythonBlockKind::except_}, {"finally", PythonBlockKind::finally_},
    {"with", PythonBlockKind::with_},     {"for", PythonBlockKind::for_},
    {"while", PythonBlockKind::while_},   {"def", PythonBlockKind::function},
    {"class", PythonBlockKind::class_},   {"match", PythonBlockKind::match_},
    {"case", PythonBlockKind::case_},
};

class Builder {
 public:
  explicit Builder(const PythonTokens& tokens) : tokens_(tokens) { add_block({}); }

  PythonStatements read() {
    open_.push_back(0);
    std::size_t i = 0;
    while (kind(i) != Kind::end) {
      if (kind(i) == Kind::indent) {
        open_.push_back(pending_ ? *pending_ : child(PythonBlockKind::other));
        pending_.reset();
        ++i;
      } else if (kind(i) == Kind::dedent) {
        if (open_.size() > 1) open_.pop_back();
        ++i;
      } else if (kind(i) == Kind::newline) {
        ++i;
      } else {
        pending_.reset();
        i = read_line(i);
      }
    }
    return std::move(out_);
  }

 private:
  Kind kind(std::size_t i) const { return tokens_.tokens[i].kind; }

  std::uint32_t add_block(PythonBlock block) {
    out_.blocks.push_back(block);
    last_child_.push_back(0);
    return static_cast<std::uint32_t>(out_.blocks.size() - 1);
  }

  std::uint32_t child(PythonBlockKind kind) {
    std::uint32_t parent = open_.back();
    std::uint32_t previous = last_child_[parent];
    PythonBlock block{kind, parent, 0, false};
    if (kind == PythonBlockKind::elif_ || kind == PythonBlockKind::else_ ||
        kind == PythonBlockKind::except_ || kind == PythonBlockKind::finally_) {
      block.previous = previous;
    }
    if (kind == PythonBlockKind::except_ && out_.blocks[previous].kind == PythonBlockKind::try_) {
      out_.blocks[previous].swallows = true;
    }
    std::uint32_t made = add_block(block);
    last_child_[parent] = made;
    return made;
  }

  void add_statement(std::size_t first, std::size_t last, std::uint32_t block,
                     std::uint32_t opens) {
    if (first == last && opens == 0) return;
    out_.statements.push_back(
        {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last), block, opens});
  }

  /// Reads one logical line; the index after it.
  std::size_t read_line(std::size_t first) {
    std::size_t last = first;
    while (kind(last) != Kind::newline && kind(last) != Kind::end) ++last;
    std::optional<PythonBlockKind> head = head_at(first);
    std::size_t colon = head ? colon_of(first, last) : last;
    if (colon == last) {
      if (!head) last_child_[open_.back()] = 0;  // an else belongs to what stands right before it
      add_simple(first, last, open_.back());
      return last;
    }
    std::uint32_t block = child(*head);
    add_statement(first, colon, open_.back(), block);
    if (colon + 1 == last) {
      pending_ = block;
    } else {
      add_simple(colon + 1, last, block);
    }
    return last;
  }

  std::optional<PythonBlockKind> head_at(std::size_t first) const {
    if (tokens_.is(first, "async")) ++first;
    if (kind(first) != Kind::name) return std::nullopt;
    std::string_view word = tokens_.spelling(first);
    for (auto [spelt, kind] : kHeads) {
      if (word != spelt) continue;
      // match and case are names as well: `match = 1`, `match.group(1)`, `match: str = x`.
      bool soft = kind == PythonBlockKind::match_ || kind == PythonBlockKind::case_;
      if (soft && !heads_softly(first)) return std::nullopt;
      return kind;
    }
    return std::nullopt;
  }

  bool heads_softly(std::size_t first) const {
    if (tokens_.is(first, "case")) {
      return out_.blocks[open_.back()].kind == PythonBlockKind::match_;
    }
    std::size_t last = first;
    while (kind(last) != Kind::newline && kind(last) != Kind::end) ++last;
    return tokens_.is(last - 1, ":") && kind(last) == Kind::newline &&
           kind(last + 1) == Kind::indent && last - 1 > first + 1;
  }

  /// The colon that ends a head: outside of brackets and not a lambda's; `last` without one.
  std::size_t colon_of(std::size_t first, std::size_t last) const {
    std::size_t lambdas = 0;
    for (std::size_t i = first; i < last; ++i) {
      if (tokens_.tokens[i].match != 0) {
        i = tokens_.tokens[i].match;
      } else if (tokens_.is(i, "lambda")) {
        ++lambdas;
      } else if (tokens_.is(i, ":")) {
        if (lambdas == 0) return i;
        --lambdas;
      }
    }
    return last;
  }

  void add_simple(std::size_t first, std::size_t last, std::uint32_t block) {
    for (std::size_t i = first; i < last; ++i) {
      if (tokens_.tokens[i].match != 0) {
        i = tokens_.tokens[i].match;
      } else if (tokens_.is(i, ";")) {
        add_statement(first, i, block, 0);
        first = i + 1;
      }
    }
    add_statement(first, last, block, 0);
  }

  const PythonTokens& tokens_;
  PythonStatements out_;
  std::vector<std::uint32_t> open_;        // the blocks around the next line
  std::vector<std::uint32_t> last_child_;  // of each block, the compound statement just read in it
  std::optional<std::uint32_t> pending_;   // whose body starts at the next indent
};

}  // namespace

PythonStatements read_python_statements(const PythonTokens& tokens) {
  return Builder(tokens).read();
}

}  // namespace wheelvet
