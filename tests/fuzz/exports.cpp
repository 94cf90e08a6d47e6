// A table of rules/exports, which a folder named by WHEELVET_RULES may replace.
#include <cstdint>
#include <string_view>

#include "rules/rules.h"
#include "wheelvet/problem.h"

using namespace wheelvet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    read_export_table({reinterpret_cast<const char*>(data), size});
  } catch (const WrongUsage&) {
  }
  return 0;
}
