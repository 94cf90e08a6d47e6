#include "doctor/fixes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "doctor/services.h"
#include "doctor/site_files.h"
#include "doctor/site_script.h"
#include "doctor/toolkits.h"
#include "doctor/words.h"
#include "input/write_file.h"
#include "machine/tree.h"

namespace wheelvet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_text = 1u << 20;
constexpr std::size_t most_cells = 4'000'000;  // of the table that a diff needs

// --- diff ---

std::vector<std::string> diff_lines(const std::string& text) {
  std::vector<std::string> out;
  for (std::string_view line : split_at(text, '\n')) out.emplace_back(line);
  if (!out.empty() && out.back().empty()) out.pop_back();
  return out;
}

// ' ', '-', '+' and the line, by the longest common subsequence.
std::vector<std::pair<char, std::string>> edits(const std::vector<std::string>& a,
                                                const std::vector<std::string>& b) {
  std::vector<std::pair<char, std::string>> out;
  std::size_t i = 0, j = 0;
  if ((a.size() + 1) * (b.size() + 1) <= most_cells) {
    std::vector<std::vector<std::size_t>> length(a.size() + 1,
                                                 std::vector<std::size_t>(b.size() + 1));
    for (std::size_t x = a.size(); x-- > 0;) {
      for (std::size_t y = b.size(); y-- > 0;) {
        length[x][y] =
            a[x] == b[y] ? length[x + 1][y + 1] + 1 : std::max(length[x + 1][y], length[x][y + 1]);
      }
    }
    while (i < a.size() && j < b.size()) {
      if (a[i] == b[j]) {
        out.emplace_back(' ', a[i++]);
        ++j;
      } else if (length[i + 1][j] >= length[i][j + 1]) {
        out.emplace_back('-', a[i++]);
      } else {
        out.emplace_back('+', b[j++]);
      }
    }
  }
  while (i < a.size()) out.emplace_back('-', a[i++]);
  while (j < b.size()) out.emplace_back('+', b[j++]);
  return out;
}

// --- the plan ---

constexpr const char* commands_known[] = {"apt-get ", "pip install ", "rm ", "ldconfig",
                                          "systemctl "};

struct Planner {
  const HostFacts& host;
  const std::vector<Finding>& findings;
  const TomlText& rules;
  FixPlan plan;
  std::string best;  // the toolkit that fits

  bool has(std::string_view id) const {
    return std::any_of(findings.begin(), findings.end(),
                       [&](const Finding& each) { return each.id == id; });
  }

  bool names_toolkit(std::string_view name) const {
    return name == "CUDA_HOME" || name == "CUDA_PATH" || name == "CUDAToolkit_ROOT";
  }

  bool wrong_toolkit(const std::string& value) const {
    return !best.empty() &&
           real_path(host.machine.root, value) != real_path(host.machine.root, best);
  }

  // The value that a variable ought to have; empty: not known.
  std::string value_for(const std::string& name, const std::string& given) const {
    if (names_toolkit(name) && !best.empty()) return best;
    return given;
  }

  FixedFile& file(const std::string& path) {
    for (FixedFile& known : plan.files) {
      if (known.path == path) return known;
    }
    std::string text = text_of(host.machine.root, path, most_text);
    return plan.files.emplace_back(FixedFile{path, text, text, {}});
  }

  static void settle(FixedFile& file, const char* id) {
    if (std::find(file.settles.begin(), file.settles.end(), id) == file.settles.end())
      file.settles.emplace_back(id);
  }

  // --- sitecustomize ---

  // One line of Python that another one takes the place of. A statement of several lines is left
  // for a person.
  struct Edit {
    unsigned line = 0;
    std::string name, value, id;  // value empty: the line becomes a comment
  };

  static std::string python_text(const std::string& value) {
    std::string out = "\"";
    for (char c : value) {
      if (c == '"' || c == '\\') out += '\\';
      out += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return out + "\"";
  }

  void edit_site_file(const SiteFile& site, const std::vector<Edit>& wanted) {
    if (wanted.empty()) return;
    FixedFile& fixed = file(site.path);
    std::vector<std::string_view> lines = lines_of(site.text);
    std::string out;
    bool imports_os = site.text.find("import os") != std::string::npos;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::string_view line = lines[i];
      auto edit = std::find_if(wanted.begin(), wanted.end(),
                               [&](const Edit& each) { return each.line == i + 1; });
      bool last = i + 1 == lines.size();
      if (edit == wanted.end()) {
        out += std::string(line) + (last ? "" : "\n");
        continue;
      }
      std::string indent(line.substr(0, std::min(line.size(), line.find_first_not_of(" \t"))));
      if (edit->value.empty()) {
        out += fmt::format("{}pass  # wheelvet {}: was: {}", indent, edit->id,
                           line.substr(indent.size()));
      } else {
        out += fmt::format("{}{}[{}] = {}  # wheelvet {}", indent,
                           imports_os ? "os.environ" : "__import__(\"os\").environ",
                           python_text(edit->name), python_text(edit->value), edit->id);
      }
      out += last ? "" : "\n";
      settle(fixed, edit->id.c_str());
    }
    // Judged by the same reader before it is handed out.
    if (!site_script_fault(out).first.empty()) return drop(site.path);
    fixed.after = out;
  }

