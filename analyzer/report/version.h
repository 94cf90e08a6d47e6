#pragma once

#include <string>

namespace wheelvet {

const char* program_version();

/// What --version prints: the program, its rules by their content, and the history of torch.
std::string version_text();

}  // namespace wheelvet
