// Pieces of configuration text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

/// Lines without their ends; the last one may be empty.
std::vector<std::string_view> lines_of(std::string_view text);
/// Runs of characters between blanks and tabs.
std::vector<std::string_view> words_of(std::string_view line);
/// The parts between separators; empty ones too.
std::vector<std::string_view> split_at(std::string_view text, char separator);

/// The folder of a path, empty for "/x"; and what stands behind its last '/'.
std::string parent_of(std::string_view path);
std::string_view base_of(std::string_view path);

/// A word that a shell takes as it is.
std::string shell_quoted(std::string_view word);

/// The one of `known` that `name` was probably meant to be: at most two letters inserted, left out,
/// changed or swapped. Empty when nothing is that near.
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace wheelvet
