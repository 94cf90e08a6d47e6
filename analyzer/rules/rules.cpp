#include "rules/rules.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cstdlib>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>

#include "embedded_rules.h"
#include "rules/cuda_rules.h"
#include "rules/device_rules.h"
#include "rules/embedded_texts.h"
#include "rules/library_table.h"
#include "rules/messages.h"
#include "rules/toml_document.h"
#include "rules/toml_text.h"
#include "wheelvet/link.h"
#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

toml::table parse(const char* name) {
  try {
    return toml::parse(rules_text(name), std::string_view(name));
  } catch (const toml::parse_error& error) {
    throw WrongUsage(
        fmt::format("rules/{}:{}: {}", name, error.source().begin.line, error.description()));
  }
}

std::string text(const toml::table& table, std::string_view key) {
  return table[key].value_or(std::string());
}

std::vector<std::string> texts(const toml::table& table, std::string_view key) {
  std::vector<std::string> out;
  if (const toml::array* array = table[key].as_array()) {
    for (const toml::node& node : *array) out.push_back(node.value_or(std::string()));
  } else if (auto one = table[key].value<std::string>()) {
    out.push_back(*one);
  }
  return out;
}

// Calls `each` for every table of an array of tables.
template <class Each>
void each_table(const toml::table& table, std::string_view key, Each&& each) {
  const toml::array* array = table[key].as_array();
  if (!array) return;
  for (const toml::node& node : *array) {
    if (const toml::table* entry = node.as_table()) each(*entry);
  }
}

// A list of ["folder", "file name pattern"].
std::vector<std::pair<std::string, std::string>> name_pairs(const toml::table& table,
                                                            std::string_view key) {
  std::vector<std::pair<std::string, std::string>> out;
  if (const toml::array* pairs = table[key].as_array()) {
    for (const toml::node& node : *pairs) {
      const toml::array& pair = *node.as_array();
      out.emplace_back(pair[0].value_or(std::string()), pair[1].value_or(std::string()));
    }
  }
  return out;
}

void read_imports(Rules& rules) {
  toml::table file = parse("imports.toml");
  each_table(file, "family", [&](const toml::table& entry) {
    rules.families.push_back(
        {text(entry, "kind"), texts(entry, "namespaces"), texts(entry, "prefixes")});
  });
  each_table(file, "alternatives", [&](const toml::table& entry) {
    rules.alternatives.push_back({text(entry, "package"), texts(entry, "roots"), text(entry, "by"),
                                  entry["optional"].value_or(false)});
  });
  each_table(file, "import", [&](const toml::table& entry) {
    ImportRule& rule = rules.imports.emplace_back();
    rule.module = text(entry, "module");
    rule.package = text(entry, "package");
    rule.statement = entry["statement"].value_or(true);
    rule.needed_by = texts(entry, "needed_by");
    rule.roots = texts(entry, "roots");
    each_table(entry, "step", [&](const toml::table& step) {
      ImportStep& out = rule.steps.emplace_back();
      out.open = text(step, "open");
      out.global = text(step, "mode") == "global";
      out.optional = step["optional"].value_or(false);
      out.since = text(step, "since");
      out.until = text(step, "until");
      out.only_if_loaded = text(step, "only_if_loaded");
      out.preload = name_pairs(step, "preload");
      out.rescue = name_pairs(step, "rescue");
    });
  });
}

void read_dlopens(Rules& rules) {
  toml::table file = parse("dlopens.toml");
  each_table(file, "dlopen", [&](const toml::table& entry) {
    rules.dlopens.push_back({text(entry, "by"), texts(entry, "opens")});
  });
}

void read_policies(Rules& rules) {
  toml::table file = parse("policies.toml");
  if (const toml::table* newest = file["newest"].as_table()) {
    for (auto&& [key, value] : *newest) {
      rules.newest_versions[std::string(key.str())] = value.value_or(std::string());
    }
  }
  each_table(file, "policy", [&](const toml::table& entry) {
    PolicyRule& rule = rules.policies.emplace_back();
    rule.name = text(entry, "name");
    rule.aliases = texts(entry, "aliases");
    rule.arch = text(entry, "arch");
    rule.libraries = texts(entry, "libraries");
    if (const toml::table* versions = entry["versions"].as_table()) {
      for (auto&& [key, value] : *versions) {
        rule.versions[std::string(key.str())] = texts(*versions, key.str());
      }
    }
    if (const toml::table* forbidden = entry["forbidden"].as_table()) {
      for (auto&& [key, value] : *forbidden) {
        rule.forbidden[std::string(key.str())] = texts(*forbidden, key.str());
      }
    }
  });
}

