#include "facts/python_tokens.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace wheelvet {
namespace {

// A file of 8 MiB that real people wrote has about one million tokens; 20 bytes each are kept.
constexpr std::size_t kMaxTokens = 1'000'000;
constexpr std::size_t kMaxText = 8 << 20;
// CPython's own limits (MAXINDENT, MAXLEVEL in its tokenizer).
constexpr std::size_t kMaxIndents = 100;
constexpr std::size_t kMaxBrackets = 200;
constexpr std::size_t kMaxFieldNesting = 200;
// An f-string that has no end is searched for to the end of the file; so that this stays linear,
// after a few of them fields are no longer looked into.
constexpr int kMaxLostFormatted = 8;
constexpr std::size_t kNoEnd = std::string_view::npos;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_line_end(char c) { return c == '\n' || c == '\r'; }
bool is_quote(char c) { return c == '"' || c == '\''; }

bool is_string_prefix(std::string_view word) {
  if (word.size() > 2) return false;
  return word.find_first_not_of("rRbBuUfFtT") == std::string_view::npos;
}
bool is_formatted_prefix(std::string_view word) {
  return word.find_first_of("fFtT") != std::string_view::npos;
}

struct Quotes {
  char quote = 0;
  bool triple = false;
  std::size_t size() const { return triple ? 3 : 1; }
};

bool same_three(std::string_view text, std::size_t at, char c) {
  return at + 2 < text.size() && text[at] == c && text[at + 1] == c && text[at + 2] == c;
}

Quotes quotes_at(std::string_view text, std::size_t at) {
  char quote = text[at];
  return {quote, same_three(text, at, quote)};
}

bool closes(std::string_view text, std::size_t at, Quotes quotes) {
  if (text[at] != quotes.quote) return false;
  return !quotes.triple || same_three(text, at, quotes.quote);
}

/// The offset after the closing quotes of a string whose contents start at `at`.
std::size_t end_of_plain(std::string_view text, std::size_t at, Quotes quotes) {
  while (at < text.size()) {
    if (text[at] == '\\') {
      // A backslash and CR LF join lines as one.
      at += text.substr(at + 1, 2) == "\r\n" ? 3 : 2;
    } else if (is_line_end(text[at]) && !quotes.triple) {
      return kNoEnd;
    } else if (closes(text, at, quotes)) {
      return at + quotes.size();
    } else {
      ++at;
    }
  }
  return kNoEnd;
}

/// The same for an f-string. Since Python 3.12 (PEP 701) a field may hold any string, also one in
/// the outer quotes; what was valid before reads the same by that rule.
class FormattedScan {
 public:
  FormattedScan(std::string_view text, std::size_t at, Quotes quotes) : text_(text), at_(at) {
    push({Frame::literal, quotes, 0});
  }

  std::size_t end() {
    while (at_ < text_.size() && size_ > 0 && !lost_) {
      switch (frames_[size_ - 1].kind) {
        case Frame::literal:
          in_literal();
          break;
        case Frame::field:
          in_field();
          break;
        case Frame::spec:
          in_spec();
          break;
      }
    }
    return size_ == 0 ? at_ : kNoEnd;
  }

 private:
  struct Frame {
    enum Kind { literal, field, spec } kind;
    Quotes quotes;
    int depth;
  };

  void push(Frame frame) {
    if (size_ == frames_.size()) {
      lost_ = true;
    } else {
      frames_[size_++] = frame;
    }
  }

  void in_literal() {
    Quotes quotes = frames_[size_ - 1].quotes;
    char c = text_[at_];
    char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (c == '\\') {
      if (next == 'N' && text_.substr(at_ + 2, 1) == "{") {
        std::size_t close = text_.substr(0, at_ + 100).find('}', at_);  // longest name: 88
        at_ = close == kNoEnd ? at_ + 2 : close + 1;
      } else {
        at_ += next == '{' || next == '}' ? 1 : text_.substr(at_ + 1, 2) == "\r\n" ? 3 : 2;
      }
    } else if (is_line_end(c) && !quotes.triple) {
      lost_ = true;
    } else if (closes(text_, at_, quotes)) {
      at_ += quotes.size();
      --size_;
    } else if (c == '{' && next == '{') {
      at_ += 2;
    } else if (c == '{') {
      push({Frame::field, quotes, 0});
      ++at_;
    } else {
      ++at_;
    }
  }

