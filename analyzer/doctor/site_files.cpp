#include "doctor/site_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "doctor/new_finding.h"
#include "doctor/services.h"
#include "doctor/site_script.h"
#include "doctor/toolkits.h"
#include "doctor/words.h"
#include "machine/tree.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_text = 1u << 20;
constexpr int time_limit = 10'000;  // milliseconds

bool is_site(std::string_view folder) {
  return folder.ends_with("/site-packages") || folder.ends_with("/dist-packages");
}

std::string place_of(const HostFacts& host, const Environment& environment,
                     const std::string& folder) {
  auto path = host.starts.front().inherited.find("PYTHONPATH");
  if (path != host.starts.front().inherited.end()) {
    for (std::string_view each : split_at(path->second.value, ':')) {
      if (each == folder) return "PYTHONPATH";
    }
  }
  if (folder == environment.extensions || folder == parent_of(environment.extensions))
    return "standard library";
  if (!host.home.empty() && folder.starts_with(host.home + "/.local/")) return "user site";
  return "site-packages";
}

// The statements of a .pth file where they stand, the other lines empty (Lib/site.py, addpackage).
std::string statements_of(std::string_view text) {
  std::string out;
  for (std::string_view line : lines_of(text)) {
    if (line.starts_with("import ") || line.starts_with("import\t")) out += line;
    out += '\n';
  }
  return out;
}

void find_module(const HostFacts& host, const Environment& environment, const char* module,
                 std::vector<SiteFile>& files) {
  std::string first;
  for (const std::string& folder : host.sys_path) {
    std::string path = fmt::format("{}/{}.py", folder, module);
    if (!is_file(host.machine.root, path)) continue;
    SiteFile& file = files.emplace_back();
    file.path = path;
    file.kind = module;
    file.text = text_of(host.machine.root, path, most_text);
    file.found_by = place_of(host, environment, folder);
    file.runs = first.empty();
    file.instead = first;
    if (first.empty()) first = path;
  }
}

// --- the environment's interpreter as a parser ---

constexpr const char* parser =
    "import ast,sys\n"
    "try:\n"
    " compile(sys.stdin.buffer.read(),'<stdin>','exec',ast.PyCF_ONLY_AST)\n"
    "except SyntaxError as e:\n"
    " print(e.lineno or 0,e.msg)\n"
    "except ValueError as e:\n"
    " print(0,e)\n";

struct Child {
  pid_t pid = -1;
  int in = -1, out = -1;
};

Child start_parser(const std::string& interpreter) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return {};
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]);
    close(in[1]);
    return {};
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::string program = interpreter;
  std::string words[] = {program, "-I", "-S", "-B", "-c", parser};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  char* nothing[] = {nullptr};
  Child child;
  if (posix_spawn(&child.pid, program.c_str(), &actions, nullptr, arguments.data(), nothing) != 0)
    child.pid = -1;
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  child.in = in[1];
  child.out = out[0];
  return child;
}

// Sends the text and takes the answer; false when the time is over.
bool converse(const Child& child, std::string_view text, std::string& answer) {
  struct sigaction ignored = {}, before = {};
  ignored.sa_handler = SIG_IGN;  // an interpreter that ends early is no reason to end too
  sigaction(SIGPIPE, &ignored, &before);
  fcntl(child.in, F_SETFL, O_NONBLOCK);
  bool sending = true, done = false;
  while (!done) {
    pollfd wanted[2] = {{child.out, POLLIN, 0}, {child.in, POLLOUT, 0}};
    if (poll(wanted, sending ? 2 : 1, time_limit) <= 0) break;
    if (sending && (wanted[1].revents & (POLLOUT | POLLERR))) {
      ssize_t sent = write(child.in, text.data(), text.size());
      if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
      if (sent < 0 || text.empty()) {
        close(child.in);
        sending = false;
      }
    }
    if (wanted[0].revents & (POLLIN | POLLHUP)) {
      char buffer[512];
      ssize_t got = read(child.out, buffer, sizeof buffer);
      if (got > 0 && answer.size() < most_text)
        answer.append(buffer, static_cast<std::size_t>(got));
      done = got <= 0;
    }
  }
  if (sending) close(child.in);
  sigaction(SIGPIPE, &before, nullptr);
  return done;
}

