// TOML as plain data, for those who have no tables of their own in rules.h.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

/// One table: key -> texts; a single value is a list of one, numbers and truths as text.
using TomlTable = std::map<std::string, std::vector<std::string>, std::less<>>;
/// Table name -> its tables: an array of tables, or one. Values outside of any are in "".
using TomlText = std::map<std::string, std::vector<TomlTable>, std::less<>>;

/// WrongUsage names `name` and the line for what is no TOML.
TomlText read_toml(std::string_view text, std::string_view name);

/// The first value of a key, or empty.
std::string toml_value(const TomlTable& table, std::string_view key);
const std::vector<std::string>& toml_values(const TomlTable& table, std::string_view key);

}  // namespace wheelvet
