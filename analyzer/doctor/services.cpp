#include "doctor/services.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "doctor/new_finding.h"
#include "doctor/words.h"
#include "facts/metadata.h"
#include "machine/tree.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_text = 1u << 20;
constexpr std::size_t most_files = 100;  // environment files that one file names
// What the $NAMEs of one file may bring in: more than a process can be given (execve(2): 6 MB).
constexpr std::size_t most_expanded = 6u << 20;
// systemd's own default (basic/path-util.h, DEFAULT_PATH_NORMAL of a system with merged bin folders
// apart).
constexpr const char* service_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// How many characters of the text are a name.
std::size_t name_size(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return 0;
  auto other = std::find_if(text.begin(), text.end(), [](char c) {
    return c != '_' && !(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') &&
           !(c >= 'a' && c <= 'z');
  });
  return static_cast<std::size_t>(other - text.begin());
}

bool is_name(std::string_view text) { return !text.empty() && name_size(text) == text.size(); }

// $NAME and ${NAME} from the variables known so far; what is not known is empty, as in a shell.
// `room`: bytes that values may still take, since lines such as A=$A$A double; once it is used up
// they are left out.
std::string expanded(std::string_view text, const Variables& known, std::size_t& room) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    bool brace = text[i + 1] == '{';
    std::size_t begin = i + (brace ? 2 : 1), end = begin;
    end += name_size(text.substr(std::min(begin, text.size())));
    std::string name(text.substr(begin, end - begin));
    std::string fallback;
    if (brace) {  // ${X:+:$X} and ${X:-y}: what follows the name
      std::size_t close = text.find('}', end);
      if (close == std::string_view::npos) return out + std::string(text.substr(i));
      std::string_view rest = text.substr(end, close - end);
      auto set = known.find(name);
      if (rest.starts_with(":-") && set == known.end()) fallback = std::string(rest.substr(2));
      bool added = rest.starts_with(":+");
      if (added) {
        if (set != known.end()) out += expanded(rest.substr(2), known, room);
        i = close;
        continue;
      }
      end = close + 1;
    }
    auto set = known.find(name);
    const std::string& value = set == known.end() ? fallback : set->second.value;
    if (value.size() <= room) {
      out += value;
      room -= value.size();
    }
    i = end - 1;
  }
  return out;
}

void set(Variables& into, std::string name, std::string value, std::string from) {
  into[std::move(name)] = {std::move(value), std::move(from), true};
}

// A line with those that a backslash at its end joins to it. One that the file ends in is left out.
struct JoinedLine {
  unsigned number = 0;  // of the first
  std::string text;     // without blanks at both ends
};

std::vector<JoinedLine> joined_lines(std::string_view text) {
  std::vector<JoinedLine> out;
  std::string joined;
  unsigned number = 0, first = 0;
  for (std::string_view line : lines_of(text)) {
    ++number;
    if (joined.empty()) first = number;
    if (line.ends_with('\\')) {
      joined += std::string(line.substr(0, line.size() - 1)) + " ";
      continue;
    }
    joined += line;
    out.push_back({first, std::string(trimmed(joined))});
    joined.clear();
  }
  return out;
}

// --- systemd ---

struct Unit {
  const HostFacts& host;
  Start start;
  std::vector<std::pair<std::string, std::string>> environment_files;  // path, by
  std::vector<std::string> pass;

  const std::string& root() const { return host.machine.root; }

  void read(const std::string& path) {
    std::string text = text_of(root(), path, most_text);
    bool service = false;
    for (const auto& [number, whole] : joined_lines(text)) {
      if (whole.starts_with('[')) service = whole == "[Service]";
      bool comment = whole.empty() || whole.starts_with('#') || whole.starts_with(';');
      if (service && !comment) setting(whole, fmt::format("{}:{}", path, number));
    }
  }

  void setting(std::string_view line, const std::string& from) {
    std::size_t equal = line.find('=');
    if (equal == std::string_view::npos) return;
    std::string_view key = trimmed(line.substr(0, equal)), value = trimmed(line.substr(equal + 1));
    if (key == "Environment") {
      if (value.empty()) start.inherited.clear();
      for (const std::string& word : unquoted_words(value)) assign(word, from);
    } else if (key == "EnvironmentFile") {
      if (environment_files.size() < most_files) environment_files.emplace_back(value, from);
    } else if (key == "PassEnvironment") {
      for (std::string_view name : words_of(value)) pass.emplace_back(name);
    } else if (key == "ExecStart" && !value.empty()) {
      start.program = std::string(value);
    }
  }