  void drop(const std::string& path) {
    std::erase_if(plan.files, [&](const FixedFile& each) { return each.path == path; });
  }

  void fix_site_files() {
    for (const SiteFile& site : host.site_files) {
      if (site.kind == "pth" || !site.runs || !site.fault.empty()) continue;
      std::map<unsigned, Edit> edits_by_line;
      for (const Start& start : host.starts) {
        for (const auto& [path, run] : start.runs) {
          if (path != site.path) continue;
          for (const SiteAssignment& each : run.assignments) {
            Edit edit = edit_of(each);
            if (!edit.id.empty()) edits_by_line.emplace(each.line, edit);
          }
        }
      }
      std::vector<Edit> wanted;
      for (auto& [line, edit] : edits_by_line) wanted.push_back(edit);
      edit_site_file(site, wanted);
    }
  }

  Edit edit_of(const SiteAssignment& each) const {
    bool raises = each.outcome == SiteOutcome::raises || each.outcome == SiteOutcome::spared;
    if (raises) {
      // What was there before is what the process has now.
      std::string value =
          value_for(each.name, each.outcome == SiteOutcome::spared ? each.earlier : "");
      return {each.line, each.name, value,
              each.outcome == SiteOutcome::raises ? "SITE-003" : "SITE-004"};
    }
    if (!each.known || each.how == "del") return {};
    bool toolkit = names_toolkit(each.name);
    bool defeated = each.outcome == SiteOutcome::kept && each.earlier != each.value;
    if (toolkit && defeated)
      return {each.line, each.name, value_for(each.name, each.value), "SITE-005"};
    bool sets = each.outcome == SiteOutcome::set || each.outcome == SiteOutcome::lost;
    if (toolkit && sets && wrong_toolkit(each.value) &&
        (has("TKT-001") || has("TKT-002") || has("TKT-003"))) {
      return {each.line, each.name, best,
              has("TKT-001")   ? "TKT-001"
              : has("TKT-002") ? "TKT-002"
                               : "TKT-003"};
    }
    bool early = each.name == "LD_LIBRARY_PATH" || each.name == "LD_PRELOAD" ||
                 each.name.starts_with("PYTHON");
    if (sets && early && has("SITE-009")) return {each.line, each.name, "", "SITE-009"};
    return {};
  }

  // --- variables that files give ---

  // "path:line" of a file on the machine.
  static bool place_of(const std::string& from, std::string& path, unsigned& line) {
    std::size_t colon = from.rfind(':');
    if (!from.starts_with('/') || colon == std::string::npos) return false;
    path = from.substr(0, colon);
    auto [end, error] = std::from_chars(from.data() + colon + 1, from.data() + from.size(), line);
    return error == std::errc() && line > 0;
  }

  struct ValueEdit {
    std::string name, old, id;
  };

  const char* toolkit_id() const {
    for (const char* id : {"TKT-001", "TKT-002", "TKT-003", "SITE-005"}) {
      if (has(id)) return id;
    }
    return nullptr;
  }

  void fix_variables() {
    const char* id = toolkit_id();
    if (!id || best.empty()) return;
    std::map<std::string, std::map<unsigned, ValueEdit>> wanted;
    for (const Start& start : host.starts) {
      for (const auto& [name, variable] : start.inherited) {
        std::string path;
        unsigned line = 0;
        bool wrong = names_toolkit(name) && wrong_toolkit(variable.value);
        if (wrong && place_of(variable.from, path, line)) {
          wanted[path].emplace(line, ValueEdit{name, variable.value, id});
        }
      }
    }
    for (const auto& [path, edits_by_line] : wanted) replace_values(path, edits_by_line);
  }

