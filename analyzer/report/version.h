#pragma once

#include <string>

namespace wheelvet {

const char* program_version();

/// The rules built in, by their content: 12 hexadecimal digits.
std::string rules_identity();

/// What --version prints: the program, its rules by their content, and the history of torch.
std::string version_text();

}  // namespace wheelvet