  // Not expanded: systemd puts $NAME into no Environment=.
  void assign(const std::string& word, const std::string& from) {
    std::size_t equal = word.find('=');
    if (equal == std::string::npos || !is_name(word.substr(0, equal))) {
      start.faults.push_back(
          fmt::format("{}: '{}' is no assignment: systemd ignores it", from, word));
      return;
    }
    std::string value = word.substr(equal + 1);
    if (value.find('$') != std::string::npos) {
      start.faults.push_back(
          fmt::format("{}: '$' in {} stays as it is: Environment= knows no variables", from, word));
    }
    set(start.inherited, word.substr(0, equal), value, from);
  }

  void finish() {
    for (const auto& [named, from] : environment_files) {
      bool optional = named.starts_with('-');
      std::string path = optional ? named.substr(1) : named;
      if (!is_file(root(), path)) {
        if (!optional)
          start.faults.push_back(
              fmt::format("{}: {} is not there: the unit does not start", from, path));
        continue;
      }
      read_assignments(text_of(root(), path, most_text), path, false, start.inherited);
    }
    if (!start.inherited.contains("PATH"))
      set(start.inherited, "PATH", service_path, "systemd's default");
  }
};

std::vector<std::string> drop_ins(const HostFacts& host, const std::string& path) {
  std::string name(base_of(path));
  std::map<std::string, std::string> by_name;  // the first folder that has a name wins
  for (std::string folder :
       {std::string("/etc/systemd/system"), std::string("/run/systemd/system"), parent_of(path),
        std::string("/usr/lib/systemd/system"), std::string("/lib/systemd/system")}) {
    folder += "/" + name + ".d";
    for (const std::string& each : names_in(host.machine.root, folder)) {
      if (each.ends_with(".conf")) by_name.emplace(each, folder + "/" + each);
    }
  }
  std::vector<std::string> out;
  for (auto& [each, full] : by_name) out.push_back(full);
  return out;
}

Start read_unit(const HostFacts& host, const std::string& path) {
  Unit unit{host, {}, {}, {}};
  unit.start.name = fmt::format("unit {}", base_of(path));
  unit.start.file = path;
  unit.read(path);
  for (const std::string& drop_in : drop_ins(host, path)) unit.read(drop_in);
  unit.finish();
  return unit.start;
}

// --- containers ---

// Compose: `environment:` and `env_file:` of each service, by indentation. No anchors, no merges.
struct Compose {
  const HostFacts& host;
  const std::string& path;
  std::vector<Start> starts;
  std::size_t service_indent = 0, key_indent = 0;
  bool in_services = false;
  std::size_t files = 0;  // environment files read so far
  std::string block;      // "environment" or "env_file" while its lines follow

  void read(std::string_view text) {
    unsigned number = 0;
    for (std::string_view line : lines_of(text)) {
      ++number;
      std::string_view kept = trimmed(line.substr(0, comment_of(line)));
      if (kept.empty()) continue;
      line_of(kept, line.find_first_not_of(' '), fmt::format("{}:{}", path, number));
    }
  }

  static std::size_t comment_of(std::string_view line) {
    for (std::size_t at = line.find('#'); at != std::string_view::npos;
         at = line.find('#', at + 1)) {
      if (at == 0 || line[at - 1] == ' ') return at;
    }
    return line.size();
  }

  void line_of(std::string_view line, std::size_t indent, const std::string& from) {
    if (indent == 0) {
      in_services = line == "services:";
      service_indent = 0;
      return;
    }
    if (!in_services) return;
    if (service_indent == 0) service_indent = indent;
    if (indent == service_indent && line.ends_with(':')) {
      Start& start = starts.emplace_back();
      start.name = fmt::format("service {} of {}", line.substr(0, line.size() - 1), base_of(path));
      start.file = path;
      block.clear();
      key_indent = 0;
      return;
    }
    if (starts.empty()) return;
    if (key_indent == 0) key_indent = indent;
    if (indent == key_indent && !line.starts_with("- ")) {
      std::size_t colon = line.find(':');
      block = std::string(line.substr(0, colon));
      std::string_view rest =
          colon == std::string_view::npos ? "" : trimmed(line.substr(colon + 1));
      if (block == "env_file" && !rest.empty()) add_file(rest);
      if (block == "command") starts.back().program = std::string(rest);
      return;
    }
    if (block == "environment") entry(line, from);
    if (block == "env_file" && line.starts_with("- ")) add_file(trimmed(line.substr(2)));
  }

