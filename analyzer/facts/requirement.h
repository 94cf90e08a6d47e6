// What one package requires of another (PEP 508), and whether a release of it fits (PEP 440).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

struct Requirement {
  std::string name;                 ///< normalised
  std::vector<std::string> extras;  ///< as written
  std::string specifier;            ///< ">=2.0,<3", empty for any release
  std::string marker;               ///< as written, empty for none
};

/// Nothing for a text that begins with no name, and for a requirement by URL.
std::optional<Requirement> split_requirement(std::string_view text);

/// Whether a marker holds on Linux for a machine ("x86_64") and a Python ("3.12") with one extra
/// asked for (or none). Nothing where that hangs on a variable other than those of the platform,
/// Python's release and the extra.
std::optional<bool> marker_holds(std::string_view marker, std::string_view machine,
                                 std::string_view python, std::string_view extra = {});

/// Negative, zero, positive, as versions order by PEP 440; nothing when one of them is no version.
std::optional<int> order_versions(std::string_view a, std::string_view b);

/// Whether a release fits a specifier; nothing when one of them cannot be read.
std::optional<bool> admits_version(std::string_view specifier, std::string_view version);

/// A version without what stands behind the '+'.
std::string public_version(std::string_view version);

}  // namespace wheelvet
