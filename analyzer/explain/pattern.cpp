#include "explain/pattern.h"

#include <algorithm>

namespace wheelvet {
namespace {

constexpr int most_places = 8;

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// A path or file name: no blanks, quotes or brackets, and no colon, which ends it in messages.
bool in_file(char c) {
  return static_cast<unsigned char>(c) > ' ' &&
         std::string_view("\"'`,;:()[]{}<>|=").find(c) == std::string_view::npos;
}

// A name as tools write it: symbols, sonames, version nodes, packages with a local version.
bool in_word(char c) {
  return is_alnum(c) || std::string_view("_.+-/*@$~<>=!").find(c) != std::string_view::npos ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool in_version(char c) {
  return is_alnum(c) || std::string_view("._+!-").find(c) != std::string_view::npos;
}

bool in_number(char c) { return c >= '0' && c <= '9'; }

using Class = bool (*)(char);

// Null for holes that reach to the next literal text.
Class class_of(std::string_view kind) {
  if (kind == "file") return in_file;
  if (kind == "word") return in_word;
  if (kind == "version") return in_version;
  if (kind == "number") return in_number;
  return nullptr;
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// A version at the end of a sentence ends before its full stop.
std::string_view without_full_stop(std::string_view text, std::string_view kind) {
  bool named = kind == "version" || kind == "word" || kind == "file";
  while (named && (text.ends_with('.') || text.ends_with('-'))) text.remove_suffix(1);
  return text;
}

// A symbol at the end of a line: a mangled or C name ends where its characters end, a demangled one
// at an unopened bracket or a quote.
std::string_view symbol_of(std::string_view text) {
  text = without_blanks(text);
  std::size_t plain = 0;
  while (plain < text.size() && (is_alnum(text[plain]) || text[plain] == '_' ||
                                 text[plain] == '$' || text[plain] == '.' || text[plain] == '@')) {
    ++plain;
  }
  bool cxx = text.substr(plain, 2) == "::" || text.substr(plain, 1) == "(" ||
             text.substr(plain, 1) == "<" || text.find("::") != std::string_view::npos;
  if (text.starts_with("_Z") || !cxx) {
    bool cut = text.substr(0, plain).ends_with("...");
    text = text.substr(0, plain);
    while (!cut && text.ends_with('.')) text.remove_suffix(1);
    return text;
  }
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[' || text[i] == '{') ++depth;
    if (text[i] == ')' || text[i] == ']' || text[i] == '}') --depth;
    bool ends = depth < 0 || text[i] == '\'' || text[i] == '"' || text[i] == '`' ||
                text[i] == '\\' || (depth == 0 && text[i] == ',');
    if (ends) return without_blanks(text.substr(0, i));
  }
  return text;
}

std::string cleaned(std::string_view text, std::string_view kind) {
  if (kind == "symbol") return std::string(symbol_of(text));
  return std::string(without_full_stop(without_blanks(text), kind));
}

// The hole before the first literal text, which starts at `end`.
std::string_view leading_hole(std::string_view line, std::size_t end, std::string_view kind) {
  Class belongs = class_of(kind);
  std::size_t start = end;
  while (start > 0 && (!belongs || belongs(line[start - 1]))) --start;
  return line.substr(start, end - start);
}

// Fits the pieces from number `next` on at `at`; false when they do not fit there.
bool fit(const Pattern& pattern, std::size_t next, std::string_view line, std::size_t at,
         Parts& parts) {
  for (std::size_t i = next; i < pattern.pieces.size(); ++i) {
    const Pattern::Piece& piece = pattern.pieces[i];
    if (!piece.text.empty()) {
      if (line.substr(at, piece.text.size()) != piece.text) return false;
      at += piece.text.size();
      continue;
    }
    std::size_t end = at;
    if (Class belongs = class_of(piece.kind)) {
      while (end < line.size() && belongs(line[end])) ++end;
      // What follows may begin with a character that the hole would take as well.
      const std::string* after =
          i + 1 < pattern.pieces.size() ? &pattern.pieces[i + 1].text : nullptr;
      while (after && end > at && line.substr(end, after->size()) != *after) --end;
    } else if (i + 1 < pattern.pieces.size()) {
      end = line.find(pattern.pieces[i + 1].text, at);
      if (end == std::string_view::npos) return false;
    } else {
      end = line.size();
    }
    std::string value = cleaned(line.substr(at, end - at), piece.kind);
    if (value.empty()) return false;
    parts[piece.name] = std::move(value);
    at = end;
  }
  return true;
}

// The longest word that stands whole in the literal text; words at the edge of a hole may go on in
// it.
std::string key_of(const std::vector<Pattern::Piece>& pieces) {
  std::string best;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const std::string& text = pieces[p].text;
    for (std::size_t i = 0; i < text.size();) {
      std::size_t end = i;
      while (end < text.size() && is_word_character(text[end])) ++end;
      bool open = (i == 0 && p > 0) || (end == text.size() && p + 1 < pieces.size());
      if (!open && end - i > best.size()) best = text.substr(i, end - i);
      i = end + 1;
    }
  }
  return best;
}

}  // namespace

bool is_word_character(char c) { return is_alnum(c) || c == '_'; }

Pattern read_pattern(std::string_view text) {
  Pattern pattern;
  std::string literal;
  auto flush = [&] {
    if (!literal.empty()) pattern.pieces.push_back({literal, "", ""});
    literal.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    bool doubled = text.substr(i, 2) == "{{" || text.substr(i, 2) == "}}";
    std::size_t close = text[i] == '{' ? text.find('}', i) : std::string_view::npos;
    if (doubled || close == std::string_view::npos) {
      literal += text[i];
      i += doubled;
      continue;
    }
    flush();
    std::string_view hole = text.substr(i + 1, close - i - 1);
    std::size_t colon = hole.find(':');
    std::string name(hole.substr(0, colon));
    std::string kind(colon == std::string_view::npos ? hole : hole.substr(colon + 1));
    pattern.pieces.push_back({"", name, kind});
    i = close;
  }
  flush();
  pattern.key = key_of(pattern.pieces);
  return pattern;
}

std::optional<Parts> match(const Pattern& pattern, std::string_view line) {
  if (pattern.pieces.empty()) return std::nullopt;
  bool leads = pattern.pieces.front().text.empty();
  if (leads && pattern.pieces.size() < 2) return std::nullopt;
  const std::string& first = pattern.pieces[leads ? 1 : 0].text;
  std::size_t at = line.find(first);
  for (int place = 0; place < most_places && at != std::string_view::npos; ++place) {
    Parts parts;
    bool fits = fit(pattern, leads ? 1 : 0, line, at, parts);
    if (fits && leads) {
      const Pattern::Piece& hole = pattern.pieces.front();
      std::string value = cleaned(leading_hole(line, at, hole.kind), hole.kind);
      fits = !value.empty();
      parts[hole.name] = std::move(value);
    }
    if (fits) return parts;
    at = line.find(first, at + 1);
  }
  return std::nullopt;
}

std::optional<std::string> filled(std::string_view text, const Parts& parts) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t close = text[i] == '{' ? text.find('}', i) : std::string_view::npos;
    if (close == std::string_view::npos) {
      out += text[i];
      continue;
    }
    std::string_view name = text.substr(i + 1, close - i - 1);
    auto part = parts.find(name);
    if (part == parts.end()) return std::nullopt;
    out += part->second;
    i = close;
  }
  return out;
}

}  // namespace wheelvet