  static std::string bare(std::string_view text) {
    text = trimmed(text);
    bool quoted = text.size() > 1 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
    return std::string(quoted ? text.substr(1, text.size() - 2) : text);
  }

  void entry(std::string_view line, const std::string& from) {
    bool list = line.starts_with("- ");
    std::string text = list ? bare(line.substr(2)) : std::string(line);
    std::size_t at = text.find(list ? '=' : ':');
    if (at == std::string::npos) return;  // taken from the caller's shell: not known
    set(starts.back().inherited, bare(text.substr(0, at)),
        list ? text.substr(at + 1) : bare(text.substr(at + 1)), from);
  }

  void add_file(std::string_view name) {
    if (++files > most_files) return;
    std::string file = bare(name);
    if (!file.starts_with('/')) file = parent_of(path) + "/" + file;
    read_assignments(text_of(host.machine.root, file, most_text), file, false,
                     starts.back().inherited);
  }
};

Start read_dockerfile(std::string_view text, const std::string& path) {
  Start start;
  start.name = fmt::format("image of {}", base_of(path));
  start.file = path;
  std::size_t room = most_expanded;
  for (const JoinedLine& line : joined_lines(text)) {
    std::string_view whole = line.text;
    std::string from = fmt::format("{}:{}", path, line.number);
    if (whole.starts_with("FROM ")) start.inherited.clear();
    if (whole.starts_with("ENV ")) {
      // One value for each variable throughout an instruction (Dockerfile reference).
      const Variables before = start.inherited;
      std::vector<std::string> words = unquoted_words(whole.substr(4));
      bool old_form = !words.empty() && words[0].find('=') == std::string::npos;
      if (old_form) {
        std::string_view rest = trimmed(whole.substr(4));
        rest = trimmed(rest.substr(std::min(rest.size(), words[0].size())));
        set(start.inherited, words[0], expanded(rest, before, room), from);
      } else {
        for (const std::string& word : words) {
          std::size_t equal = word.find('=');
          if (equal == std::string::npos) continue;
          set(start.inherited, word.substr(0, equal),
              expanded(word.substr(equal + 1), before, room), from);
        }
      }
    }
  }
  return start;
}

}  // namespace

bool matters(const TomlText& rules, const std::string& name) {
  for (const char* prefix :
       {"NCCL_", "TRITON_", "FLASHINFER_", "TORCH_", "TVM_FFI_", "CUDA_FORCE", "PYTORCH_"}) {
    if (name.starts_with(prefix)) return true;
  }
  if (name == "LD_LIBRARY_PATH" || name == "LD_PRELOAD") return true;
  auto tables = rules.find("variable");
  if (tables == rules.end()) return false;
  for (const TomlTable& table : tables->second) {
    if (toml_value(table, "toolkit") != "true") continue;
    const std::vector<std::string>& names = toml_values(table, "names");
    if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  }
  return false;
}

std::vector<std::string> unquoted_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool open = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (quote) {
      if (c == quote) {
        quote = 0;
      } else if (c == '\\' && quote == '"' && i + 1 < line.size()) {
        word += line[++i];
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      open = true;
    } else if (c == ' ' || c == '\t') {
      if (open || !word.empty()) words.push_back(word);
      word.clear();
      open = false;
    } else if (c == '\\' && i + 1 < line.size()) {
      word += line[++i];
    } else {
      word += c;
    }
  }
  if (open || !word.empty()) words.push_back(word);
  return words;
}

void read_assignments(std::string_view text, const std::string& path, bool expand,
                      Variables& into) {
  unsigned number = 0;
  std::size_t room = most_expanded;
  for (std::string_view line : lines_of(text)) {
    ++number;
    line = trimmed(line);
    if (line.starts_with("export ")) line = trimmed(line.substr(7));
    std::size_t equal = line.find('=');
    if (line.starts_with('#') || equal == std::string_view::npos || !is_name(line.substr(0, equal)))
      continue;
    std::string_view raw = line.substr(equal + 1);
    std::vector<std::string> words = unquoted_words(raw);
    std::string value = words.empty() ? std::string() : words.front();
    bool literal = raw.starts_with('\'');
    if (expand && !literal) value = expanded(value, into, room);
    set(into, std::string(line.substr(0, equal)), value, fmt::format("{}:{}", path, number));
  }
}

