#include "explain/read_log.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "facts/metadata.h"

namespace wheelvet {
namespace {

constexpr std::size_t longest_line = 16 * 1024;
constexpr std::size_t overlap = 4 * 1024;  // of the pieces of a longer line: more than any symbol
constexpr std::size_t most_messages = 200, most_packages = 500;
constexpr std::size_t longest_row = 200;  // of a list of packages

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool looks_like_version(std::string_view text) {
  std::size_t dot = text.find('.');
  return !text.empty() && is_digit(text.front()) && dot != std::string_view::npos &&
         dot + 1 < text.size() && is_digit(text[dot + 1]) && text.size() < 60 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '+' || c == '_';
         });
}

bool looks_like_package(std::string_view text) {
  return text.size() > 2 && text.size() < 60 &&
         std::isalpha(static_cast<unsigned char>(text.front())) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
         });
}

std::vector<std::string_view> blanks_apart(std::string_view line) {
  std::vector<std::string_view> out;
  while (!line.empty() && out.size() < 6) {
    std::size_t end = line.find(' ');
    if (end != 0) out.push_back(line.substr(0, end));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
  return out;
}

// A file that only a shared object can be: "libx.so.1", "_C.abi3.so".
bool is_shared_object(std::string_view name) {
  std::size_t at = name.find(".so");
  return at != std::string_view::npos && at > 0 && (at + 3 == name.size() || name[at + 3] == '.');
}

const MessageRule* rule_named(const ExplainRules& rules, std::string_view id) {
  for (const MessageRule& rule : rules.messages) {
    if (rule.id == id) return &rule;
  }
  return nullptr;
}

// "GLIBC_2.34" wherever it stands in a line.
std::string_view find_node(std::string_view line) {
  for (std::string_view family : {"GLIBCXX_", "CXXABI_", "GLIBC_"}) {
    std::size_t at = line.find(family);
    if (at == std::string_view::npos) continue;
    std::size_t end = at + family.size();
    while (end < line.size() && (is_digit(line[end]) || line[end] == '.')) ++end;
    if (end > at + family.size()) return line.substr(at, end - at);
  }
  return {};
}

}  // namespace

LogReader::LogReader(const ExplainRules& rules) : rules_(rules) {
  for (std::size_t i = 0; i < rules.messages.size(); ++i) {
    const std::vector<std::string>& texts = rules.messages[i].texts;
    for (std::size_t k = 0; k < texts.size(); ++k) {
      wordings_.push_back({read_pattern(texts[k]), i, k});
    }
  }
  for (std::size_t i = 0; i < wordings_.size(); ++i) {
    by_key_[wordings_[i].pattern.key].push_back(i);
  }
}

void LogReader::add(std::string_view bytes) {
  log_.bytes += bytes.size();
  for (char c : bytes) add_byte(c);
}

// ECMA-48: ESC [ parameters final; ESC ] text BEL or ESC \; anything else is ESC and one character.
void LogReader::add_byte(char c) {
  auto code = static_cast<unsigned char>(c);
  if (c == '\n' || c == '\r') {
    escape_ = Escape::outside;
    if (!pending_.empty()) end_line(true);
    if (c == '\n') ++log_.lines;
    return;
  }
  switch (escape_) {
    case Escape::start:
      escape_ = c == '[' ? Escape::sequence : c == ']' ? Escape::string : Escape::outside;
      return;
    case Escape::sequence:
      if (code >= 0x40 && code <= 0x7e) escape_ = Escape::outside;
      return;
    case Escape::string:
      if (code == 7 || code == 0x1b) escape_ = code == 7 ? Escape::outside : Escape::start;
      return;
    case Escape::outside:
      break;
  }
  if (code == 0x1b) {
    escape_ = Escape::start;
    return;
  }
  if (c == '\t') c = ' ';
  if (static_cast<unsigned char>(c) < 0x20 || code == 0x7f) {
    ++log_.unprintable;
    return;  // the zero bytes of UTF-16 go as well
  }
  if (c == ' ' && (pending_.empty() || pending_.back() == ' ')) return;
  pending_ += c;
  if (pending_.size() >= longest_line) end_line(false);
}

void LogReader::end_line(bool whole) {
  read_line(pending_);
  if (whole) {
    pending_.clear();
  } else {
    pending_.erase(0, pending_.size() - overlap);
  }
}

Log LogReader::end() {
  if (!pending_.empty()) {
    end_line(true);
    ++log_.lines;
  }
  return std::move(log_);
}