Document document_of(const toml::node& node) {
  Document out;
  if (const toml::table* table = node.as_table()) {
    out = empty_table();
    for (auto&& [key, value] : *table) out.set(std::string(key.str()), document_of(value));
  } else if (const toml::array* array = node.as_array()) {
    out = empty_list();
    for (const toml::node& item : *array) out.add(document_of(item));
  } else if (const auto* text = node.as_string()) {
    out = text->get();
  } else if (const auto* truth = node.as_boolean()) {
    out = truth->get();
  } else if (const auto* integer = node.as_integer()) {
    out.kind = Document::Kind::integer;
    out.integer = integer->get();
  } else if (const auto* real = node.as_floating_point()) {
    out.kind = Document::Kind::real;
    out.real = real->get();
  } else if (const auto* date = node.as_date()) {
    out = fmt::format("{:04}-{:02}-{:02}", date->get().year, date->get().month, date->get().day);
    out.kind = Document::Kind::date;
  }
  out.line = node.source().begin.line;
  return out;
}

std::vector<std::string_view> words(std::string_view line, char separator) {
  std::vector<std::string_view> out;
  while (!line.empty()) {
    std::size_t end = line.find(separator);
    std::string_view word = line.substr(0, end);
    if (!word.empty()) out.push_back(word);
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
  return out;
}

// "3.9-3.12,3.14" as bits over the columns; a trailing '?' marks a column that was guessed.
std::uint32_t column_bits(const std::vector<std::string>& columns, std::string_view list) {
  auto index = [&](std::string_view name) {
    if (name.ends_with('?')) name.remove_suffix(1);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] == name) return i;
    }
    throw WrongUsage(fmt::format("rules/exports: no column {}", name));
  };
  std::uint32_t bits = 0;
  for (std::string_view range : words(list, ',')) {
    std::size_t dash = range.find('-');
    std::size_t first = index(range.substr(0, dash));
    std::size_t last = dash == std::string_view::npos ? first : index(range.substr(dash + 1));
    for (std::size_t i = first; i <= last; ++i) bits |= 1u << i;
  }
  return bits;
}

}  // namespace

Document read_toml(std::string_view text, const std::string& name) {
  try {
    return document_of(toml::parse(text, std::string_view(name)));
  } catch (const toml::parse_error& error) {
    throw WrongUsage(
        fmt::format("{}:{}: {}", name, error.source().begin.line, error.description()));
  }
}

ExportTable read_export_table(std::string_view lines) {
  ExportTable table;
  constexpr std::string_view columns = "# columns:";
  while (!lines.empty()) {
    std::size_t end = lines.find('\n');
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    if (line.starts_with(columns)) {
      for (std::string_view name : words(line.substr(columns.size()), ' ')) {
        table.columns.emplace_back(name);
      }
      if (table.columns.size() > 32) throw WrongUsage("rules/exports: more than 32 columns");
    }
    if (line.empty() || line.front() == '#') continue;
    std::size_t tab = line.find('\t');
    std::uint32_t bits =
        tab == std::string_view::npos ? ~0u : column_bits(table.columns, line.substr(tab + 1));
    table.names.emplace(line.substr(0, tab), bits);
  }
  return table;
}

namespace {

std::string_view embedded_text(std::string_view name) {
  for (unsigned i = 0; i < detail::embedded_file_count; ++i) {
    const detail::EmbeddedFile& file = detail::embedded_files[i];
    if (name == file.name) {
      return {reinterpret_cast<const char*>(file.begin),
              static_cast<std::size_t>(file.end - file.begin)};
    }
  }
  return {};
}

}  // namespace

std::vector<std::pair<std::string_view, std::string_view>> embedded_texts() {
  std::vector<std::pair<std::string_view, std::string_view>> out;
  for (unsigned i = 0; i < detail::embedded_file_count; ++i) {
    std::string_view name = detail::embedded_files[i].name;
    out.emplace_back(name, embedded_text(name));
  }
  return out;
}