// --- findings ---

struct VariableRule {
  std::string reader, when, kind;
};

const TomlTable* rule_of(const TomlText& rules, const std::string& name) {
  auto tables = rules.find("variable");
  if (tables == rules.end()) return nullptr;
  for (const TomlTable& table : tables->second) {
    const std::vector<std::string>& names = toml_values(table, "names");
    if (std::find(names.begin(), names.end(), name) != names.end()) return &table;
  }
  return nullptr;
}

std::vector<std::string> known_names(const TomlText& rules) {
  std::vector<std::string> out;
  for (const char* key : {"variable", "nccl"}) {
    auto tables = rules.find(key);
    if (tables == rules.end()) continue;
    for (const TomlTable& table : tables->second) {
      const std::vector<std::string>& names = toml_values(table, "names");
      out.insert(out.end(), names.begin(), names.end());
    }
  }
  return out;
}

// What a value brought along from a shell script; empty: nothing.
std::string leftover(const std::string& value) {
  if (value.empty()) return {};
  bool quotes =
      value.size() > 1 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0];
  if (quotes) return "quotes are part of the value";
  if (value.find("$(") != std::string::npos || value.find('`') != std::string::npos)
    return "a command that no shell runs here";
  std::size_t dollar = value.find('$');
  bool named = dollar != std::string::npos && dollar + 1 < value.size() &&
               (value[dollar + 1] == '{' || value[dollar + 1] == '_' ||
                std::isalpha(static_cast<unsigned char>(value[dollar + 1])));
  if (named && !value.starts_with("$ORIGIN")) return "a variable that no shell puts in here";
  if (value.starts_with("export ")) return "the word export is part of the value";
  if (value.starts_with("~/")) return "nobody replaces ~ here";
  if (value.back() == ';') return "the semicolon is part of the value";
  if (value.front() == ' ' || value.back() == ' ' || value.back() == '\n')
    return "blanks are part of the value";
  return {};
}

std::string shown(const SiteAssignment& each) {
  return fmt::format("line {}: {}", each.line,
                     each.known ? each.name + "=" + each.value : each.name);
}

struct Checker {
  const HostFacts& host;
  const TomlText& rules;
  std::vector<std::string> known;
  std::vector<Finding> findings;

  bool exists(const std::string& path) const { return !real_path(host.machine.root, path).empty(); }

  void check_file(const SiteFile& file) {
    if (!file.runs) {
      Finding& finding = findings.emplace_back(new_finding(
          "SITE-010", Severity::warning,
          fmt::format("{} never runs: {} comes first on sys.path", file.path, file.instead),
          file.path));
      finding.fix = fmt::format(
          "put what it does into {}, or into a file of its own that a .pth line imports",
          file.instead);
      return;
    }
    if (!file.fault.empty()) {
      Finding& finding = findings.emplace_back(new_finding(
          "SITE-002", Severity::error,
          fmt::format("{} is no valid Python: nothing in it runs", file.path), file.path));
      finding.evidence = {
          fmt::format("line {}: {} (read by {})", file.fault_line, file.fault, file.judged_by)};
      finding.fix = "mend the line";
      return;
    }
    // The first start that runs it shows what it does; others are judged where they differ.
    std::set<std::string> said;
    for (const Start& start : host.starts) {
      for (const auto& [path, run] : start.runs) {
        if (path != file.path) continue;
        bool first = said.insert(path).second;
        check_run(file, start, run, first);
      }
    }
  }

