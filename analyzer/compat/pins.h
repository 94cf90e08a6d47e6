// Requirements on torch: what one permits, and how to write one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

/// The requirement of a package among its Requires-Dist, without an extra: "torch (>=2.8)"; nothing
/// when there is none.
std::optional<std::string> requirement_on(const std::vector<std::string>& requirements,
                                          std::string_view package);

/// The version clauses of a requirement: ">=2.8" of "torch (>=2.8) ; python_version > '3.8'".
std::string specifier_of(std::string_view requirement);

/// Whether a release (without pre-release or local version) fits a specifier of PEP 440; nothing
/// when that cannot be read.
std::optional<bool> admits_release(std::string_view specifier, std::string_view release);

/// A specifier that admits those of `releases` (oldest first) that `fits` says, and no other of
/// them: ">=2.9.0,<2.10.0". `open`: releases to come are taken to fit where the newest does; else
/// the next minor release is shut out. Empty when none fits.
std::string specifier_for(const std::vector<std::string>& releases, const std::vector<bool>& fits,
                          bool open);

}  // namespace wheelvet