// The wordings whose key is a word of the line. "name==1.2", "name 1.2" and "name-1.2.dist-info"
// are taken in passing: they say what is installed.
void LogReader::read_words(std::string_view line, std::vector<std::size_t>& wordings) {
  for (std::size_t i = 0; i < line.size();) {
    if (!is_word_character(line[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < line.size() && is_word_character(line[end])) ++end;
    auto known = by_key_.find(line.substr(i, end - i));
    if (known != by_key_.end()) {
      wordings.insert(wordings.end(), known->second.begin(), known->second.end());
    }
    i = end;
  }
  if (line.size() > longest_row || log_.packages.size() >= most_packages) return;
  std::vector<std::string_view> words = blanks_apart(line);
  for (std::string_view word : words) {
    std::size_t equal = word.find("==");
    if (equal == std::string_view::npos) continue;
    std::string_view name = word.substr(0, equal), version = word.substr(equal + 2);
    if (!looks_like_package(name) || !looks_like_version(version)) continue;
    log_.packages.emplace(normalised_name(std::string(name)), version);
  }
  bool row = words.size() >= 2 && words.size() <= 4 && looks_like_package(words[0]) &&
             looks_like_version(words[1]);
  if (row) log_.packages.emplace(normalised_name(std::string(words[0])), words[1]);
}

// 'File ".../site-packages/vllm/_custom_ops.py", line 7, in <module>'
void LogReader::note_frame(std::string_view line) {
  constexpr std::string_view word = "File \"";
  std::size_t at = line.find(word);
  if (at == std::string_view::npos || line.find("-packages/", at) == std::string_view::npos) return;
  std::string_view path = line.substr(at + word.size());
  frame_ = path.substr(0, path.find('"'));
}

void LogReader::read_line(std::string_view line) {
  while (line.ends_with(' ')) line.remove_suffix(1);
  note_frame(line);
  std::vector<std::size_t> wordings;
  read_words(line, wordings);
  std::sort(wordings.begin(), wordings.end());
  wordings.erase(std::unique(wordings.begin(), wordings.end()), wordings.end());
  std::set<std::size_t> done;
  bool known = false;
  for (std::size_t index : wordings) {
    const Wording& wording = wordings_[index];
    const MessageRule& rule = rules_.messages[wording.message];
    if (done.contains(wording.message)) continue;
    bool excluded = std::any_of(rule.unless.begin(), rule.unless.end(), [&](const auto& text) {
      return line.find(text) != std::string_view::npos;
    });
    std::optional<Parts> parts = excluded ? std::nullopt : match(wording.pattern, line);
    if (!parts) continue;
    done.insert(wording.message);
    known = known || rule.about != "context";
    keep(rule, std::move(*parts), line);
  }
  if (!known) try_shapes(line);
}

// The C library's messages are translated in other locales; file, symbol and version are not.
void LogReader::try_shapes(std::string_view line) {
  std::size_t at = 0;
  for (std::string_view name : {"ImportError: ", "OSError: ", "symbol lookup error: "}) {
    std::size_t found = line.find(name);
    if (found != std::string_view::npos) at = std::max(at, found + name.size());
  }
  std::string_view rest = line.substr(at);
  std::size_t colon = rest.find(": ");
  if (colon == std::string_view::npos) return;
  std::string_view file = rest.substr(0, colon);
  file = file.substr(file.rfind(' ') == std::string_view::npos ? 0 : file.rfind(' ') + 1);
  if (!is_shared_object(base_name(file))) return;
  std::string_view said = rest.substr(colon + 2);
  Parts parts;
  std::string_view node = find_node(said);
  std::size_t mangled = said.find("_Z");
  if (!node.empty()) {
    parts["library"] = file;
    parts["node"] = node;
    std::size_t path = said.rfind('/');
    std::size_t start = path == std::string_view::npos ? path : said.find_last_of(" (", path);
    if (start != std::string_view::npos && path != std::string_view::npos) {
      std::size_t end = said.find_first_of(") ", path);
      parts["file"] = said.substr(start + 1, end == std::string_view::npos ? end : end - start - 1);
    }
    if (const MessageRule* rule = rule_named(rules_, "version not found")) keep(*rule, parts, line);
  } else if (mangled != std::string_view::npos) {
    std::size_t end = mangled;
    while (end < said.size() && (is_word_character(said[end]) || said[end] == '.')) ++end;
    parts["file"] = file;
    parts["symbol"] = said.substr(mangled, end - mangled);
    if (const MessageRule* rule = rule_named(rules_, "undefined symbol")) keep(*rule, parts, line);
  } else if (at > 0 && said.find(": ") != std::string_view::npos &&
             file.find('/') == std::string_view::npos) {
    // "<soname>: <cannot open>: <no such file>" behind Python's own word
    parts["library"] = file;
    parts["translated"] = "yes";
    if (const MessageRule* rule = rule_named(rules_, "cannot open shared object file"))
      keep(*rule, parts, line);
  }
}

void LogReader::keep(const MessageRule& rule, Parts parts, std::string_view line) {
  if (rule.about == "context") {
    for (auto& [name, value] : parts) {
      auto& facts = name == "torch" ? log_.packages : log_.facts;
      if (name != "torch" || looks_like_version(value)) facts.emplace(name, value);
    }
    return;
  }
  std::string key = rule.id;
  for (const auto& [name, value] : parts) key += '\n' + name + '\n' + value;
  auto known = kept_.find(key);
  if (known != kept_.end()) {
    ++log_.said[known->second].times;
    return;
  }
  if (log_.said.size() == most_messages) {
    log_.cut = true;
    return;
  }
  for (const auto& [name, value] : rule.parts) parts.emplace(name, value);
  kept_.emplace(std::move(key), log_.said.size());
  log_.said.push_back({&rule, std::move(parts), std::string(line), frame_, log_.lines + 1, 1});
}

}  // namespace wheelvet