  void check_run(const SiteFile& file, const Start& start, const SiteRun& run, bool first) {
    std::vector<std::string> lost;
    const SiteAssignment* raising = nullptr;
    for (const SiteAssignment& each : run.assignments) {
      if (each.outcome == SiteOutcome::raises) raising = &each;
      if (each.outcome == SiteOutcome::lost) lost.push_back(shown(each));
    }
    if (raising && first) check_raising(file, *raising, run, lost);
    if (!raising && run.raised_line && first) {
      Finding& finding = findings.emplace_back(
          new_finding("SITE-003", Severity::error,
                      fmt::format("{} ends in an exception at line {}", file.path, run.raised_line),
                      file.path));
      finding.evidence = lost;
      finding.fix = "mend the line: what stands after it never runs";
    }
    for (const SiteAssignment& each : run.assignments) check_assignment(file, start, each, first);
    // Path hooks of installers are in every environment; a .pth counts where it sets something.
    bool counts = file.kind != "pth" || file.text.find("env") != std::string::npos;
    if (first && counts && !run.unread.empty()) {
      Finding& finding = findings.emplace_back(
          new_finding("SITE-012", Severity::note,
                      fmt::format("parts of {} were not followed", file.path), file.path));
      finding.evidence = run.unread;
    }
  }

  void check_raising(const SiteFile& file, const SiteAssignment& raising, const SiteRun& run,
                     const std::vector<std::string>& lost) {
    bool caught = run.raised_line == 0;
    std::string what = raising.fault == "ellipsis"
                           ? "an Ellipsis (...)"
                           : fmt::format("a value of type {}", raising.fault);
    Finding& finding = findings.emplace_back(
        new_finding("SITE-003", Severity::error,
                    fmt::format("{}:{}: {} is given {}, which raises TypeError", file.path,
                                raising.line, raising.name, what),
                    file.path));
    finding.evidence = {
        fmt::format("os.environ takes nothing but str: {} stays unset", raising.name)};
    if (!lost.empty()) {
      finding.evidence.push_back(caught ? "lost, because the exception leaves the try block:"
                                        : "lost, because the file ends there:");
      finding.evidence.insert(finding.evidence.end(), lost.begin(), lost.end());
    }
    finding.cause =
        caught ? "the exception is caught and nothing is printed"
               : "Python prints \"Error in " + file.kind + "\" and the exception, and goes on";
    finding.fix = fmt::format("os.environ[\"{}\"] = \"the value\"", raising.name);
  }

  void check_assignment(const SiteFile& file, const Start& start, const SiteAssignment& each,
                        bool first) {
    std::string where = fmt::format("{}:{}", file.path, each.line);
    if (each.outcome == SiteOutcome::spared && first) {
      Finding& finding = findings.emplace_back(new_finding(
          "SITE-004", Severity::warning,
          fmt::format("{} would raise TypeError where {} is not set before", where, each.name),
          file.path));
      finding.evidence = {fmt::format("it does not fire here: {}={} comes from {}", each.name,
                                      each.earlier, each.from)};
      finding.fix = fmt::format("os.environ[\"{}\"] = \"the value\"", each.name);
    }
    const TomlTable* rule = rule_of(rules, each.name);
    bool defeated = each.outcome == SiteOutcome::kept && each.known && each.earlier != each.value;
    if (defeated) {
      bool toolkit = rule && toml_value(*rule, "toolkit") == "true";
      Finding& finding = findings.emplace_back(
          new_finding("SITE-005", toolkit ? Severity::warning : Severity::note,
                      fmt::format("{}: {}: {} stays {}, not {}", start.name, where, each.name,
                                  each.earlier, each.value),
                      file.path));
      finding.evidence = {
          fmt::format("{} gives way to the value that {} gave before", each.how, each.from)};
      finding.fix = fmt::format("os.environ[\"{}\"] = \"{}\", or take it out of {}", each.name,
                                each.value, each.from);
    }
    bool sets = each.outcome == SiteOutcome::set || each.outcome == SiteOutcome::maybe ||
                each.outcome == SiteOutcome::lost;
    if (first && sets && each.known && each.how != "del") check_value(file, each, where, rule);
  }