  // Puts the right toolkit where the wrong one stands, under a line that says why.
  void replace_values(const std::string& path, const std::map<unsigned, ValueEdit>& wanted) {
    FixedFile& fixed = file(path);
    std::vector<std::string_view> lines = lines_of(fixed.before);
    std::string out;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::string line(lines[i]);
      auto edit = wanted.find(static_cast<unsigned>(i + 1));
      if (edit != wanted.end()) {
        std::size_t at = line.find(edit->second.name);
        std::size_t value = at == std::string::npos
                                ? at
                                : line.find(edit->second.old, at + edit->second.name.size());
        if (value != std::string::npos) {
          line.replace(value, edit->second.old.size(), best);
          out += fmt::format("# wheelvet {}\n", edit->second.id);
          settle(fixed, edit->second.id.c_str());
        }
      }
      out += line;
      if (i + 1 < lines.size()) out += '\n';
    }
    fixed.after = out;
  }

  // Who reads CUDA_PATH and not CUDA_HOME, or the other way, finds the same toolkit when both are
  // set.
  void fix_agreement() {
    const char* id = toolkit_id();
    if (!id || best.empty()) return;
    std::string lines;
    for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
      const Variables& here = host.starts.front().inherited;
      auto given = here.find(name);
      std::string path;
      unsigned line = 0;
      bool absent = given == here.end();
      bool from_nowhere = !absent && wrong_toolkit(given->second.value) &&
                          !place_of(given->second.from, path, line);
      if (from_nowhere)
        lines += fmt::format("# {}={} was given by {}: take it out where it is set\n", name,
                             given->second.value, given->second.from);
      if (absent || from_nowhere) lines += fmt::format("{}={}\n", name, best);
    }
    if (lines.empty()) return;
    FixedFile& fixed = file("/etc/environment");
    if (!fixed.after.empty() && !fixed.after.ends_with('\n')) fixed.after += '\n';
    fixed.after +=
        fmt::format("# wheelvet {}: one toolkit for all who look for one\n{}", id, lines);
    settle(fixed, id);
  }

  // --- services ---

  // The variables of the shell with the corrections so far: those are what a unit lacks.
  Variables corrected_shell() const {
    HostFacts after = host;
    for (SiteFile& site : after.site_files) {
      for (const FixedFile& fixed : plan.files) {
        if (fixed.path == site.path) site.text = fixed.after;
      }
    }
    Start& shell = after.starts.front();
    if (toolkit_id() && !best.empty()) {
      for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
        shell.inherited[name] = {best, "/etc/environment", true};
      }
    }
    shell.runs.clear();
    apply_site_files(after, shell);
    return shell.effective;
  }

  void fix_services() {
    Variables shell = corrected_shell();
    for (std::size_t i = 1; i < host.starts.size(); ++i) {
      const Start& start = host.starts[i];
      if (!start.file.ends_with(".service")) continue;
      std::string lines;
      for (const auto& [name, variable] : shell) {
        bool lacks = !start.effective.contains(name) && matters(rules, name) && variable.sure;
        if (lacks) lines += fmt::format("Environment=\"{}={}\"\n", name, unit_text(variable.value));
      }
      if (lines.empty()) continue;
      FixedFile& fixed =
          file("/etc/systemd/system/" + std::string(base_of(start.file)) + ".d/wheelvet.conf");
      fixed.after =
          "# wheelvet SVC-001: what the interactive shell has and this unit lacks\n[Service]\n" +
          lines;
      settle(fixed, "SVC-001");
      plan.commands.push_back({"systemctl daemon-reload", "SVC-001", start.name});
    }
  }

  static std::string unit_text(const std::string& value) {
    std::string out;
    for (char c : value) {
      if (c == '"' || c == '\\') out += '\\';
      if (c == '%') out += '%';
      out += c;
    }
    return out;
  }

  // --- packages and commands ---

  // A fix that is a command to its end, or to the alternative behind it.
  static std::string command_of(const Finding& finding) {
    bool known = std::any_of(std::begin(commands_known), std::end(commands_known),
                             [&](const char* verb) { return finding.fix.starts_with(verb); });
    if (!known) return {};
    return finding.fix.substr(0, std::min(finding.fix.find(", or "), finding.fix.find("; or ")));
  }

  // CUDA-002 names the line and the file of ld.so.conf.d that serve (checks/check_cuda.cpp).
  void take_conf_line(const Finding& finding) {
    constexpr std::string_view begin = "the line ", middle = " in /etc/ld.so.conf.d/",
                               end = ", then ldconfig";
    std::size_t in = finding.fix.find(middle), then = finding.fix.find(end);
    bool told = finding.id == "CUDA-002" && finding.fix.starts_with(begin) &&
                in != std::string::npos && then != std::string::npos && in < then;
    if (!told) return;
    std::string folder = finding.fix.substr(begin.size(), in - begin.size());
    std::size_t path = in + std::string_view(" in ").size();
    FixedFile& fixed = file(finding.fix.substr(path, then - path));
    if (fixed.after.find(folder + "\n") != std::string::npos) return;
    if (!fixed.after.empty() && !fixed.after.ends_with('\n')) fixed.after += '\n';
    fixed.after += fmt::format("# wheelvet {}\n{}\n", finding.id, folder);
    settle(fixed, finding.id.c_str());
    plan.commands.push_back({"ldconfig", finding.id, finding.title});
  }

  void take_commands() {
    for (const Finding& finding : findings) {
      take_conf_line(finding);
      std::string command = command_of(finding);
      if (command.empty()) continue;
      plan.commands.push_back({command, finding.id, finding.title});
      if (!finding.id.starts_with("FAM-")) continue;
      for (const std::string& word : unquoted_words(command)) {
        bool pin = word.find_first_of("=<>~!") != std::string::npos;
        if (pin) plan.constraints.push_back({word, finding.id});
      }
    }
  }
};