std::string_view rules_text(std::string_view name) {
  const char* folder = std::getenv("WHEELVET_RULES");
  if (!folder || !*folder) return embedded_text(name);
  // Kept for the life of the process: views into them are handed out.
  static std::map<std::string, std::string, std::less<>> files;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  auto known = files.find(name);
  if (known == files.end()) {
    std::ifstream in(std::string(folder) + "/" + std::string(name), std::ios::binary);
    if (!in) return embedded_text(name);
    std::string content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    known = files.emplace(name, std::move(content)).first;
  }
  return known->second;
}

Rules load_names() {
  Rules rules;
  rules.libraries = read_library_table(rules_text("libraries.txt"));
  for (std::size_t i = 0; i < rules.libraries.size(); ++i) {
    const std::string& soname = rules.libraries[i].soname;
    if (soname.find('*') == std::string::npos) {
      rules.by_soname.emplace(soname, i);
    } else {
      rules.by_pattern.push_back(i);
    }
  }
  read_imports(rules);
  return rules;
}

Rules load_rules() {
  Rules rules = load_names();
  read_policies(rules);
  read_dlopens(rules);
  return rules;
}

DeviceRules load_device_rules() {
  DeviceRules rules;
  toml::table file = parse("device.toml");
  auto number = [](const toml::table& entry, std::string_view key) {
    return static_cast<std::uint16_t>(entry[key].value_or(std::int64_t{0}));
  };
  auto numbers = [](const toml::table& entry, std::string_view key) {
    std::vector<std::uint16_t> out;
    if (const toml::array* array = entry[key].as_array()) {
      for (const toml::node& node : *array) {
        out.push_back(static_cast<std::uint16_t>(node.value_or(std::int64_t{0})));
      }
    }
    return out;
  };
  each_table(file, "gpu", [&](const toml::table& entry) {
    rules.gpus.push_back({number(entry, "arch"), text(entry, "since"),
                          entry["alone"].value_or(false), texts(entry, "products")});
  });
  each_table(file, "family", [&](const toml::table& entry) {
    rules.families.push_back({number(entry, "arch"), numbers(entry, "runs_on")});
  });
  each_table(file, "ptx", [&](const toml::table& entry) {
    std::string cuda = text(entry, "cuda");
    for (const auto& [release, driver] : driver_rules().releases) {
      if (release == cuda) rules.releases.push_back({cuda, text(entry, "version"), driver});
    }
  });
  each_table(file, "use", [&](const toml::table& entry) {
    rules.uses.push_back({text(entry, "package"), text(entry, "library"), numbers(entry, "on"),
                          numbers(entry, "not_on"), text(entry, "because")});
  });
  return rules;
}

const std::vector<CatalogEntry>& load_catalog() {
  static const std::vector<CatalogEntry> catalog = [] {
    std::vector<CatalogEntry> out;
    toml::table file = parse("catalog.toml");
    each_table(file, "rule", [&](const toml::table& entry) {
      out.push_back({text(entry, "id"), text(entry, "severity"), text(entry, "title"),
                     text(entry, "why"), text(entry, "fix"), text(entry, "source")});
    });
    return out;
  }();
  return catalog;
}

const ExportTable* export_table(const std::string& name) {
  static std::map<std::string, std::unique_ptr<ExportTable>> tables;
  static std::mutex mutex;  // roots are bound on several threads; entries never move
  std::lock_guard lock(mutex);
  auto known = tables.find(name);
  if (known == tables.end()) {
    std::string_view lines = name.empty() ? "" : rules_text("exports/" + name + ".txt");
    known =
        tables
            .emplace(name, lines.empty() ? nullptr
                                         : std::make_unique<ExportTable>(read_export_table(lines)))
            .first;
  }
  return known->second.get();
}