  void in_field() {
    Frame& field = frames_[size_ - 1];
    char c = text_[at_];
    if (is_quote(c)) return nested_string();
    if (c == '(' || c == '[' || c == '{') ++field.depth;
    if (c == '}' && field.depth == 0) {
      --size_;
    } else if (c == ')' || c == ']' || c == '}') {
      field.depth = std::max(0, field.depth - 1);
    } else if (c == ':' && field.depth == 0) {
      push({Frame::spec, field.quotes, 0});
    }
    ++at_;
  }

  void in_spec() {
    char c = text_[at_];
    Quotes quotes = frames_[size_ - 1].quotes;
    if (c == '{') {
      push({Frame::field, quotes, 0});
    } else if (c == '}') {
      size_ -= 2;  // the specification and its field
    } else if (closes(text_, at_, quotes) || (is_line_end(c) && !quotes.triple)) {
      lost_ = true;
    }
    ++at_;
  }

  void nested_string() {
    std::size_t word = at_;
    while (word > 0 && at_ - word < 3 && is_letter(text_[word - 1])) --word;
    std::string_view prefix = text_.substr(word, at_ - word);
    Quotes quotes = quotes_at(text_, at_);
    at_ += quotes.size();
    if (is_string_prefix(prefix) && is_formatted_prefix(prefix)) {
      push({Frame::literal, quotes, 0});
      return;
    }
    std::size_t end = end_of_plain(text_, at_, quotes);
    lost_ = end == kNoEnd;
    if (!lost_) at_ = end;
  }