Start read_interactive(const HostFacts& host) {
  Start start;
  start.name = "interactive";
  Variables& known = start.inherited;
  if (host.live) {
    for (char** each = environ; each && *each; ++each) {
      std::string_view entry(*each);
      std::size_t equal = entry.find('=');
      if (equal == std::string_view::npos) continue;
      set(known, std::string(entry.substr(0, equal)), std::string(entry.substr(equal + 1)),
          "this process");
    }
    return start;
  }
  const std::string& root = host.machine.root;
  set(known, "PATH", service_path, "the default");
  if (!host.home.empty()) set(known, "HOME", host.home, "/etc/passwd");
  auto read = [&](const std::string& path, bool expand) {
    read_assignments(text_of(root, path, most_text), path, expand, known);
  };
  read("/etc/environment", false);
  read("/etc/profile", true);
  for (const std::string& name : names_in(root, "/etc/profile.d")) {
    if (name.ends_with(".sh")) read("/etc/profile.d/" + name, true);
  }
  if (!host.home.empty()) {
    for (const char* name : {".profile", ".bash_profile", ".bashrc"})
      read(host.home + "/" + name, true);
  }
  return start;
}

std::vector<Start> read_service(const HostFacts& host, const std::string& named) {
  const std::string& root = host.machine.root;
  std::string path = named;
  if (!root.empty() && path.starts_with(root + "/")) path = path.substr(root.size());
  if (path.find('/') == std::string::npos) {
    for (const char* folder :
         {"/etc/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/"}) {
      if (is_file(root, folder + path)) path = folder + path;
    }
  }
  if (!is_file(root, path))
    throw WrongUsage(
        fmt::format("{}: no such file{}", named, root.empty() ? "" : " below " + root));
  std::string text = text_of(root, path, most_text);
  std::string_view base = base_of(path);
  if (base.ends_with(".service")) return {read_unit(host, path)};
  if (base.ends_with(".yml") || base.ends_with(".yaml")) {
    Compose compose{host, path, {}, 0, 0, false, 0, {}};
    compose.read(text);
    return compose.starts;
  }
  if (base.find("Dockerfile") != std::string_view::npos ||
      base.find("Containerfile") != std::string_view::npos) {
    return {read_dockerfile(text, path)};
  }
  Start start;
  start.name = fmt::format("after {}", base);
  start.file = path;
  read_assignments(text, path, true, start.inherited);
  return {start};
}

std::vector<Finding> check_services(const HostFacts& host, const TomlText& rules) {
  std::vector<Finding> findings;
  const Variables& here = host.starts.front().effective;
  for (std::size_t i = 1; i < host.starts.size(); ++i) {
    const Start& start = host.starts[i];
    Finding lacking = new_finding("SVC-001", Severity::warning, {}, start.file);
    Finding other = new_finding("SVC-002", Severity::note, {}, start.file);
    std::vector<std::string> names;
    for (const auto& [name, variable] : here) {
      if (!matters(rules, name)) continue;
      auto there = start.effective.find(name);
      if (there == start.effective.end()) {
        lacking.evidence.push_back(fmt::format("{}={} ({})", name, variable.value, variable.from));
        names.push_back(name);
      } else if (there->second.value != variable.value) {
        other.evidence.push_back(fmt::format("{}: {} ({}), interactive {} ({})", name,
                                             there->second.value, there->second.from,
                                             variable.value, variable.from));
      }
    }
    if (!names.empty()) {
      lacking.title = fmt::format("{} starts without {}", start.name, fmt::join(names, ", "));
      lacking.fix = start.file.ends_with(".service")
                        ? fmt::format(
                              "a drop-in {}.d/wheelvet.conf with Environment= lines, then "
                              "systemctl daemon-reload",
                              start.file)
                        : fmt::format("set them in {}", start.file);
      if (!start.why_no_site.empty())
        lacking.cause = fmt::format("sitecustomize does not run there: {}", start.why_no_site);
      findings.push_back(lacking);
    }
    if (!other.evidence.empty()) {
      other.title = fmt::format("{} gets other values than the interactive shell", start.name);
      findings.push_back(other);
    }
    if (!start.faults.empty()) {
      Finding fault = new_finding("SVC-003", Severity::warning, {}, start.file);
      fault.title = fmt::format("{}: lines that do not do what they seem to", start.name);
      fault.evidence = start.faults;
      fault.fix =
          "Environment=\"NAME=value\", one assignment for each variable, values written out";
      findings.push_back(fault);
    }
  }
  return findings;
}

}  // namespace wheelvet
