#include "facts/python_value.h"

#include <algorithm>

namespace wheelvet {
namespace {

// Packages name up to about 20 alternatives in one place (torch's CUDA libraries: 17).
constexpr std::size_t kMaxTexts = 64;
constexpr std::size_t kMaxText = 1024;

const std::string kUnknownText(1, kPyUnknown);

/// Adds a text once; too many or too long ones are "anything".
void add_text(PythonValue& value, std::string text) {
  if (text.size() > kMaxText) text = kUnknownText;
  if (std::find(value.texts.begin(), value.texts.end(), text) != value.texts.end()) return;
  if (value.texts.size() >= kMaxTexts) {
    if (value.texts.back() != kUnknownText) value.texts.back() = kUnknownText;
    return;
  }
  value.texts.push_back(std::move(text));
}

template <class Function>
PythonValue each_text(const PythonValue& value, Function function) {
  PythonValue out;
  out.list = value.list;
  for (const std::string& text : value.texts) add_text(out, function(text));
  return out;
}

/// A text as part of another one: names, truths and tuples have no text of their own.
std::string part(const std::string& text) {
  if (text.starts_with(kPyName) || text.starts_with(kPyTruth) || has_mark(text, kPyColumn)) {
    return kUnknownText;
  }
  return text;
}

/// A folder name without the slashes that end it.
std::string_view trimmed(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

std::string joined_path(const std::string& left, const std::string& right) {
  if (right.starts_with('/') || right.starts_with(kPyRoot)) return right;
  if (left.empty() || left.ends_with('/')) return left + right;
  return left + "/" + right;
}

std::string parent_text(const std::string& whole) {
  std::string_view text = trimmed(whole);
  std::size_t slash = text.rfind('/');
  // What lies above an unknown path, or above the root, is unknown as well.
  if (slash == std::string_view::npos) {
    bool open = text.find(kPyUnknown) != text.npos || text.find(kPyParameter) != text.npos;
    if (text == std::string_view(&kPyRoot, 1)) return whole + "/..";
    return open ? kUnknownText : std::string();
  }
  if (text.substr(slash + 1) == "..") return std::string(text) + "/..";
  return std::string(text.substr(0, std::max<std::size_t>(slash, 1)));
}

std::string glob_text(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '[') {
      std::size_t close = text.find(']', i + 1);
      if (close != std::string_view::npos) i = close;
    }
    bool wild = c == '*' || c == '?' || c == '[';
    if (!wild) out += c;
    if (wild && !out.ends_with(kPyUnknown)) out += kPyUnknown;
  }
  return out;
}

std::vector<std::string> columns(const std::string& text) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  for (;;) {
    std::size_t end = text.find(kPyColumn, begin);
    out.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return out;
    begin = end + 1;
  }
}

/// Replaces the parameters of one text, from `begin` on, by every choice of arguments.
void substitute_text(const std::string& text, std::size_t begin,
                     const std::vector<PythonValue>& arguments, PythonValue& out) {
  std::vector<std::string> made{""};
  std::size_t from = begin;
  for (;;) {
    std::size_t at = text.find(kPyParameter, from);
    bool last = at == std::string::npos || at + 1 >= text.size();
    std::string before = text.substr(from, last ? std::string::npos : at - from);
    for (std::string& each : made) each += before;
    if (last) break;
    std::size_t index = static_cast<unsigned char>(text[at + 1]) - 0x40u;
    PythonValue argument = index < arguments.size() ? arguments[index] : unknown_value();
    bool whole = at == 0 && text.size() == 2;
    bool named = text.starts_with(kPyName);
    PythonValue next;
    for (const std::string& left : made) {
      for (const std::string& right : argument.texts) {
        // What stood in front of an absolute path does not count (os.path.join).
        bool absolute =
            (right.starts_with('/') || right.starts_with(kPyRoot)) && left.ends_with('/') && !named;
        add_text(next, whole ? right : absolute ? right : left + part(right));
      }
    }
    made = std::move(next.texts);
    from = at + 2;
  }
  for (std::string& each : made) add_text(out, std::move(each));
}

}  // namespace

PythonValue unknown_value() { return {{kUnknownText}}; }
PythonValue text_value(std::string text) {
  PythonValue value;
  add_text(value, std::move(text));
  return value;
}
PythonValue truth_value(bool truth) { return {{{kPyTruth, truth ? 'T' : 'F'}}}; }
PythonValue platform_value(std::string text) {
  PythonValue value = text_value(std::move(text));
  value.platform = true;
  return value;
}
PythonValue parameter_value(std::size_t index) {
  if (index >= kPyMaxParameters) return unknown_value();
  return {{{kPyParameter, static_cast<char>(0x40 + index)}}};
}

std::string literal_text(std::string text) {
  bool marks = std::any_of(text.begin(), text.end(),
                           [](char c) { return static_cast<unsigned char>(c) <= kPyLastMark; });
  return marks ? kUnknownText : text;
}