  std::string_view text_;
  std::size_t at_;
  std::array<Frame, kMaxFieldNesting> frames_{};
  std::size_t size_ = 0;
  bool lost_ = false;
};

constexpr std::string_view kLongSymbols[] = {
    "**=", "//=", ">>=", "<<=", "...", "->", ":=", "==", "!=", "<=", ">=", "+=",
    "-=",  "*=",  "/=",  "%=",  "&=",  "|=", "^=", "@=", "**", "//", "<<", ">>"};

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) {
    out_.text = text.substr(0, kMaxText);
    out_.incomplete = text.size() > kMaxText;
    if (out_.text.starts_with("\xef\xbb\xbf")) at_ = 3;
  }

  PythonTokens read() {
    while (at_ < text().size() && out_.tokens.size() < kMaxTokens) {
      if (line_start_ && brackets_.empty()) {
        read_indentation();
      } else {
        read_token();
      }
    }
    if (at_ < text().size() || !brackets_.empty()) out_.incomplete = true;
    end_line();
    while (indents_.size() > 1) {
      indents_.pop_back();
      add(PythonTokenKind::dedent, at_, at_);
    }
    add(PythonTokenKind::end, at_, at_);
    return std::move(out_);
  }

 private:
  std::string_view text() const { return out_.text; }

  void add(PythonTokenKind kind, std::size_t begin, std::size_t end) {
    out_.tokens.push_back(
        {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), line_, 0, kind});
  }

  void end_line() {
    if (!out_.tokens.empty()) {
      PythonTokenKind last = out_.tokens.back().kind;
      bool open = last == PythonTokenKind::name || last == PythonTokenKind::number ||
                  last == PythonTokenKind::string || last == PythonTokenKind::symbol;
      if (open) add(PythonTokenKind::newline, at_, at_);
    }
    line_start_ = true;
  }

  /// Steps over one line end, CR LF being one.
  void step_line() {
    at_ += text().substr(at_, 2) == "\r\n" ? 2 : 1;
    ++line_;
  }

  bool at_join() const {
    return text()[at_] == '\\' && at_ + 1 < text().size() && is_line_end(text()[at_ + 1]);
  }

  // Tabs go to the next multiple of 8, a form feed starts counting anew.
  void read_indentation() {
    std::size_t column = 0;
    for (; at_ < text().size(); ++at_) {
      char c = text()[at_];
      if (c == ' ') {
        ++column;
      } else if (c == '\t') {
        column = (column / 8 + 1) * 8;
      } else if (c == '\f') {
        column = 0;
      } else {
        break;
      }
    }
    if (at_ == text().size()) return;
    if (text()[at_] == '#') skip_comment();
    if (at_ == text().size()) return;
    if (is_line_end(text()[at_])) return step_line();  // an empty line has no indentation
    line_start_ = false;
    indent_to(column);
  }

  void indent_to(std::size_t column) {
    if (column > indents_.back()) {
      if (indents_.size() == kMaxIndents) {
        out_.incomplete = true;
        return;
      }
      indents_.push_back(column);
      add(PythonTokenKind::indent, at_, at_);
    }
    while (column < indents_.back()) {
      indents_.pop_back();
      add(PythonTokenKind::dedent, at_, at_);
    }
    if (column != indents_.back()) out_.incomplete = true;
  }

  void skip_comment() {
    while (at_ < text().size() && !is_line_end(text()[at_])) ++at_;
  }

  void read_token() {
    char c = text()[at_];
    if (is_line_end(c)) {
      if (brackets_.empty()) end_line();
      step_line();
    } else if (c == ' ' || c == '\t' || c == '\f') {
      ++at_;
    } else if (c == '#') {
      skip_comment();
    } else if (at_join()) {
      ++at_;
      step_line();
    } else if (is_letter(c)) {
      read_word();
    } else if (is_digit(c) || (c == '.' && at_ + 1 < text().size() && is_digit(text()[at_ + 1]))) {
      read_number();
    } else if (is_quote(c)) {
      read_string(at_, false);
    } else {
      read_symbol();
    }
  }

  void read_word() {
    std::size_t begin = at_;
    while (at_ < text().size() && (is_letter(text()[at_]) || is_digit(text()[at_]))) ++at_;
    std::string_view word = text().substr(begin, at_ - begin);
    if (at_ < text().size() && is_quote(text()[at_]) && is_string_prefix(word)) {
      read_string(begin, is_formatted_prefix(word));
    } else {
      add(PythonTokenKind::name, begin, at_);
    }
  }

  void read_number() {
    std::size_t begin = at_;
    while (at_ < text().size()) {
      char c = text()[at_];
      bool exponent = (c == '+' || c == '-') &&
                      (text()[at_ - 1] == 'e' || text()[at_ - 1] == 'E') &&
                      !text().substr(begin, 2).starts_with("0x");
      if (!is_letter(c) && !is_digit(c) && c != '.' && !(exponent && at_ > begin)) break;
      ++at_;
    }
    add(PythonTokenKind::number, begin, at_);
  }

  void read_string(std::size_t begin, bool formatted) {
    Quotes quotes = quotes_at(text(), at_);
    std::size_t contents = at_ + quotes.size();
    std::size_t end = kNoEnd;
    if (formatted && lost_formatted_ < kMaxLostFormatted) {
      end = FormattedScan(text(), contents, quotes).end();
      if (end == kNoEnd) ++lost_formatted_;
    }
    if (end == kNoEnd) end = end_of_plain(text(), contents, quotes);
    if (end == kNoEnd) {
      out_.incomplete = true;
      end = quotes.triple ? text().size() : text().find_first_of("\r\n", contents);
    }
    at_ = std::min(end, text().size());
    add(PythonTokenKind::string, begin, at_);
    count_lines(begin);
  }

  void count_lines(std::size_t begin) {
    for (std::size_t i = begin; i < at_; ++i) {
      char c = text()[i];
      if (c == '\n' || (c == '\r' && text().substr(i + 1, 1) != "\n")) ++line_;
    }
  }

  void read_symbol() {
    std::string_view rest = text().substr(at_, 3);
    std::size_t size = 1;
    bool may_be_long = rest.size() > 1 && std::string_view("=*/<>.").find(rest[1]) != kNoEnd;
    for (std::string_view symbol : kLongSymbols) {
      if (may_be_long && rest.starts_with(symbol)) {
        size = symbol.size();
        break;
      }
    }
    char c = rest[0];
    if (std::string_view("()[]{}:;,.=+-*/%&|^~<>@!`").find(c) == kNoEnd) {
      out_.incomplete = true;  // NUL, $, ? and the like occur in no Python source
      ++at_;
      return;
    }
    add(PythonTokenKind::symbol, at_, at_ + size);
    at_ += size;
    if (c == '(' || c == '[' || c == '{') open_bracket();
    if (c == ')' || c == ']' || c == '}') close_bracket();
  }

  void open_bracket() {
    if (brackets_.size() == kMaxBrackets) {
      out_.incomplete = true;
      brackets_.clear();
    }
    brackets_.push_back(out_.tokens.size() - 1);
  }

  void close_bracket() {
    if (brackets_.empty()) {
      out_.incomplete = true;
      return;
    }
    out_.tokens[brackets_.back()].match = static_cast<std::uint32_t>(out_.tokens.size() - 1);
    brackets_.pop_back();
  }

  PythonTokens out_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  bool line_start_ = true;
  int lost_formatted_ = 0;
  std::vector<std::size_t> indents_{0};
  std::vector<std::size_t> brackets_;
};

