// A pasted line, a traceback or a whole log: which of its lines say something that we know.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "explain/pattern.h"
#include "rules/messages.h"

namespace wheelvet {

/// A line, or a piece of one, that a wording fits.
struct Said {
  const MessageRule* rule = nullptr;
  Parts parts;
  std::string text;      ///< the line, cleaned
  std::string frame;     ///< the last file of a package that a traceback named before it
  std::size_t line = 0;  ///< number of the line, from 1
  std::size_t times = 1;
};

struct Log {
  std::vector<Said> said;  ///< in the order of the text, no two with the same parts
  std::map<std::string, std::string, std::less<>> packages;  ///< releases that the text names
  Parts facts;  ///< other facts of the text: driver, GPU
  std::uint64_t bytes = 0, lines = 0;
  std::uint64_t unprintable = 0;  ///< control bytes that no text holds
  bool cut = false;               ///< more messages than are kept
};

/// Reads text piece by piece, with memory that does not depend on its length: colour codes and
/// other controls are taken out, lines are looked at in pieces of 16 KiB, and at most 200 different
/// messages are kept. Bytes need not be UTF-8.
class LogReader {
 public:
  explicit LogReader(const ExplainRules& rules);
  void add(std::string_view bytes);
  /// What was read; the reader is done.
  Log end();

 private:
  void add_byte(char c);
  void end_line(bool whole);
  void read_line(std::string_view line);
  void read_words(std::string_view line, std::vector<std::size_t>& wordings);
  void note_frame(std::string_view line);
  void try_shapes(std::string_view line);
  void keep(const MessageRule& rule, Parts parts, std::string_view line);

  struct Wording {
    Pattern pattern;
    std::size_t message = 0, rank = 0;
  };
  const ExplainRules& rules_;
  std::vector<Wording> wordings_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> by_key_;
  std::unordered_map<std::string, std::size_t> kept_;
  std::string pending_;
  std::string frame_;
  enum class Escape { outside, start, sequence, string } escape_ = Escape::outside;
  Log log_;
};

}  // namespace wheelvet
