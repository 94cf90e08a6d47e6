// C++ names: demangled within bounds, and taken apart for comparison.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

/// A C++ function or variable name, printed as LLVM's demangler prints it.
struct CxxName {
  std::string text;    ///< the whole
  std::string scoped;  ///< qualified name without parameters, e.g. "c10::cuda::SetDevice"
  std::vector<std::string> parameters;
  std::string qualifiers;  ///< " const", " &&", ...
  bool function = false;
};

/// Takes an Itanium-mangled name apart. Nothing for a name that is none, that is longer than 2 KiB,
/// or whose printed form could exceed 64 KiB (substitutions double it with every step: a name of
/// 255 characters can ask for gigabytes).
std::optional<CxxName> read_cxx_name(std::string_view mangled);

/// The demangled form, or the name as it stands.
std::string demangled(std::string_view name);

/// Calls `each` with the identifiers of a mangled name in order, until it returns false. Not a
/// parse: length-prefixed words are picked wherever they stand.
template <class Each>
void each_identifier(std::string_view mangled, Each&& each) {
  for (std::size_t at = 0; at < mangled.size();) {
    if (mangled[at] < '1' || mangled[at] > '9') {
      ++at;
      continue;
    }
    std::size_t length = 0;
    while (at < mangled.size() && mangled[at] >= '0' && mangled[at] <= '9' &&
           length <= mangled.size()) {
      length = length * 10 + static_cast<std::size_t>(mangled[at++] - '0');
    }
    if (length > mangled.size() - at) continue;
    if (!each(mangled.substr(at, length))) return;
    at += length;
  }
}

/// The identifiers of a mangled name in order: "_ZN3c104cuda9SetDeviceEi" gives c10, cuda,
/// SetDevice. Not a parse: length-prefixed words are picked wherever they stand.
std::vector<std::string_view> identifiers(std::string_view mangled);

/// A readable name with the same words for both spellings of the string ABI (libstdc++'s
/// _GLIBCXX_USE_CXX11_ABI).
std::string without_string_abi(std::string text);

}  // namespace wheelvet