bool has_mark(std::string_view text, char mark) { return text.find(mark) != text.npos; }

std::optional<std::string> known_text(const PythonValue& value) {
  if (value.texts.size() != 1 || value.list) return std::nullopt;
  const std::string& text = value.texts[0];
  bool marks = std::any_of(text.begin(), text.end(),
                           [](char c) { return static_cast<unsigned char>(c) <= kPyLastMark; });
  if (marks) return std::nullopt;
  return text;
}

std::optional<bool> known_truth(const PythonValue& value) {
  if (value.texts.size() != 1 || !value.texts[0].starts_with(kPyTruth)) return std::nullopt;
  return value.texts[0] == std::string{kPyTruth, 'T'};
}

std::optional<std::string> dotted_name(const PythonValue& value) {
  if (value.texts.size() != 1 || !value.texts[0].starts_with(kPyName)) return std::nullopt;
  return value.texts[0].substr(1);
}

void join_values(PythonValue& into, const PythonValue& other) {
  for (const std::string& text : other.texts) add_text(into, text);
  into.list |= other.list;
}

PythonValue concatenate(const PythonValue& left, std::string_view between,
                        const PythonValue& right) {
  PythonValue out;
  for (const std::string& a : left.texts) {
    for (const std::string& b : right.texts)
      add_text(out, part(a) + std::string(between) + part(b));
  }
  return out;
}

PythonValue join_paths(const PythonValue& left, const PythonValue& right) {
  PythonValue out;
  for (const std::string& a : left.texts) {
    for (const std::string& b : right.texts) add_text(out, joined_path(part(a), part(b)));
  }
  return out;
}

PythonValue parent_folder(const PythonValue& value) {
  return each_text(value, [](const std::string& text) { return parent_text(part(text)); });
}

PythonValue base_name(const PythonValue& value) {
  return each_text(value, [](const std::string& whole) {
    std::string text = part(whole);
    return text.substr(text.rfind('/') + 1);
  });
}

PythonValue glob_value(const PythonValue& pattern) {
  PythonValue out =
      each_text(pattern, [](const std::string& text) { return glob_text(part(text)); });
  out.list = true;
  return out;
}

PythonValue column_of(const PythonValue& value, std::size_t index) {
  return each_text(value, [&](const std::string& text) {
    std::vector<std::string> parts = columns(text);
    if (parts.size() == 1) return text;
    return index < parts.size() ? parts[index] : kUnknownText;
  });
}

PythonValue entry_of(const PythonValue& value, const PythonValue& key) {
  std::optional<std::string> wanted = known_text(key);
  PythonValue out;
  for (const std::string& text : value.texts) {
    std::vector<std::string> parts = columns(text);
    if (parts.size() > 1 && wanted && parts.front() != *wanted &&
        !has_mark(parts.front(), kPyUnknown)) {
      continue;
    }
    add_text(out, parts.back());
  }
  return out;
}

PythonValue substitute(const PythonValue& value, const std::vector<PythonValue>& arguments) {
  PythonValue out;
  out.list = value.list;
  for (const std::string& text : value.texts) {
    if (has_mark(text, kPyParameter)) {
      substitute_text(text, 0, arguments, out);
    } else {
      add_text(out, text);
    }
  }
  return out;
}

std::string pattern_of(std::string_view text) {
  std::string shown = part(std::string(text));
  std::string flat;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    char c = shown[i];
    // A whole path inside of a text, or a name as a part of one, is nothing that can be told.
    bool mark = static_cast<unsigned char>(c) <= kPyLastMark && !(c == kPyRoot && i == 0);
    bool open = mark || c == '*' || c == '?' || c == '[';
    std::size_t close = c == '[' ? shown.find(']', i) : std::string::npos;
    if (close != std::string::npos) i = close;
    if (c == kPyParameter) ++i;  // its number
    if (!open) flat += c;
    if (open && !flat.ends_with('*')) flat += '*';
  }
  bool rooted = flat.starts_with(kPyRoot);
  bool absolute = flat.starts_with('/');
  if (rooted) flat.erase(0, 1);
  std::vector<std::string_view> parts;
  std::string_view rest = flat;
  while (!rest.empty()) {
    std::size_t slash = std::min(rest.find('/'), rest.size());
    std::string_view step = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (step.empty() || (step == "." && flat.size() > 1)) continue;
    bool up = step == ".." && !parts.empty() && parts.back() != ".." &&
              parts.back().find('*') == std::string_view::npos;
    if (up) {
      parts.pop_back();
    } else if (!(step == ".." && absolute && parts.empty())) {
      parts.push_back(step);
    }
  }
  std::string out = absolute ? "/" : "";
  for (std::string_view step : parts) {
    if (!out.empty() && out != "/") out += '/';
    out += step;
  }
  return out;
}

}  // namespace wheelvet
