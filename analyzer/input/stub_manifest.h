// The member that makes a wheel a stub: where it came from and what was found in the original.
#pragma once

#include <string>
#include <string_view>

#include "wheelvet/input.h"

namespace wheelvet {

inline constexpr std::string_view stub_manifest_suffix = ".dist-info/WHEELVET-STUB";

/// Header lines, one per fact; readable as they are. Faults and problems of the original travel
/// along, so that the stub gives the same findings.
std::string write_stub_manifest(const Input& original, const std::vector<ArchiveFault>& faults,
                                const std::vector<Problem>& problems);

/// Puts origin, faults and problems into `stub`. Unreadable when it was written by a newer format.
void read_stub_manifest(std::string_view text, Input& stub);

}  // namespace wheelvet
