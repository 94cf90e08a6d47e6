// Two names: demangled, taken apart and compared.
#include "link/demangle.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "link/near_miss.h"

using namespace wheelvet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::size_t half = text.find('\n');
  std::string first(text.substr(0, half));
  std::string second(half == std::string_view::npos ? text : text.substr(half + 1));
  for (const std::string* name : {&first, &second}) {
    std::string shown = demangled(*name);
    if (shown.size() > std::max<std::size_t>(64u << 10, name->size())) std::abort();
    identifiers(*name);
  }
  parameter_difference(first, second);
  return 0;
}
