#include "doctor/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "doctor/driver.h"
#include "doctor/expectation.h"
#include "doctor/fixes.h"
#include "doctor/jit_caches.h"
#include "doctor/loader_paths.h"
#include "doctor/nccl_settings.h"
#include "doctor/new_finding.h"
#include "doctor/packages.h"
#include "doctor/services.h"
#include "doctor/site_files.h"
#include "doctor/toolkits.h"
#include "doctor/triton_tools.h"
#include "doctor/words.h"
#include "input/write_file.h"
#include "machine/environment.h"
#include "machine/find_machine.h"
#include "machine/tree.h"
#include "rules/rules.h"
#include "rules/toml_text.h"
#include "run.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_text = 1u << 20;

// The home that etc/passwd gives the account of this name, or of this number; `name` becomes its
// name. The file is read and no directory service asked: that would load the host's own libraries
// into this program.
std::string account_home(const std::string& root, std::string& name, const std::string& number) {
  std::string text = text_of(root, "/etc/passwd", most_text);
  for (std::string_view line : lines_of(text)) {
    std::vector<std::string_view> fields = split_at(line, ':');
    if (fields.size() < 6 || (name.empty() ? fields[2] != number : fields[0] != name)) continue;
    name = fields[0];
    return std::string(fields[5]);
  }
  return {};
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Name and home of the user whose processes are meant.
void find_user(const DoctorRequest& request, HostFacts& host) {
  host.self = host.live && request.user.empty();
  host.user = request.user;
  if (host.user.empty() && !host.live) host.user = "root";
  std::string number = host.self ? std::to_string(geteuid()) : "";
  host.account_home = account_home(host.machine.root, host.user, number);
  if (host.account_home.empty() && !request.user.empty())
    throw WrongUsage(
        fmt::format("{}: no such user in {}/etc/passwd", request.user, host.machine.root));
  if (host.self && host.user.empty()) host.user = variable("USER");
  if (host.account_home.empty()) host.account_home = host.self ? variable("HOME") : "/root";
  host.home = host.self ? variable("HOME") : "";
  if (host.home.empty()) host.home = host.account_home;
}

void read_environment(const DoctorRequest& request, HostFacts& host) {
  if (request.environment.empty()) return;
  std::string prefix = request.environment;
  if (host.live) prefix = std::filesystem::absolute(prefix).lexically_normal().string();
  Environment environment = find_environment(host.machine.root, prefix, request.python);
  host.prefix = environment.prefix;
  host.python = environment.python;
  host.interpreter = environment.interpreter;
  host.site = environment.site;
  host.problems = environment.problems;
  host.sys_path = search_path_of(host, environment);
  host.site_files = read_site_files(host, environment);
  host.packages = read_packages(host);
  read_torch(host);
}

void ask_interpreter(const DoctorRequest& request, HostFacts& host) {
  if (!request.parse_with_python) return;
  if (!host.live) throw WrongUsage("--python: an interpreter below --sysroot is not run");
  if (host.interpreter.empty())
    throw WrongUsage("--python: there is no interpreter in the environment (--env)");
  for (SiteFile& file : host.site_files) {
    if (file.kind == "pth" || parse_with_interpreter(host.interpreter, file)) continue;
    host.problems.push_back(
        {host.prefix, file.path, "syntax", std::nullopt, "the interpreter gave no answer"});
  }
}

HostFacts read_host(const DoctorRequest& request, const TomlText& rules) {
  HostFacts host;
  host.machine = find_machine(request.sysroot);
  host.live = host.machine.root.empty();
  find_user(request, host);
  host.starts.push_back(read_interactive(host));
  for (const std::string& unit : request.units) {
    for (Start& start : read_service(host, unit)) host.starts.push_back(std::move(start));
  }
  read_environment(request, host);
  ask_interpreter(request, host);
  for (Start& start : host.starts) apply_site_files(host, start);
  host.toolkits = read_toolkits(host, rules);
  host.driver = read_driver(host);
  host.nccl = read_nccl(host);
  host.triton = read_triton(host);
  host.caches = read_jit_caches(host);
  return host;
}

// What `check` says of the environment and of the libraries in its caches.
Report load_everything(const DoctorRequest& request, const HostFacts& host, bool caches) {
  Request load;
  load.environment = request.environment;
  load.sysroot = request.sysroot;
  load.python = request.python;
  load.jobs = request.jobs;
  load.compare_torch = false;  // `check --env` says which release would mend a module
  if (!caches) {
    load.progress = request.progress;
    load.driver = driver_in_use(host.driver);
    return check(load);
  }
  if (host.torch_imports) load.imports = {"torch"};
  for (const JitCache& cache : host.caches) {
    if (!cache.mismatch.empty() || cache.libraries.empty()) continue;
    load.targets.push_back(on_this_host(host.machine.root, cache.path));
  }
  if (load.targets.empty()) return {};
  return check(load);
}

// Packages: metadata, owners of files, requirements. Whether every module loads is `check --env`'s
// question; its answer is one line here.
void add_packages(const Report& loaded, std::vector<Finding>& findings) {
  static const std::set<std::string> families = {"PKG", "DEP", "REQ", "META", "REC",
                                                 "TAG", "FAM", "DUP", "CUDA", "NCCL"};
  for (const Finding& finding : loaded.findings) {
    if (families.contains(finding.id.substr(0, finding.id.find('-')))) findings.push_back(finding);
  }
  bool broken = std::any_of(
      loaded.findings.begin(), loaded.findings.end(),
      [](const Finding& each) { return each.severity == Severity::error && !each.roots.empty(); });
  if (!broken) return;
  Finding& line = findings.emplace_back(
      new_finding("PKG-009", Severity::note, "modules of the environment do not load"));
  line.evidence = {loaded.headline};
  line.fix = "wheelvet check --env PREFIX says which and why";
}

void sort(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return a.severity != b.severity ? a.severity > b.severity : a.id < b.id;
  });
}