// The rows are sorted by their bytes: found by halving, since a short run asks for few of them.
std::string_view distro_package(std::string_view soname) {
  std::string_view rows = rules_text("distro.txt");
  if (rows.starts_with('#')) rows.remove_prefix(std::min(rows.find('\n'), rows.size() - 1) + 1);
  while (!rows.empty()) {
    std::size_t begin = rows.rfind('\n', rows.size() / 2);
    begin = begin == std::string_view::npos || begin + 1 == rows.size() ? 0 : begin + 1;
    std::size_t end = std::min(rows.find('\n', begin), rows.size());
    std::string_view row = rows.substr(begin, end - begin);
    std::size_t tab = std::min(row.find('\t'), row.size());
    int order = soname.compare(row.substr(0, tab));
    if (order == 0) return row.substr(std::min(tab + 1, row.size()));
    rows = order < 0 ? rows.substr(0, begin) : rows.substr(std::min(end + 1, rows.size()));
  }
  return {};
}

std::size_t library_of(const Rules& rules, std::string_view soname) {
  auto named = rules.by_soname.find(std::string(soname));
  if (named != rules.by_soname.end()) return named->second;
  for (std::size_t i : rules.by_pattern) {
    if (matches(rules.libraries[i].soname, soname)) return i;
  }
  return none;
}

bool matches(std::string_view pattern, std::string_view text) {
  std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  std::string_view rest = pattern.substr(star + 1);
  for (std::size_t at = star; at <= text.size(); ++at) {
    if (matches(rest, text.substr(at))) return true;
    if (at < text.size() && text[at] == '/') return false;
  }
  return false;
}

int compare_versions(std::string_view a, std::string_view b) {
  auto number = [](std::string_view& text) {
    long value = 0;
    std::size_t i = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9' && value < 100000000; ++i) {
      value = value * 10 + (text[i] - '0');
    }
    text.remove_prefix(i);
    if (!text.empty() && text.front() == '.') {
      text.remove_prefix(1);
    } else {
      text = {};  // a suffix such as "+cu130" or "rc1" does not take part
    }
    return value;
  };
  while (!a.empty() || !b.empty()) {
    long left = number(a), right = number(b);
    if (left != right) return left < right ? -1 : 1;
  }
  return 0;
}

namespace {

// A table whose values are texts, in the order of its keys.
std::vector<std::pair<std::string, std::string>> text_pairs(const toml::table& table,
                                                            std::string_view key) {
  std::vector<std::pair<std::string, std::string>> out;
  if (const toml::table* pairs = table[key].as_table()) {
    for (auto&& [name, value] : *pairs) {
      out.emplace_back(std::string(name.str()), value.value_or(std::string()));
    }
  }
  return out;
}

std::vector<MessageFix> read_fixes(const toml::table& table) {
  std::vector<MessageFix> out;
  each_table(table, "fix", [&](const toml::table& entry) {
    out.push_back({text(entry, "side"), text(entry, "say"), text(entry, "run")});
  });
  return out;
}

std::vector<MessageRule> read_messages() {
  std::vector<MessageRule> messages;
  toml::table file = parse("messages.toml");
  each_table(file, "message", [&](const toml::table& entry) {
    MessageRule& rule = messages.emplace_back();
    rule.id = text(entry, "id");
    rule.about = text(entry, "about");
    rule.texts = texts(entry, "text");
    rule.unless = texts(entry, "unless");
    rule.kind = text(entry, "kind");
    rule.say = text(entry, "say");
    rule.wants = text(entry, "wants");
    rule.has = text(entry, "has");
    rule.parts = text_pairs(entry, "parts");
    rule.fixes = read_fixes(entry);
    rule.shows = texts(entry, "show");
    rule.unknown = texts(entry, "unknown");
    rule.hides = entry["hides"].value_or(false);
    rule.mentions = entry["mentions"].value_or(false);
  });
  return messages;
}

void read_toolkit_facts(const toml::table& file, ExplainRules& rules) {
  each_table(file, "architecture", [&](const toml::table& entry) {
    rules.architectures.push_back(
        {text(entry, "name"), text(entry, "since"), text(entry, "until"), text(entry, "gpus")});
  });
  each_table(file, "development", [&](const toml::table& entry) {
    rules.development.push_back(
        {texts(entry, "headers"), texts(entry, "links"), texts(entry, "pip"), text(entry, "apt")});
  });
  each_table(file, "bundled", [&](const toml::table& entry) {
    rules.bundled.push_back({text(entry, "package"), text(entry, "tool"), text(entry, "since"),
                             text(entry, "version"), text(entry, "variable"),
                             text(entry, "least_arch")});
  });
}

}  // namespace

