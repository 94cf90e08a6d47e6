#include "doctor/nccl_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <set>

#include "doctor/new_finding.h"
#include "doctor/read_only_data.h"
#include "doctor/words.h"
#include "facts/library_release.h"
#include "input/random_file.h"
#include "machine/tree.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_text = 1u << 20;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return out;
}

bool one_of(const std::vector<std::string>& words, std::string_view word, bool any_case) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& each) {
    return any_case ? lower(each) == lower(word) : each == word;
  });
}

// src/graph/tuning.cc, parseList: lists by function between ';', elements between ','; a '^' at the
// front of a list turns it round; any case; blanks belong to the word.
void judge_list(const std::vector<std::string>& words, NcclSetting& out) {
  static const std::vector<std::string> functions = {"Broadcast", "Reduce", "AllGather",
                                                     "ReduceScatter", "AllReduce"};
  out.effective = out.given.empty() ? "default" : out.given;
  std::vector<std::string_view> lists = split_at(out.given, ';');
  for (std::size_t i = 0; i < lists.size() && !out.given.empty(); ++i) {
    std::string_view list = lists[i];
    std::size_t colon = list.find(':');
    if (colon == std::string_view::npos && i > 0) {
      out.fault = fmt::format("'{}': only the first list may stand without a function", list);
    } else if (colon != std::string_view::npos && !one_of(functions, list.substr(0, colon), true)) {
      out.fault = fmt::format("'{}' is no function ({})", list.substr(0, colon),
                              fmt::join(functions, ", "));
    }
    if (colon != std::string_view::npos) list.remove_prefix(colon + 1);
    if (list.starts_with('^')) list.remove_prefix(1);
    for (std::string_view word : split_at(list, ',')) {
      if (one_of(words, word, true) || !out.fault.empty()) continue;
      bool caret = word.starts_with('^') && one_of(words, word.substr(1), true);
      out.fault = caret ? fmt::format("'{}': '^' stands once, before the whole list", word)
                        : fmt::format("'{}' is none of {}", word, fmt::join(words, ", "));
    }
  }
  out.fails = !out.fault.empty();
  if (out.fails) out.effective = "none: ncclCommInit fails with ncclInvalidUsage";
}

// src/graph/paths.cc: words in their exact spelling; a digit at the front is the scale of old.
void judge_level(const std::vector<std::string>& words, NcclSetting& out) {
  static const char* old_levels[] = {"LOC", "PIX", "PXB", "PHB", "SYS", "SYS"};
  out.effective = out.given;
  if (one_of(words, out.given, false)) return;
  bool digit = !out.given.empty() && out.given[0] >= '0' && out.given[0] <= '9';
  if (digit) {
    long level = std::strtol(out.given.c_str(), nullptr, 0);
    out.effective = level < 6 ? old_levels[level] : "SYS";
    if (level > 5) out.fault = "numbers above 5 mean SYS";
    return;
  }
  out.effective = "default";
  if (out.given.empty()) return;
  std::string upper;
  for (char c : out.given) upper += static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  out.fault = one_of(words, upper, false)
                  ? "ignored without a word: the level is read in capitals only"
                  : fmt::format("ignored without a word: none of {}", fmt::join(words, ", "));
}

// src/misc/param.cc: strtoll with base 0; only a number out of range is refused.
long long parsed(const std::string& value, std::string& fault, bool& refused) {
  char* end = nullptr;
  errno = 0;
  long long number = std::strtoll(value.c_str(), &end, 0);
  refused = errno == ERANGE;
  if (refused) fault = "out of range: the default is used";
  if (!refused && *end != '\0') {
    fault = end == value.c_str() ? "read as 0: no number"
                                 : fmt::format("read as {}: '{}' is not read", number, end);
  }
  return number;
}

void judge_number(const TomlTable& rule, NcclSetting& out) {
  bool refused = false;
  if (out.given.empty()) {  // ncclLoadParam asks for a value of some length
    out.effective = "default";
    return;
  }
  long long number = parsed(out.given, out.fault, refused);
  std::string form = toml_value(rule, "form");
  std::string least = toml_value(rule, "least"), most = toml_value(rule, "most");
  if (refused) {
    out.effective = "default";
    return;
  }
  if (form == "threads") {
    long long low = std::atoll(least.c_str()), high = std::atoll(most.c_str()), taken = number;
    if (number <= 0) {
      out.effective = "default";
      if (out.fault.empty()) out.fault = "not above 0: the default is used";
      return;
    }
    if (number % 32 != 0) taken = std::atoll(toml_value(rule, "fallback").c_str());
    taken = std::clamp(taken, low, high);
    if (taken != number && out.fault.empty()) {
      out.fault = number % 32 != 0
                      ? fmt::format("not a multiple of 32: {} is used", taken)
                      : fmt::format("outside of {} to {}: {} is used", least, most, taken);
    }
    number = taken;
  } else if (!most.empty()) {
    long long taken = std::clamp(number, std::atoll(least.c_str()), std::atoll(most.c_str()));
    if (taken != number && out.fault.empty())
      out.fault = fmt::format("outside of {} to {}: {} is used", least, most, taken);
    number = taken;
  } else if (form == "bytes" && number <= 0 && out.fault.empty()) {
    out.fault = "no size";
  }
  out.effective = fmt::format("{}", number);
}

