// What became of a name: the releases that export it, and those of its other forms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "history/history.h"

namespace wheelvet {

/// Another exported function with the same qualified name.
struct NameForm {
  std::string symbol;
  std::vector<std::uint32_t> builds;  ///< that export it, of one machine, in order
  /// No build exports both it and the wanted name: the one was changed into the other. Otherwise it
  /// is an overload that existed beside it, and no explanation.
  bool instead = false;
  bool only_strings = false;  ///< differs in the spelling of std::string alone (C++11 ABI)
  int differences = 0;        ///< parameters, template arguments and qualifiers that differ
};

struct NameStory {
  bool covered = false;               ///< the table knows such names
  std::vector<std::uint32_t> builds;  ///< that export the name itself, of one machine, in order
  std::vector<NameForm> forms;        ///< the best explanation first
};

/// The story of a C++ function (or of any name, then without forms) on the machine of `installed`,
/// an index into the builds. Forms that were there instead go before overloads, then those that the
/// installed build exports, then those that differ least.
NameStory story_of(History& history, std::string_view name, std::uint32_t installed);

/// "2.1.0 to 2.9.1", "2.3.0, 2.5.1 to 2.6.0": runs of neighbouring builds by their versions.
std::string release_range(const History& history, const std::vector<std::uint32_t>& builds);

/// The start that all forms of a C++ function share in their mangled names; empty when it cannot be
/// told.
std::string_view shared_beginning(std::string_view mangled);

}  // namespace wheelvet