std::string_view table_value(std::string_view table, std::string_view name) {
  std::string_view lines = rules_text(table);
  std::string start = std::string(name) + "\t";
  for (std::size_t at = 0; (at = lines.find(start, at)) != std::string_view::npos; ++at) {
    if (at > 0 && lines[at - 1] != '\n') continue;
    std::size_t from = at + start.size();
    return lines.substr(from, lines.find('\n', from) - from);
  }
  return {};
}

ExplainRules load_explain_rules() {
  // Most of the time of an answer is the parsing of these: two at once.
  std::future<std::vector<MessageRule>> messages = std::async(std::launch::async, read_messages);
  ExplainRules rules;
  toml::table file = parse("explain.toml");
  read_toolkit_facts(file, rules);
  toml::table drivers = parse("driver.toml");
  each_table(drivers, "major", [&](const toml::table& entry) {
    rules.drivers.emplace_back(text(entry, "cuda"), text(entry, "driver"));
  });
  each_table(file, "node", [&](const toml::table& entry) {
    rules.nodes.push_back({text(entry, "name"), text(entry, "gcc")});
  });
  each_table(file, "distribution", [&](const toml::table& entry) {
    rules.distributions.push_back({text(entry, "name"), text(entry, "glibc"), text(entry, "gcc")});
  });
  each_table(file, "symbol", [&](const toml::table& entry) {
    rules.symbols.push_back({texts(entry, "names"), texts(entry, "namespaces"), text(entry, "kind"),
                             text(entry, "owner"), text(entry, "package"), text(entry, "since"),
                             text(entry, "say"), read_fixes(entry)});
  });
  each_table(file, "path", [&](const toml::table& entry) {
    rules.paths.push_back({text(entry, "path"), text(entry, "owner"), text(entry, "kind")});
  });
  each_table(file, "pair", [&](const toml::table& entry) {
    rules.pairs.push_back(
        {text(entry, "package"), text(entry, "with"), text_pairs(entry, "releases")});
  });
  rules.messages = messages.get();
  return rules;
}

namespace {

std::vector<std::string> plain_values(const toml::node& node) {
  std::vector<std::string> out;
  if (const toml::array* array = node.as_array()) {
    for (const toml::node& each : *array) {
      for (std::string& value : plain_values(each)) out.push_back(std::move(value));
    }
  } else if (auto text = node.value<std::string>()) {
    out.push_back(*text);
  } else if (const auto* truth = node.as_boolean()) {
    out.push_back(truth->get() ? "true" : "false");
  } else if (const auto* number = node.as_integer()) {
    out.push_back(fmt::format("{}", number->get()));
  }
  return out;
}

TomlTable plain_table(const toml::table& table) {
  TomlTable out;
  for (const auto& [key, node] : table) {
    if (!node.is_table()) out.emplace(std::string(key.str()), plain_values(node));
  }
  return out;
}

}  // namespace

TomlText read_toml(std::string_view text, std::string_view name) {
  TomlText out;
  try {
    toml::table file = toml::parse(text, name);
    for (const auto& [key, node] : file) {
      std::string word(key.str());
      if (const toml::table* table = node.as_table()) {
        out[word].push_back(plain_table(*table));
      } else if (const toml::array* array = node.as_array(); array && array->is_array_of_tables()) {
        for (const toml::node& each : *array) out[word].push_back(plain_table(*each.as_table()));
      } else {
        if (out[""].empty()) out[""].emplace_back();
        out[""].front()[word] = plain_values(node);
      }
    }
  } catch (const toml::parse_error& error) {
    throw WrongUsage(
        fmt::format("{}:{}: {}", name, error.source().begin.line, error.description()));
  }
  return out;
}

const std::vector<std::string>& toml_values(const TomlTable& table, std::string_view key) {
  static const std::vector<std::string> nothing;
  auto found = table.find(key);
  return found == table.end() ? nothing : found->second;
}

std::string toml_value(const TomlTable& table, std::string_view key) {
  const std::vector<std::string>& values = toml_values(table, key);
  return values.empty() ? std::string() : values.front();
}

}  // namespace wheelvet
