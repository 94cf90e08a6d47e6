// What the parts of a wheel's tag promise (PEP 425).
#pragma once

#include <string>
#include <string_view>

namespace wheelvet {

/// The interpreter that a tag names, as "3.12" or "3.13t"; empty for abi3 and others.
std::string python_of_tag(std::string_view tag);

/// "3.12" or "3.13t".
bool is_python_release(std::string_view text);

/// The release of glibc that a manylinux platform tag asks for (PEP 513, 571, 599 and 600): "2.17"
/// of "manylinux2014_x86_64", "2.28" of "manylinux_2_28_aarch64"; empty for other tags.
std::string glibc_of_platform(std::string_view platform);

}  // namespace wheelvet