std::string headline_of(const DoctorReport& report) {
  std::size_t errors = 0, warnings = 0;
  for (const Finding& finding : report.findings) {
    if (!finding.suppressed.empty()) continue;
    errors += finding.severity == Severity::error;
    warnings += finding.severity == Severity::warning;
  }
  std::string found = errors + warnings == 0
                          ? "nothing wrong was found"
                          : fmt::format("{} error{}, {} warning{}", errors, errors == 1 ? "" : "s",
                                        warnings, warnings == 1 ? "" : "s");
  std::string torch = report.torch.empty()
                          ? ""
                          : fmt::format(", torch {} (CUDA {})", report.torch,
                                        report.torch_cuda.empty() ? "none" : report.torch_cuda);
  return fmt::format("{}{}: {}", report.environment.empty() ? report.machine : report.environment,
                     torch, found);
}

void describe(const HostFacts& host, const TomlText& rules, DoctorReport& report) {
  report.machine = host.live ? "this machine" : host.machine.root;
  report.environment = host.prefix;
  report.python = host.python;
  report.torch = host.torch;
  report.torch_cuda = host.torch_cuda;
  report.driver = host.driver.kernel;
  report.libcuda = host.driver.libcuda;
  report.nccl = host.nccl.version;
  report.gpus = host.driver.gpus;
  for (const Start& start : host.starts) report.starts.push_back(start.name);
  std::vector<ToolkitPick> picks = pick_toolkits(host, rules);
  for (const Toolkit& toolkit : host.toolkits) {
    DoctorToolkit& out = report.toolkits.emplace_back(
        DoctorToolkit{toolkit.path, toolkit.kind, toolkit.release, toolkit.nvcc_release, {}});
    for (const ToolkitPick& pick : picks) {
      if (pick.toolkit == &toolkit)
        out.picked_by.push_back(
            fmt::format("{} by {}, {}", pick.consumer, pick.because, pick.start));
    }
  }
  for (const NcclSetting& each : nccl_settings(host, rules)) {
    report.settings.push_back(
        {each.start, each.name, each.given, each.effective, each.from, each.fault});
  }
  for (const JitCache& cache : host.caches) {
    report.caches.push_back(
        {cache.kind, cache.path, cache.made_for, cache.bytes, cache.libraries.size()});
  }
  if (host.prefix.empty()) report.scope.push_back("no environment asked (--env)");
  if (host.starts.size() == 1) report.scope.push_back("no services asked (--unit)");
  bool parsed = std::any_of(
      host.site_files.begin(), host.site_files.end(),
      [](const SiteFile& file) { return file.judged_by == "wheelvet" && file.kind != "pth"; });
  if (parsed) report.scope.push_back("site files read by text, not by Python's parser (--python)");
}

std::string read_list(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in.good() && text.empty())
    throw Unreadable(Problem{path, {}, {}, std::nullopt, "could not be read"});
  return text;
}

}  // namespace

DoctorReport examine(const DoctorRequest& request) {
  auto begin = std::chrono::steady_clock::now();
  DoctorReport report;
  auto lap = [&](const char* stage) {
    auto now = std::chrono::steady_clock::now();
    report.stats.seconds.emplace_back(stage, std::chrono::duration<double>(now - begin).count());
    begin = now;
  };
  TomlText rules = read_toml(rules_text("doctor.toml"), "rules/doctor.toml");
  HostFacts host = read_host(request, rules);
  std::vector<TuningRecord> records;
  for (const std::string& path : request.records) records.push_back(read_tuning_record(path));
  lap("host");
  std::vector<Finding> findings;
  auto add = [&](std::vector<Finding> more) {
    findings.insert(findings.end(), std::make_move_iterator(more.begin()),
                    std::make_move_iterator(more.end()));
  };
  add(check_toolkits(host, rules));
  add(check_loader_paths(host));
  add(check_host_driver(host));
  add(check_site_files(host, rules));
  add(check_nccl_settings(host, rules, records));
  add(check_triton(host));
  add(check_services(host, rules));
  lap("checks");
  if (!host.prefix.empty()) {
    add(check_torch_copies(host));
    add(check_jit_caches(host, load_everything(request, host, true)));
    lap("caches");
    Report loaded = load_everything(request, host, false);
    add_packages(loaded, findings);
    report.problems = loaded.problems;
    report.stats.bytes_read = loaded.stats.bytes_read;
    lap("packages");
  }
  if (!request.expect.empty()) {
    report.expectations =
        judge_expectations(read_toml(read_list(request.expect), request.expect), host, rules);
    add(check_expectations(report.expectations));
  }
  sort(findings);
  if (request.gate) request.gate(findings);
  report.findings = std::move(findings);
  describe(host, rules, report);
  report.problems.insert(report.problems.end(), host.problems.begin(), host.problems.end());
  report.complete = report.problems.empty();
  report.headline = headline_of(report);
  if (!request.record.empty()) write_file(request.record, record_expectations(host, rules));
  if (!request.write_fix.empty()) {
    std::vector<Finding> open = report.findings;
    std::erase_if(open, [](const Finding& each) { return !each.suppressed.empty(); });
    report.written = write_fixes(plan_fixes(host, open, rules), request.write_fix);
  }
  return report;
}

}  // namespace wheelvet