  void check_value(const SiteFile& file, const SiteAssignment& each, const std::string& where,
                   const TomlTable* rule) {
    std::string left = leftover(each.value);
    if (!left.empty()) {
      Finding& finding = findings.emplace_back(
          new_finding("SITE-006", Severity::warning,
                      fmt::format("{}: {}={}: {}", where, each.name, each.value, left), file.path));
      finding.fix = "write the plain value";
    }
    if (!rule) {
      std::string near = nearest_name(each.name, known);
      bool ours = !near.empty() && near.substr(0, near.find('_')) != near && each.name.size() > 6;
      // NCCL's own names are judged where libnccl's are known.
      if (!ours || each.name.starts_with("NCCL_") || rule_of(rules, each.name)) return;
      Finding& finding = findings.emplace_back(
          new_finding("SITE-008", Severity::warning,
                      fmt::format("{}: nobody reads {}", where, each.name), file.path));
      finding.evidence = {fmt::format("{} is read by {}", near, reader_of(near))};
      finding.fix = fmt::format("{}={}", near, each.value);
      return;
    }
    std::string when = toml_value(*rule, "when"), kind = toml_value(*rule, "kind");
    if (when == "exec" || when == "start") {
      Finding& finding = findings.emplace_back(new_finding(
          "SITE-009", Severity::warning,
          fmt::format("{}: {} is set after its reader has read it", where, each.name), file.path));
      finding.evidence = {fmt::format("{} reads it: only child processes get this value",
                                      toml_value(*rule, "reader"))};
      finding.fix = fmt::format(
          "set {} where the process is started: the shell's profile, or the unit", each.name);
    }
    bool path = kind == "folder" || kind == "file";
    if (left.empty() && path && each.value.starts_with('/') && !exists(each.value)) {
      Finding& finding = findings.emplace_back(new_finding(
          "SITE-007", Severity::warning,
          fmt::format("{}: {}={} is not there", where, each.name, each.value), file.path));
      finding.fix = "name a path that exists";
    }
  }

  std::string reader_of(const std::string& name) const {
    const TomlTable* rule = rule_of(rules, name);
    return rule ? toml_value(*rule, "reader") : "NCCL";
  }

  // Which kinds of start run the files that set something.
  void say_where_they_run() {
    for (const SiteFile& file : host.site_files) {
      if (!file.runs || !file.fault.empty() || file.kind == "pth") continue;
      Finding& finding = findings.emplace_back(
          new_finding("SITE-001", Severity::note,
                      fmt::format("{} runs at the start of this Python", file.path), file.path));
      bool outside = file.found_by == "PYTHONPATH" || file.found_by == "user site";
      finding.evidence = {
          fmt::format("found in {}", file.found_by),
          outside ? "-I: does not run (PYTHONPATH and the user's site are left out)" : "-I: runs",
          "-S: does not run", "another Python: does not run, but inherits what it sets in a parent",
          "a program that is not Python: does not run, but inherits what it sets in a parent"};
      for (std::size_t i = 1; i < host.starts.size(); ++i) {
        const Start& start = host.starts[i];
        bool there = std::any_of(start.runs.begin(), start.runs.end(),
                                 [&](const auto& run) { return run.first == file.path; });
        finding.evidence.push_back(fmt::format(
            "{}: {}", start.name, there ? "runs" : "does not run: " + start.why_no_site));
      }
    }
  }
};

}  // namespace

std::vector<std::string> search_path_of(const HostFacts& host, const Environment& environment) {
  std::vector<std::string> out;
  auto add = [&](const std::string& folder) {
    if (!folder.empty() && std::find(out.begin(), out.end(), folder) == out.end())
      out.push_back(folder);
  };
  auto path = host.starts.front().inherited.find("PYTHONPATH");
  if (path != host.starts.front().inherited.end()) {
    for (std::string_view each : split_at(path->second.value, ':')) {
      if (each.starts_with('/')) add(std::string(each));
    }
  }
  add(parent_of(environment.extensions));
  add(environment.extensions);
  for (const std::string& root : environment.roots) add(root);
  return out;
}

