// Versions and version specifiers of Python packages (PEP 440), as the packaging library reads
// them.
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

/// Compares two versions by PEP 440: negative, zero, positive; nothing when one is none.
std::optional<int> compare_pep440(std::string_view a, std::string_view b);

/// Whether a version fits all clauses, pre-releases allowed, as pip asks of what is installed
/// (packaging's SpecifierSet.contains with prereleases); nothing when the text is no version.
std::optional<bool> admits_version(const std::vector<VersionClause>& clauses,
                                   std::string_view version);

}  // namespace wheelvet
