// TOML text as a Document, and what every reader of one of our files asks of it. All complaints are
// WrongUsage that begins with "file:line: ".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wheelvet/document.h"

namespace wheelvet {

/// A table of a file, with the file's name for what is said about it.
struct TomlTable {
  std::string file;
  std::string section;  ///< "tool.wheelvet", for people; empty for the top
  const Document* table = nullptr;
};

/// Reads a file of at most 1 MB. Unreadable when it cannot be read.
Document read_toml_file(const std::string& path, const std::string& name);

/// Ends with "file:line: reason".
[[noreturn]] void complain(const std::string& file, unsigned line, const std::string& reason);

/// Every key has to be one of these; the complaint names the nearest.
void only_keys(const TomlTable& in, const std::vector<std::string_view>& keys);

/// A key's text; empty when it is not there. `required`: it has to be there and not empty.
std::string toml_text(const TomlTable& in, std::string_view key, bool required = false);

/// A text or a list of texts.
std::vector<std::string> toml_texts(const TomlTable& in, std::string_view key);

/// The tables of a list of tables.
std::vector<TomlTable> toml_tables(const TomlTable& in, std::string_view key);

/// The nearest of some words by edit distance; empty when none is near.
std::string nearest(std::string_view word, const std::vector<std::string_view>& words);

/// "; did you mean X?" for the nearest word, or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& words);

/// What a value is, for complaints: "a text", "a list".
std::string_view kind_text(const Document& value);

}  // namespace wheelvet
