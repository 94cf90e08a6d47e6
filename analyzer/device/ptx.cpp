#include "device/ptx.h"

#include <charconv>

#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

constexpr std::string_view blanks = " \t\r\n";

// The number at the front of a text, which is shortened by it; 0 when there is none.
template <class Number>
Number take_number(std::string_view& text) {
  Number value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc() ? value : Number{0};
}

// What follows a directive (".version") and its blanks; empty when it does not occur before
// `limit`.
std::string_view after(std::string_view text, std::string_view directive) {
  std::size_t at = text.find(directive);
  if (at == std::string_view::npos) return {};
  std::string_view rest = text.substr(at + directive.size());
  std::size_t start = rest.find_first_not_of(blanks);
  return start == std::string_view::npos || start == 0 ? std::string_view() : rest.substr(start);
}

bool identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$';
}

}  // namespace

PtxFacts read_ptx(std::string_view text) {
  PtxFacts facts;
  std::string_view version = after(text, ".version");
  std::string_view target = after(text, ".target");
  facts.isa_major = take_number<std::uint8_t>(version);
  if (version.starts_with('.')) version.remove_prefix(1);
  facts.isa_minor = take_number<std::uint8_t>(version);
  if (facts.isa_major == 0) throw Unreadable("PTX .version", std::nullopt, "is not there");
  constexpr std::string_view prefix = "sm_";
  if (target.starts_with(prefix)) target.remove_prefix(prefix.size());
  facts.arch = take_number<std::uint16_t>(target);
  if (facts.arch == 0) throw Unreadable("PTX .target", std::nullopt, "names no architecture");
  if (target.starts_with('a') || target.starts_with('f')) facts.suffix = target.front();
  constexpr std::string_view entry = ".entry";
  for (std::size_t at = text.find(entry); at != std::string_view::npos;
       at = text.find(entry, at + 1)) {
    std::size_t start = text.find_first_not_of(blanks, at + entry.size());
    if (start == std::string_view::npos || start == at + entry.size()) continue;
    std::size_t end = start;
    while (end < text.size() && identifier(text[end])) ++end;
    if (end > start) facts.kernels.emplace_back(text.substr(start, end - start));
  }
  return facts;
}

}  // namespace wheelvet
