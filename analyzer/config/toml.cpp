#include "config/toml.h"

#include <fmt/format.h>

#include <algorithm>

#include "input/random_file.h"
#include "rules/toml_document.h"
#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

constexpr std::uint64_t most_bytes = 1u << 20;  // a configuration is written by a person

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

const std::string& text_or_complain(const TomlTable& in, std::string_view key,
                                    const Document& value) {
  if (value.kind == Document::Kind::text) return value.text;
  complain(in.file, value.line, fmt::format("{} has to be a text, not {}", key, kind_text(value)));
}

}  // namespace

Document read_toml_file(const std::string& path, const std::string& name) {
  std::vector<std::uint8_t> bytes;
  try {
    RandomFile file(path);
    if (file.size() > most_bytes) complain(name, 1, "is larger than 1 MB");
    bytes = file.read(0, file.size(), "text");
  } catch (const Unreadable& error) {
    // It says what is asked: without it there is no question.
    complain(name, 1, error.problem().reason);
  }
  return read_toml({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name);
}

void complain(const std::string& file, unsigned line, const std::string& reason) {
  throw WrongUsage(fmt::format("{}:{}: {}", file, line, reason));
}

void only_keys(const TomlTable& in, const std::vector<std::string_view>& keys) {
  for (const auto& [key, value] : in.table->members) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    std::string where = in.section.empty() ? "" : fmt::format(" in [{}]", in.section);
    complain(in.file, value.line,
             fmt::format("unknown key {}{}{}", key, where, did_you_mean(key, keys)));
  }
}

std::string toml_text(const TomlTable& in, std::string_view key, bool required) {
  const Document* value = in.table->find(key);
  std::string text = value ? text_or_complain(in, key, *value) : "";
  bool blank = text.find_first_not_of(" \t\r\n") == std::string::npos;
  if (required && blank) {
    complain(in.file, value ? value->line : in.table->line,
             fmt::format("[{}] needs a {} that is not empty", in.section, key));
  }
  return text;
}

std::vector<std::string> toml_texts(const TomlTable& in, std::string_view key) {
  const Document* value = in.table->find(key);
  if (!value) return {};
  if (value->kind != Document::Kind::list) return {text_or_complain(in, key, *value)};
  std::vector<std::string> out;
  for (const Document& item : value->items) out.push_back(text_or_complain(in, key, item));
  return out;
}

std::vector<TomlTable> toml_tables(const TomlTable& in, std::string_view key) {
  const Document* value = in.table->find(key);
  if (!value) return {};
  std::string section = in.section.empty() ? std::string(key) : in.section + "." + std::string(key);
  auto wrong = [&](const Document& found) {
    complain(
        in.file, found.line,
        fmt::format("{} has to be tables, as in [[{}]], not {}", key, section, kind_text(found)));
  };
  if (value->kind != Document::Kind::list) wrong(*value);
  std::vector<TomlTable> out;
  for (const Document& item : value->items) {
    if (item.kind != Document::Kind::table) wrong(item);
    out.push_back({in.file, section, &item});
  }
  return out;
}

std::string nearest(std::string_view word, const std::vector<std::string_view>& words) {
  std::string best;
  word = word.substr(0, 64);  // no key of ours is longer, and the comparison takes their product
  // Farther than this is another word, not a slip.
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (std::string_view each : words) {
    std::size_t far = distance(word, each);
    if (far < least) {
      least = far;
      best = each;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& words) {
  std::string near = nearest(word, words);
  return near.empty() ? fmt::format("; known are: {}", fmt::join(words, ", "))
                      : fmt::format("; did you mean {}?", near);
}

std::string_view kind_text(const Document& value) {
  switch (value.kind) {
    case Document::Kind::null:
      return "nothing";
    case Document::Kind::boolean:
      return "true or false";
    case Document::Kind::integer:
    case Document::Kind::real:
      return "a number";
    case Document::Kind::text:
      return "a text";
    case Document::Kind::date:
      return "a date";
    case Document::Kind::list:
      return "a list";
    case Document::Kind::table:
      return "a table";
  }
  return "";
}

}  // namespace wheelvet