std::vector<SiteFile> read_site_files(const HostFacts& host, const Environment& environment) {
  std::vector<SiteFile> files;
  for (const std::string& folder : environment.roots) {
    if (!is_site(folder)) continue;
    for (const std::string& name : names_in(host.machine.root, folder)) {
      if (!name.ends_with(".pth") || name.starts_with('.')) continue;
      std::string text = statements_of(text_of(host.machine.root, folder + "/" + name, most_text));
      if (text.find_first_not_of('\n') == std::string::npos) continue;
      SiteFile& file = files.emplace_back();
      file.path = folder + "/" + name;
      file.kind = "pth";
      file.text = text;
      file.found_by = place_of(host, environment, folder);
    }
  }
  find_module(host, environment, "sitecustomize", files);
  bool user_site = std::any_of(environment.roots.begin(), environment.roots.end(),
                               [&](const std::string& folder) {
                                 return place_of(host, environment, folder) == "user site";
                               });
  if (user_site) find_module(host, environment, "usercustomize", files);
  for (SiteFile& file : files) {
    std::tie(file.fault, file.fault_line) = site_script_fault(file.text);
    file.judged_by = "wheelvet";
  }
  return files;
}

bool parse_with_interpreter(const std::string& interpreter, SiteFile& file) {
  Child child = start_parser(interpreter);
  std::string answer;
  bool done = child.pid > 0 && converse(child, file.text, answer);
  if (child.pid <= 0 && child.in >= 0) close(child.in);
  if (child.out >= 0) close(child.out);
  if (child.pid > 0) {
    if (!done) kill(child.pid, SIGKILL);
    int status = 0;
    waitpid(child.pid, &status, 0);
    done = done && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  if (!done) return false;
  file.judged_by = interpreter;
  file.fault.clear();
  file.fault_line = 0;
  std::size_t blank = answer.find(' ');
  if (blank == std::string::npos) return true;
  std::from_chars(answer.data(), answer.data() + blank, file.fault_line);
  file.fault = answer.substr(blank + 1, answer.find('\n') - blank - 1);
  return true;
}

void apply_site_files(const HostFacts& host, Start& start) {
  start.effective = start.inherited;
  std::vector<std::string> words = unquoted_words(start.program);
  bool isolated = false;
  if (!words.empty()) {
    std::string program = words.front().substr(
        std::min(words.front().size(), words.front().find_first_not_of("-@:+!")));
    std::string_view base = base_of(program);
    bool ours = program.starts_with(host.prefix + "/bin/") && !host.prefix.empty();
    bool python = base.starts_with("python");
    if (!ours && python) start.why_no_site = "another Python: " + program;
    if (!ours && !python && program.starts_with('/') && base != "sh" && base != "bash" &&
        base != "env") {
      start.why_no_site = "not this environment's Python: " + program;
    }
    for (std::size_t i = 1; i < words.size() && python && words[i].starts_with('-'); ++i) {
      if (words[i].starts_with("--") || words[i] == "-c" || words[i] == "-m") break;
      if (words[i].find('S') != std::string::npos) start.why_no_site = "-S";
      isolated = isolated || words[i].find('I') != std::string::npos ||
                 words[i].find('E') != std::string::npos;
    }
  }
  start.site = start.why_no_site.empty();
  if (!start.site) return;
  for (const SiteFile& file : host.site_files) {
    bool outside = file.found_by == "PYTHONPATH" || file.found_by == "user site";
    if (!file.runs || !file.fault.empty() || (isolated && outside)) continue;
    auto exists = [&](const std::string& path) {
      return !real_path(host.machine.root, path).empty();
    };
    SiteRun run = run_site_script(file.text, start.effective, file.path, exists);
    start.effective = run.after;
    start.runs.emplace_back(file.path, std::move(run));
  }
}

std::vector<Finding> check_site_files(const HostFacts& host, const TomlText& rules) {
  Checker checker{host, rules, known_names(rules), {}};
  for (const SiteFile& file : host.site_files) checker.check_file(file);
  checker.say_where_they_run();
  return std::move(checker.findings);
}

}  // namespace wheelvet
