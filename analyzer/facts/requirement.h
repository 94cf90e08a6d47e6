// Requirements of Python packages (PEP 508): name, extras, versions, and for whom they hold.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "facts/python_version.h"

namespace wheelvet {

/// One side of a comparison in a marker.
struct MarkerValue {
  std::string text;
  bool variable = false;  ///< a name such as python_version, else a quoted text
};

/// An environment marker: a comparison, or several markers joined.
struct Marker {
  enum class Kind { comparison, all, any };
  Kind kind = Kind::comparison;
  std::vector<Marker> parts;  ///< of `all` and `any`
  MarkerValue left, right;
  std::string comparison;  ///< "<=", "==", "in", "not in", ...
};

struct Requirement {
  std::string name;                 ///< normalised
  std::vector<std::string> extras;  ///< normalised
  std::vector<VersionClause> clauses;
  std::string versions;  ///< the clauses as written
  std::string url;       ///< "name @ url", else empty
  std::optional<Marker> marker;
};

/// The requirement, or why it is none (`fault` is then set).
struct ReadRequirement {
  std::optional<Requirement> requirement;
  const char* fault = nullptr;
};
ReadRequirement read_pep508(std::string_view text);

/// The values of marker variables, but for `extra`.
using MarkerValues = std::map<std::string, std::string, std::less<>>;

/// Those of an interpreter ("3.12", "3.13t") on Linux. The patch release is not known: markers of
/// python_full_version hold as for the newest one.
MarkerValues marker_values(std::string_view python, std::string_view machine);

/// Whether a marker holds when `extra` is asked for (empty: none). Nothing when it compares what
/// cannot be compared, or uses a variable whose value is not known.
std::optional<bool> holds(const Marker& marker, const MarkerValues& values, std::string_view extra);

/// True when the requirement is one of those that come with `extras`, or without any.
bool is_wanted(const Requirement& requirement, const MarkerValues& values,
               const std::vector<std::string>& extras);

/// The extra that a marker asks for, else empty.
std::string extra_in(const Marker& marker);

}  // namespace wheelvet
