// Versions and version specifiers of Python packages (PEP 440), as far as labels are compared.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

/// A version in the one spelling that equal versions share ("1.0" of "v1.0.0"; trailing zeros of
/// the release are dropped); nothing when it is no version.
std::optional<std::string> normalised_version(std::string_view text);

/// One clause of a specifier: operator and version, as in ">=3.9" or "!=3.9.*".
struct VersionClause {
  std::string comparison;
  std::string version;     ///< without the ".*"
  bool any_after = false;  ///< ended in ".*"
};

/// The clauses of a specifier; nothing when one of them is none.
std::optional<std::vector<VersionClause>> read_specifier(std::string_view text);

/// Whether some patch release of an interpreter ("3.12", "3.13t") fits a Requires-Python; nothing
/// when that cannot be read. Pre-releases count as the release.
std::optional<bool> admits_python(std::string_view specifier, std::string_view python);

/// What is wrong with a Requires-Dist (PEP 508), or null. Markers are not looked at.
const char* requirement_fault(std::string_view text);

}  // namespace wheelvet
