// What an expression of Python source may come to, as far as text tells: paths and names, with
// marks for the parts that only a run would tell.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

/// The texts that a value may have. A list is its elements: which of them is taken, and which
/// branch was, are the same question here. Nothing in it: None, an empty list.
struct PythonValue {
  std::vector<std::string> texts;
  bool list = false;
  bool platform = false;  ///< says where Python runs: a condition may rest on it
};

// Bytes that stand for something inside of a text. Literals that hold such bytes are unknown.
inline constexpr char kPyRoot = '\x01';       ///< at the start: the folder that packages lie in
inline constexpr char kPyUnknown = '\x02';    ///< any text
inline constexpr char kPyParameter = '\x03';  ///< and one byte more: a parameter of the function
inline constexpr char kPyColumn = '\x04';     ///< between the elements of a nested tuple
inline constexpr char kPyName = '\x05';       ///< at the start: a dotted name without a value
inline constexpr char kPyTruth = '\x06';      ///< at the start: T or F, known from the platform
inline constexpr char kPyLastMark = '\x06';
inline constexpr std::size_t kPyMaxParameters =
    26;  ///< so that none is spelt like a part of a path

PythonValue unknown_value();
PythonValue text_value(std::string text);
PythonValue truth_value(bool truth);
PythonValue platform_value(std::string text);
PythonValue parameter_value(std::size_t index);

/// The text of a literal: unknown when it holds bytes that are marks here.
std::string literal_text(std::string text);

bool has_mark(std::string_view text, char mark);
/// The one text of a value that is wholly known.
std::optional<std::string> known_text(const PythonValue& value);
std::optional<bool> known_truth(const PythonValue& value);
/// The dotted name of a value that is only a name.
std::optional<std::string> dotted_name(const PythonValue& value);

/// Either of both.
void join_values(PythonValue& into, const PythonValue& other);
/// Each text of `left`, `between`, each of `right`.
PythonValue concatenate(const PythonValue& left, std::string_view between,
                        const PythonValue& right);
/// os.path.join of two.
PythonValue join_paths(const PythonValue& left, const PythonValue& right);
PythonValue parent_folder(const PythonValue& value);
PythonValue base_name(const PythonValue& value);
/// The texts of a glob's pattern: what its wildcards stand for is unknown.
PythonValue glob_value(const PythonValue& pattern);
/// Each text's element `index`; texts without elements stay.
PythonValue column_of(const PythonValue& value, std::size_t index);
/// The last element of those whose first one may be `key`.
PythonValue entry_of(const PythonValue& value, const PythonValue& key);
/// `value` with each parameter replaced by its argument.
PythonValue substitute(const PythonValue& value, const std::vector<PythonValue>& arguments);

/// How a text leaves the reader: '*' for what is unknown, '.' and '..' resolved, no mark left.
std::string pattern_of(std::string_view text);

}  // namespace wheelvet
