// Makes stub wheels: the loader's tables of a wheel, small enough to send and to keep.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "named_input.h"

namespace wheelvet {

struct StubResult {
  std::string path;          ///< written
  std::uint64_t size = 0;    ///< bytes of the stub
  std::uint64_t origin = 0;  ///< bytes of the wheel
  std::size_t objects = 0;
};

/// Writes the stub of a wheel to `output`; a folder gets a file of the wheel's own name, which
/// carries the tags. `name` may stand for a wheel of the index. WrongUsage when the input is no
/// wheel; Unreadable when it cannot be read or written.
StubResult make_stub(const std::string& name, const std::string& output, const NamedFor& wanted,
                     const std::function<void(std::uint64_t, std::uint64_t)>& progress);

}  // namespace wheelvet