/// The value of up to `most` digits of `base` at `at`, stepping over them.
unsigned number_at(std::string_view body, std::size_t& at, std::size_t most, int base) {
  std::string_view digits = body.substr(at, most);
  unsigned value = 0;
  auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value, base).ptr;
  at += static_cast<std::size_t>(end - digits.data());
  return value;
}

void append_escape(std::string_view body, std::size_t& at, std::string& out) {
  char c = body[at++];
  constexpr std::string_view kNames = "abfnrtv\\'\"";
  constexpr std::string_view kBytes = "\a\b\f\n\r\t\v\\'\"";
  if (std::size_t i = kNames.find(c); i != std::string_view::npos) {
    out += kBytes[i];
  } else if (c >= '0' && c <= '7') {
    --at;
    out += static_cast<char>(number_at(body, at, 3, 8));
  } else if (c == 'x') {
    out += static_cast<char>(number_at(body, at, 2, 16));
  } else if (c == 'u' || c == 'U') {
    unsigned value = number_at(body, at, c == 'u' ? 4 : 8, 16);
    out += value < 0x80 ? static_cast<char>(value) : '?';
  } else if (c == '\r') {
    if (at < body.size() && body[at] == '\n') ++at;
  } else if (c != '\n') {
    out += '\\';
    out += c;
  }
}

}  // namespace

PythonTokens read_python_tokens(std::string_view text) { return Tokenizer(text).read(); }

PythonLiteral read_python_literal(std::string_view spelling) {
  PythonLiteral literal;
  std::size_t at = std::min(spelling.find_first_of("\"'"), spelling.size());
  for (char c : spelling.substr(0, at)) {
    literal.raw |= c == 'r' || c == 'R';
    literal.bytes |= c == 'b' || c == 'B';
    literal.formatted |= c == 'f' || c == 'F' || c == 't' || c == 'T';
  }
  spelling.remove_prefix(at);
  if (spelling.empty()) return literal;
  Quotes quotes = quotes_at(spelling, 0);
  std::size_t size = quotes.size();
  literal.body = spelling.substr(size);
  if (literal.body.size() >= size && closes(literal.body, literal.body.size() - size, quotes)) {
    literal.body.remove_suffix(size);
  }
  return literal;
}

std::string unescaped(std::string_view body, bool raw) {
  if (raw || body.find('\\') == std::string_view::npos) return std::string(body);
  std::string out;
  for (std::size_t at = 0; at < body.size();) {
    if (body[at] != '\\' || at + 1 == body.size()) {
      out += body[at++];
    } else {
      append_escape(body, ++at, out);
    }
  }
  return out;
}

}  // namespace wheelvet
