// Python's lexical structure (Python's reference manual, chapter 2), read from bytes that need not
// be valid Python: strings with their prefixes, joined lines, brackets, indentation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

enum class PythonTokenKind : std::uint8_t {
  name,  ///< identifiers and keywords; any byte from 0x80 on counts as a letter
  number,
  string,   ///< with prefix and quotes; an f-string is one token
  symbol,   ///< operators and brackets
  newline,  ///< the end of a logical line
  indent,
  dedent,
  end,
};

struct PythonToken {
  std::uint32_t begin = 0, end = 0;  ///< offsets into the text
  std::uint32_t line = 0;            ///< from 1
  std::uint32_t match = 0;           ///< of an opening bracket: its closing one's index, else 0
  PythonTokenKind kind = PythonTokenKind::end;
};

struct PythonTokens {
  std::string_view text;
  std::vector<PythonToken> tokens;  ///< the last one is `end`
  bool incomplete = false;          ///< something is not Python, or a limit was met

  std::string_view spelling(std::size_t i) const {
    return text.substr(tokens[i].begin, tokens[i].end - tokens[i].begin);
  }
  /// True for a name or symbol of this spelling.
  bool is(std::size_t i, std::string_view spelt) const {
    const PythonToken& token = tokens[i];
    bool may_be = token.end - token.begin == spelt.size() && text[token.begin] == spelt[0] &&
                  (token.kind == PythonTokenKind::name || token.kind == PythonTokenKind::symbol);
    return may_be && (spelt.size() == 1 || spelling(i) == spelt);
  }
};

/// Never throws for what the text holds; linear in its length.
PythonTokens read_python_tokens(std::string_view text);

/// A string token without prefix and quotes.
struct PythonLiteral {
  std::string_view body;
  bool formatted = false;  ///< f"" (and t""): the body has fields in braces
  bool bytes = false;
  bool raw = false;
};
PythonLiteral read_python_literal(std::string_view spelling);

/// `body` with its escapes resolved, unless raw. Characters beyond Latin-1 that an escape names
/// become '?': no library is called so.
std::string unescaped(std::string_view body, bool raw);

}  // namespace wheelvet
