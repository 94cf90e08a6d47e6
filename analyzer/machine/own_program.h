// The file that this program was started from.
#pragma once

#include <string>

namespace wheelvet {

/// By /proc, else, as in a root without one, as the kernel was told (getauxval(3), AT_EXECFN),
/// which may be relative to the folder of the start.
std::string own_program();

}  // namespace wheelvet
