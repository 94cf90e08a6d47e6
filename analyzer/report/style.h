// Colours, for terminals only.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace wheelvet {

/// Wraps text in ANSI SGR codes when `color` is set.
class Style {
 public:
  explicit Style(bool color) : color_(color) {}
  std::string red(std::string_view text) const { return wrap("31;1", text); }
  std::string green(std::string_view text) const { return wrap("32;1", text); }
  std::string yellow(std::string_view text) const { return wrap("33;1", text); }
  std::string bold(std::string_view text) const { return wrap("1", text); }
  std::string dim(std::string_view text) const { return wrap("2", text); }

 private:
  std::string wrap(std::string_view code, std::string_view text) const {
    return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  bool color_;
};

}  // namespace wheelvet
