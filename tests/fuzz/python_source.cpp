// Python source: what a file imports and opens, from any bytes; and once more with its own helpers
// known, as a package's files are read.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "facts/python_source.h"

using namespace wheelvet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  PythonSource first = read_python_source(text, "package/part/module.py");
  PythonSource second = read_python_source(text, "package/__init__.py", first.helpers);
  for (const PythonOpen& open : second.opens) {
    for (char c : open.pattern) {
      // None of the marks that stand for unknown parts may leave the reader.
      if (static_cast<unsigned char>(c) <= kPyLastMark) std::abort();
    }
  }
  return 0;
}