void write_below(const fs::path& path, const std::string& text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  write_file(path.string(), text);
}

}  // namespace

std::string unified_diff(const std::string& path, const std::string& before,
                         const std::string& after) {
  constexpr std::size_t context = 3;
  std::vector<std::pair<char, std::string>> lines = edits(diff_lines(before), diff_lines(after));
  std::string out =
      fmt::format("--- {}\n+++ {}\n", before.empty() ? "/dev/null" : "a" + path, "b" + path);
  std::size_t at = 0, old_line = 1, new_line = 1;
  while (at < lines.size()) {
    std::size_t change = at;
    while (change < lines.size() && lines[change].first == ' ') ++change;
    if (change == lines.size()) break;
    std::size_t begin = change > at + context ? change - context : at;
    old_line += begin - at;
    new_line += begin - at;
    std::size_t end = change, quiet = 0;  // the hunk ends where more than two contexts are quiet
    while (end < lines.size() && quiet <= 2 * context)
      quiet = lines[end++].first == ' ' ? quiet + 1 : 0;
    end -= quiet > context ? quiet - context : 0;
    std::size_t old_count = 0, new_count = 0;
    std::string body;
    for (std::size_t i = begin; i < end; ++i) {
      old_count += lines[i].first != '+';
      new_count += lines[i].first != '-';
      body += lines[i].first + lines[i].second + "\n";
    }
    out += fmt::format("@@ -{},{} +{},{} @@\n{}", old_count ? old_line : 0, old_count,
                       new_count ? new_line : 0, new_count, body);
    old_line += old_count;
    new_line += new_count;
    at = end;
  }
  return out;
}

FixPlan plan_fixes(const HostFacts& host, const std::vector<Finding>& findings,
                   const TomlText& rules) {
  Planner planner{host, findings, rules, {}, fitting_toolkit(host)};
  planner.fix_site_files();
  planner.fix_variables();
  planner.fix_agreement();
  planner.fix_services();
  planner.take_commands();
  std::erase_if(planner.plan.files,
                [](const FixedFile& file) { return file.before == file.after; });
  return std::move(planner.plan);
}

std::vector<WrittenFix> write_fixes(const FixPlan& plan, const std::string& folder) {
  std::vector<WrittenFix> out;
  fs::path base(folder);
  std::string diff;
  for (const FixedFile& file : plan.files) {
    // The paths are ours or of files that were read: absolute, and below DIR/root here.
    fs::path inside = fs::path(file.path).lexically_normal().relative_path();
    write_below(base / "root" / inside, file.after);
    diff += unified_diff(file.path, file.before, file.after);
    out.push_back({"root/" + inside.string(), file.path, file.settles});
  }
  if (!diff.empty()) {
    write_below(base / "changes.diff", diff);
    out.push_back({"changes.diff", {}, {}});
  }
  std::vector<std::string> ids;
  if (!plan.constraints.empty()) {
    std::string text;
    std::set<std::string> settled;
    for (const auto& [line, id] : plan.constraints) {
      text += fmt::format("{}  # settles {}\n", line, id);
      settled.insert(id);
    }
    write_below(base / "constraints.txt", text);
    out.push_back({"constraints.txt", {}, {settled.begin(), settled.end()}});
  }
  if (!plan.commands.empty()) {
    std::string text = "#!/bin/sh\n# What no file can correct. Read it; run what you agree with.\n";
    for (const FixCommand& command : plan.commands) {
      text += fmt::format("\n# settles {}: {}\n{}\n", command.settles, command.why, command.line);
      if (std::find(ids.begin(), ids.end(), command.settles) == ids.end())
        ids.push_back(command.settles);
    }
    write_below(base / "commands.sh", text);
    out.push_back({"commands.sh", {}, ids});
  }
  return out;
}

}  // namespace wheelvet
