#pragma once

namespace wheelvet {

const char* program_version();

}  // namespace wheelvet
