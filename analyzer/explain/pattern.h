// Wordings with holes: "{file}: undefined symbol: {symbol}".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

/// What a message names, by the names of its holes.
using Parts = std::map<std::string, std::string, std::less<>>;

/// Literal text and holes in turn.
struct Pattern {
  struct Piece {
    std::string text;  ///< literal text; empty for a hole
    std::string name;  ///< of the hole
    std::string kind;  ///< file, symbol, word, version, number, any
  };
  std::vector<Piece> pieces;
  std::string key;  ///< its longest word: a line without it cannot match
};

/// Reads a wording. "{name:kind}" is a hole, its kind is its name when none is given; "{{" and "}}"
/// are braces.
Pattern read_pattern(std::string_view text);

/// The parts of the first place in a line that the wording fits. Time is linear in the line for
/// each place where the wording's first words stand, and no more than a few are tried.
std::optional<Parts> match(const Pattern& pattern, std::string_view line);

/// A text with its "{name}" filled in; nothing when it names a part that is not there.
std::optional<std::string> filled(std::string_view text, const Parts& parts);

/// True for what a word of a message consists of.
bool is_word_character(char c);

}  // namespace wheelvet
