#include "report/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "report/printable.h"

namespace wheelvet {
namespace {

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// GitHub turns @name, #12, GH-12, addresses and long hexadecimal numbers in text into links and
// notifications, whatever was escaped; it leaves code alone.
bool is_reference(std::string_view word) {
  bool hex = word.size() >= 7 && std::all_of(word.begin(), word.end(), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
             });
  return hex || word.find_first_of("@#") != std::string_view::npos ||
         word.find("://") != std::string_view::npos ||
         word.find("www.") != std::string_view::npos ||
         word.find("GH-") != std::string_view::npos || word.find("gh-") != std::string_view::npos;
}

std::string escape_word(std::string_view word) {
  std::string out;
  for (char c : word) {
    // CommonMark 0.30, 6.1: any ASCII punctuation may be escaped.
    bool punctuation = static_cast<unsigned char>(c) > 0x20 &&
                       static_cast<unsigned char>(c) < 0x7f && !is_alphanumeric(c);
    if (punctuation && std::string_view(".,;:()/'\"%=?").find(c) == std::string_view::npos) {
      out += '\\';
    }
    out += c;
  }
  return out;
}

std::string escape_percent(std::string_view text, std::string_view kept) {
  std::string out;
  for (char c : text) {
    if (is_alphanumeric(c) || kept.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<std::uint8_t>(c));
    }
  }
  return out;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

std::string escape_markup(std::string_view text) {
  std::string out;
  for (char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string markdown_code(std::string_view text, bool table) {
  std::string shown = printable(text);
  if (shown.empty()) return "";
  std::size_t longest = 0, run = 0;
  for (char c : shown) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  // CommonMark 0.30, 6.1: the fence is longer than any run inside, and one blank at each side is
  // taken off.
  std::string fence(longest + 1, '`');
  bool pad = shown.front() == '`' || shown.back() == '`' || shown.front() == ' ';
  if (table) replace_all(shown, "|", "\\|");
  return fence + (pad ? " " : "") + shown + (pad ? " " : "") + fence;
}

std::string escape_markdown(std::string_view text) {
  std::string shown = printable(text), out;
  std::size_t at = 0;
  while (at < shown.size()) {
    std::size_t end = std::min(shown.find(' ', at), shown.size());
    std::string_view word = std::string_view(shown).substr(at, end - at);
    // printable() doubled the backslashes already, and would do so again.
    if (is_reference(word)) {
      std::string plain(word);
      std::replace(plain.begin(), plain.end(), '`', '\'');
      replace_all(plain, "|", "\\|");
      out += "`" + plain + "`";
    } else {
      out += escape_word(word);
    }
    if (end < shown.size()) out += ' ';
    at = end + 1;
  }
  return out;
}

std::string escape_command(std::string_view text) {
  std::string out(text);
  replace_all(out, "%", "%25");
  replace_all(out, "\r", "%0D");
  replace_all(out, "\n", "%0A");
  return out;
}

std::string escape_log(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n') + 1);
    if (line.empty()) line = text;
    std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    out += line.substr(0, begin);
    if (line.substr(begin).starts_with("::")) out += '\\';
    out += line.substr(begin);
    text.remove_prefix(line.size());
  }
  replace_all(out, "##[", "##\\[");
  return out;
}

std::string escape_command_property(std::string_view text) {
  std::string out = escape_command(text);
  replace_all(out, ":", "%3A");
  replace_all(out, ",", "%2C");
  return out;
}

std::string escape_uri(std::string_view text) { return escape_percent(text, "-._~/"); }

}  // namespace wheelvet