bool is_name_letter(char c) { return c == '_' || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// The library's own NCCL_* words, and its release.
void read_library(NcclFacts& out, const std::string& path) {
  std::set<std::string> names;
  try {
    std::string text = read_only_data(path);
    for (std::size_t at = text.find("NCCL_"); at != std::string_view::npos;
         at = text.find("NCCL_", at + 1)) {
      if (at > 0 && is_name_letter(text[at - 1])) continue;
      std::size_t end = at;
      while (end < text.size() && is_name_letter(text[end])) ++end;
      if (end - at > 6 && end - at < 64) names.emplace(text.substr(at, end - at));
    }
    RandomFile file(path);
    std::string release = stated_release(view_of(file), "libnccl.so.2");
    out.version = release.substr(0, release.find('+'));
  } catch (const Unreadable&) {
    // `check` says what is wrong with the file; here it only gives no names.
  }
  out.names.assign(names.begin(), names.end());
}

const TomlTable* rule_of(const TomlText& rules, const std::string& name) {
  auto tables = rules.find("nccl");
  if (tables == rules.end()) return nullptr;
  for (const TomlTable& table : tables->second) {
    if (one_of(toml_values(table, "names"), name, false)) return &table;
  }
  return nullptr;
}

// The variables of a start with those of the files behind them; what is overridden is told.
std::vector<std::pair<std::string, Variable>> merged(const HostFacts& host, const Start& start,
                                                     std::vector<std::string>* overridden) {
  std::map<std::string, Variable> out;
  for (const auto& [name, variable] : start.effective) {
    if (name.starts_with("NCCL_")) out.emplace(name, variable);
  }
  for (const auto& [path, text] : host.nccl.files) {
    unsigned number = 0;
    for (std::string_view line : lines_of(text)) {
      ++number;
      std::size_t equal = line.find('=');
      if (line.starts_with('#') || equal == std::string_view::npos) continue;
      Variable variable{std::string(line.substr(equal + 1)), fmt::format("{}:{}", path, number),
                        true};
      auto [known, fresh] = out.emplace(std::string(line.substr(0, equal)), variable);
      bool differs = !fresh && known->second.value != variable.value;
      if (differs && overridden) {
        overridden->push_back(fmt::format("{}: {}={} gives way to {} ({})", variable.from,
                                          known->first, variable.value, known->second.value,
                                          known->second.from));
      }
    }
  }
  return {out.begin(), out.end()};
}

// The names that the library holds; without one those that rules/ know.
std::vector<std::string> known_names(const HostFacts& host, const TomlText& rules) {
  if (!host.nccl.names.empty()) return host.nccl.names;
  std::vector<std::string> known;
  auto tables = rules.find("nccl");
  for (const TomlTable& table : tables == rules.end() ? std::vector<TomlTable>{} : tables->second) {
    const std::vector<std::string>& names = toml_values(table, "names");
    known.insert(known.end(), names.begin(), names.end());
  }
  return known;
}

std::string shown(const NcclSetting& each) {
  return fmt::format("{}={} ({})", each.name, each.given, each.from);
}

void judge_unknown(const HostFacts& host, const NcclSetting& each,
                   const std::vector<std::string>& known, std::vector<Finding>& findings) {
  std::string near = nearest_name(each.name, known);
  if (near.empty() && host.nccl.names.empty()) return;  // rules/ do not know all names
  std::string where = host.nccl.version.empty()
                          ? "NCCL"
                          : fmt::format("NCCL {} ({})", host.nccl.version, host.nccl.library);
  Finding& finding = findings.emplace_back(
      new_finding("NCV-004", near.empty() ? Severity::note : Severity::warning,
                  fmt::format("{} is no variable of {}", each.name, where)));
  finding.evidence = {shown(each)};
  finding.fix = near.empty() ? "a plugin may read it; otherwise take it out"
                             : fmt::format("{}={}", near, each.given);
}

void judge_setting(const NcclSetting& each, const TomlTable* rule, std::vector<Finding>& findings) {
  if (each.fails) {
    Finding& finding = findings.emplace_back(
        new_finding("NCV-001", Severity::error,
                    fmt::format("{} makes NCCL fail: {}", shown(each), each.fault)));
    if (rule)
      finding.fix =
          fmt::format("{}: one of {}", each.name, fmt::join(toml_values(*rule, "words"), ", "));
  } else if (!each.fault.empty()) {
    bool ignored = each.effective == "default";
    Finding& finding =
        findings.emplace_back(new_finding(ignored ? "NCV-002" : "NCV-003", Severity::warning,
                                          fmt::format("{}: {}", shown(each), each.fault)));
    finding.evidence = {fmt::format("effective: {}", each.effective)};
    finding.fix = "write the value that is meant";
  } else if (!each.risk.empty()) {
    Finding& finding = findings.emplace_back(new_finding(
        "NCV-005", Severity::note, fmt::format("{} is a setting to measure", shown(each))));
    finding.evidence = {each.risk};
    finding.fix = "wheelvet probe --tune measures it on this machine";
  }
}

void judge_record(const HostFacts& host, const TuningRecord& record,
                  std::vector<Finding>& findings) {
  std::vector<std::string> changed;
  if (!host.nccl.version.empty() && !record.nccl.empty() &&
      !record.nccl.starts_with(host.nccl.version)) {
    changed.push_back(fmt::format("measured with NCCL {}, now {}", record.nccl, host.nccl.version));
  }
  if (!host.driver.kernel.empty() && !record.driver.empty() &&
      record.driver != host.driver.kernel) {
    changed.push_back(
        fmt::format("measured with driver {}, now {}", record.driver, host.driver.kernel));
  }
  if (changed.empty()) return;
  Finding& finding = findings.emplace_back(
      new_finding("NCV-007", Severity::warning,
                  "tuning was measured with other software and is unverified now", record.path));
  finding.evidence = changed;
  finding.evidence.insert(finding.evidence.end(), record.settings.begin(), record.settings.end());
  finding.fix = "wheelvet probe --tune --record " + record.path;
}

}  // namespace

NcclSetting judge_nccl(const TomlTable& rule, std::string name, std::string value) {
  NcclSetting out;
  out.name = std::move(name);
  out.given = std::move(value);
  std::string form = toml_value(rule, "form");
  if (form == "list") {
    judge_list(toml_values(rule, "words"), out);
  } else if (form == "level") {
    judge_level(toml_values(rule, "words"), out);
  } else if (form == "text" || form == "other") {
    out.effective = out.given;
  } else {
    judge_number(rule, out);
  }
  out.risk = toml_value(rule, "why");
  return out;
}

NcclFacts read_nccl(const HostFacts& host) {
  NcclFacts out;
  const std::string& root = host.machine.root;
  for (const std::string& folder : host.sys_path) {
    std::string path = folder + "/nvidia/nccl/lib/libnccl.so.2";
    if (!is_file(root, path)) continue;
    out.library = path;
    break;
  }
  if (out.library.empty()) {
    auto cached = host.machine.cache.find("libnccl.so.2");
    if (cached != host.machine.cache.end() && is_file(root, cached->second))
      out.library = cached->second;
  }
  if (!out.library.empty()) read_library(out, on_this_host(root, out.library));
  const Variables& here = host.starts.front().effective;
  auto named = here.find("NCCL_CONF_FILE");
  std::vector<std::string> paths;
  if (named != here.end() && !named->second.value.empty()) {
    paths.push_back(named->second.value);
  } else if (!host.account_home.empty()) {  // src/misc/param.cc: getpwuid, not HOME
    paths.push_back(host.account_home + "/.nccl.conf");
  }
  paths.push_back("/etc/nccl.conf");
  for (const std::string& path : paths) {
    if (is_file(root, path)) out.files.emplace_back(path, text_of(root, path, most_text));
  }
  return out;
}

std::vector<NcclSetting> nccl_settings(const HostFacts& host, const TomlText& rules) {
  std::vector<NcclSetting> out;
  for (const Start& start : host.starts) {
    for (const auto& [name, variable] : merged(host, start, nullptr)) {
      const TomlTable* rule = rule_of(rules, name);
      NcclSetting setting;
      if (rule) {
        setting = judge_nccl(*rule, name, variable.value);
      } else {
        setting.name = name;
        setting.given = setting.effective = variable.value;
      }
      setting.from = variable.from;
      setting.start = start.name;
      // NCCL_P2P_DISABLE=1 is asked first (src/graph/paths.cc).
      auto off = start.effective.find("NCCL_P2P_DISABLE");
      if (name == "NCCL_P2P_LEVEL" && off != start.effective.end() && off->second.value == "1") {
        setting.effective = "LOC";
        setting.fault = "NCCL_P2P_DISABLE=1 comes first";
      }
      out.push_back(std::move(setting));
    }
  }
  return out;
}

std::vector<Finding> check_nccl_settings(const HostFacts& host, const TomlText& rules,
                                         const std::vector<TuningRecord>& records) {
  std::vector<Finding> findings;
  std::set<std::string> said;
  std::vector<std::string> known = known_names(host, rules);
  for (const NcclSetting& each : nccl_settings(host, rules)) {
    if (!said.insert(each.name + "=" + each.given + each.from).second) continue;
    const TomlTable* rule = rule_of(rules, each.name);
    bool others = rule && toml_value(*rule, "form") == "other";
    if (others || one_of(known, each.name, false)) {
      judge_setting(each, rule, findings);
    } else {
      judge_unknown(host, each, known, findings);
    }
  }
  for (const Start& start : host.starts) {
    std::vector<std::string> overridden;
    merged(host, start, &overridden);
    if (overridden.empty()) continue;
    Finding& finding = findings.emplace_back(
        new_finding("NCV-006", Severity::note,
                    fmt::format("{}: lines of nccl.conf are overridden", start.name)));
    finding.evidence = overridden;
  }
  for (const TuningRecord& record : records) judge_record(host, record, findings);
  return findings;
}

}  // namespace wheelvet
