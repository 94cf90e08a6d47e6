#include "checks/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "checks/alternatives.h"
#include "checks/cuda_closure.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_examples = 5;

std::string package_text(const PackageFacts& package) {
  return fmt::format("{} {}", package.name, package.version);
}

// Device code that could not be read: the rest was judged.
void add_device_problems(const std::string& input, const std::string& member,
                         const DeviceCode& code, Report& report) {
  for (Problem problem : code.problems) {
    problem.input = input;
    problem.member = member;
    report.problems.push_back(std::move(problem));
  }
}

void add_inputs(const Run& run, Report& report) {
  for (std::size_t i = 0; i < run.inputs.size(); ++i) {
    const Input& input = run.inputs[i];
    if (input.kind == InputKind::machine) continue;
    ReportInput& out = report.inputs.emplace_back();
    out.label = input.label;
    out.kind = kind_name(input.kind);
    out.target = input.target;
    out.size = input.size;
    out.identity = input.identity;
    out.origin = input.origin;
    for (const PackageFacts& package : run.facts.inputs[i].packages) {
      out.packages.push_back(package_text(package));
    }
    const std::vector<Problem>* lists[] = {&input.problems, &run.facts.inputs[i].problems};
    for (const auto* list : lists) {
      report.problems.insert(report.problems.end(), list->begin(), list->end());
    }
    for (const FileFacts& file : run.facts.inputs[i].files) {
      if (file.problem) report.problems.push_back(*file.problem);
      add_device_problems(input.label, file.member, file.code, report);
      bool lacking = run.device && input.target && file.elf.from_stub && !file.code.read;
      if (!lacking || file.problem) continue;
      report.problems.push_back(
          {input.label, file.member, "device code", std::nullopt, "is not in this stub"});
    }
    for (const DeviceFile& file : run.facts.inputs[i].device_files) {
      add_device_problems(input.label, file.member, file.code, report);
    }
  }
}

bool rests_on_unread(const Run& run, const RootView& view) {
  return std::any_of(view.objects.begin(), view.objects.end(), [&](std::size_t index) {
    std::size_t file = view.object(index).file;
    return file != none && run.scene.files[file].facts->problem.has_value();
  });
}

void add_undecided(const Run& run, const RootView& view,
                   std::map<std::string, Undecided>& undecided) {
  for (const Binding* binding : view.unbound) {
    if (binding->outcome != Outcome::undecided) continue;
    Undecided& out = undecided[binding->owner];
    out.owner = binding->owner;
    const ElfFacts* elf = elf_of(run.scene, view.object(binding->object));
    std::string name(elf->symbols.name(binding->symbol));
    bool known = std::find(out.examples.begin(), out.examples.end(), name) != out.examples.end();
    if (!known) ++out.count;
    if (!known && out.examples.size() < most_examples) out.examples.push_back(name);
    add_once(out.roots, view.path);
  }
}

void add_root(const Run& run, const RootView& view, const std::string& group,
              const std::vector<Finding>& findings, Report& report) {
  ReportRoot& out = report.roots.emplace_back();
  out.path = view.path;
  out.package = owner_of(run, view.root->file);
  out.name = short_name(view.path, out.package);
  out.module = view.root->module;
  out.alternatives = group;
  out.imports_first = view.root->imports;
  out.opener = view.root->opener;
  for (const ImportRule* rule : view.root->rules) {
    if (rule->statement) continue;
    for (const Load& load : view.root->link.plan.loads) {
      if (load.because == "import " + rule->module) {
        out.opens_first.push_back({load.what, load.global});
      }
    }
  }
  for (const OpenedFirst& first : view.root->first) {
    out.opens_first.push_back({run.scene.files[first.file].facts->path, first.global});
  }
  out.bound = view.root->link.bound;
  out.assumed = view.root->link.assumed;
  for (const Binding* binding : view.unbound) {
    ++(binding->outcome == Outcome::missing ? out.missing : out.undecided);
    if (binding->outcome != Outcome::missing) continue;
    const ElfFacts* elf = elf_of(run.scene, view.object(binding->object));
    std::string name(elf->symbols.name(binding->symbol));
    if (!binding->version.empty()) name += "@" + binding->version;
    add_once(out.missing_symbols, name);
  }
  for (std::size_t index : view.objects) {
    const PlannedObject& object = view.object(index);
    bool missing = object.found == Found::absent && object.file == none;
    if (missing) add_once(out.missing_libraries, object.name);
  }
  for (const VersionMismatch* mismatch : view.mismatches) {
    add_once(out.missing_versions, fmt::format("{} of {}", mismatch->version, mismatch->file));
  }
  bool unanswered = out.undecided != 0 || rests_on_unread(run, view);
  bool fails = false, fails_as_alternative = false;
  for (const Finding& finding : findings) {
    bool concerns =
        std::find(finding.roots.begin(), finding.roots.end(), view.path) != finding.roots.end();
    if (!concerns) continue;
    bool open = finding.id == "LIB-003" || finding.id == "LIB-008" || finding.id == "PIN-001";
    if (open) unanswered = true;
    if (finding.severity == Severity::error) fails = true;
    if (finding.alternative || finding.unopened) fails_as_alternative = true;
  }
  out.status = fails || fails_as_alternative ? Status::fails
               : unanswered                  ? Status::undecided
                                             : Status::loads;
  out.excused = fails_as_alternative && !fails;
}

Assumption assumption_of(const Run& run, const PlannedObject& object) {
  Assumption out;
  out.library = object.name;
  const LibraryRule* rule =
      object.library == none ? nullptr : &run.scene.rules->libraries[object.library];
  if (object.found == Found::interpreter) {
    out.kind = "interpreter";
    out.owner = "CPython " + run.scene.python;
    out.because = run.scene.python_reason;
  } else if (object.found == Found::driver) {
    out.kind = "driver";
    out.owner = "NVIDIA driver";
  } else if (object.found == Found::system) {
    out.kind = rule && rule->plain ? "plain system" : "system";
    out.owner = rule && !rule->apt.empty() ? rule->apt : std::string(distro_package(object.name));
  } else {
    out.kind = "package";
    if (const Declared* declared = who_declares(run.scene.declared, *rule)) {
      out.owner = declared->name;
      out.because = "declared by " + declared->by;
    } else if (const Declared* optional = who_declares(run.scene.optional, *rule)) {
      out.owner = optional->name;
      out.because = fmt::format("extra {} of {}", optional->extra, optional->by);
    }
  }
  return out;
}

void add_assumptions(const Run& run, const std::vector<RootView>& roots, Report& report) {
  std::map<std::string, Assumption> all;
  for (const RootView& view : roots) {
    for (std::size_t index : view.objects) {
      const PlannedObject& object = view.object(index);
      if (object.file != none || object.found == Found::absent) continue;
      auto [place, fresh] = all.try_emplace(object.name);
      if (fresh) place->second = assumption_of(run, object);
      ++place->second.roots;
    }
    // Every process has its interpreter, whether or not a DT_NEEDED leads to it.
    const PlannedObject& interpreter = view.object(0);
    if (view.root->module && interpreter.file == none) {
      auto [place, fresh] = all.try_emplace(interpreter.name);
      if (fresh) place->second = assumption_of(run, interpreter);
      ++place->second.roots;
    }
  }
  for (auto& [name, assumption] : all) report.assumptions.push_back(std::move(assumption));
}

std::string_view found_text(Found found) {
  switch (found) {
    case Found::interpreter:
      return "interpreter";
    case Found::root:
      return "opened by path";
    case Found::preload:
      return "LD_PRELOAD";
    case Found::library_path:
      return "LD_LIBRARY_PATH";
    case Found::cache:
      return "ld.so.cache";
    case Found::built_in:
      return "default folder";
    case Found::loaded:
      return "already loaded";
    case Found::rpath:
      return "RPATH";
    case Found::runpath:
      return "RUNPATH";
    case Found::system:
      return "assumed: system";
    case Found::driver:
      return "assumed: NVIDIA driver";
    case Found::declared:
      return "assumed: declared, on no path searched";
    case Found::absent:
      return "not found";
  }
  return "";
}

ReportPlan plan_of(const RootView& view) {
  ReportPlan out;
  out.root = view.path;
  const LoadPlan& plan = view.root->link.plan;
  for (const Load& load : plan.loads) {
    out.loads.push_back(load.because.empty() ? load.what
                                             : fmt::format("{} ({})", load.what, load.because));
    if (load.root == none) continue;
    out.opens.push_back({plan.objects[load.root].name, load.global, load.optional, load.lazy});
  }
  for (const PlannedObject& object : plan.objects) {
    ReportObject& shown = out.objects.emplace_back();
    shown.name = object.name;
    shown.found = found_text(object.found);
    if (!object.from_path.empty() && object.found != Found::root) shown.found += " (assumed)";
    shown.from = object.from_path;
    if (object.requested_by != none) shown.requested_by = plan.objects[object.requested_by].name;
    if (object.found == Found::absent) shown.looked_in = object.looked_in;
  }
  return out;
}

std::string targets_text(const Report& report) {
  std::vector<std::string> names;
  for (const ReportInput& input : report.inputs) {
    if (!input.target) continue;
    if (input.packages.size() == 1) {
      names.push_back(input.packages.front());
    } else {
      names.push_back(input.label);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// "after import torch 2.10.0" when some root is judged in that scenario.
std::string scenario_text(const Run& run, const Report& report) {
  std::set<std::string> imports;
  for (const ReportRoot& root : report.roots) {
    imports.insert(root.imports_first.begin(), root.imports_first.end());
  }
  std::vector<std::string> names;
  for (const std::string& name : imports) {
    std::string text = name;
    for (const ScenePackage& package : run.scene.packages) {
      bool same = normalised_name(package.facts->name) == name && !package.replaced;
      if (same) text = package_text(*package.facts);
    }
    names.push_back(text);
  }
  return names.empty() ? "" : fmt::format(" after import {}", fmt::join(names, ", "));
}

std::string plural(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : one.ends_with('y') ? "" : "s");
}

std::string counted(const Report& report, bool modules, Status status) {
  std::size_t all = 0, those = 0;
  for (const ReportRoot& root : report.roots) {
    if (root.module != modules) continue;
    ++all;
    if (root.status == status && !root.excused) ++those;
  }
  if (those == 0) return {};
  return fmt::format("{} of {} {}", those, all, modules ? "modules" : "other libraries");
}

std::string headline(const Run& run, const Report& report) {
  std::string text = targets_text(report) + scenario_text(run, report) + ": ";
  if (report.roots.empty()) return text + "no native code to judge";
  std::vector<std::string> parts;
  for (bool modules : {true, false}) {
    std::string part = counted(report, modules, report.verdict);
    if (!part.empty()) parts.push_back(part);
  }
  std::size_t symbols = 0, causes = 0;
  for (const Finding& finding : report.findings) {
    if (finding.severity != Severity::error) continue;
    ++causes;
    symbols += finding.symbols.size();
  }
  if (report.verdict == Status::fails && symbols) parts.push_back(plural(symbols, "symbol"));
  if (report.verdict == Status::fails) parts.push_back(plural(causes, "cause"));
  return text + fmt::format("{}", fmt::join(parts, ", "));
}

// What was not asked, or could not be asked of such an input.
std::vector<std::string> scope_of(const Run& run) {
  std::vector<std::string> out;
  if (!run.device) {
    out.emplace_back("device code: not asked (--gpu)");
  } else if (run.device->driver.empty()) {
    out.emplace_back("NVIDIA driver's version: not asked (--driver)");
  }
  if (!run.facts.hashed) out.emplace_back("RECORD hashes: not checked (--hash)");
  out.emplace_back("Python code: not run and not read");
  for (const Input& input : run.inputs) {
    if (input.kind == InputKind::folder) {
      out.push_back(fmt::format("RECORD of {}: not checked: installed", input.label));
    }
    if (input.kind == InputKind::release && !input.instead) {
      out.push_back(fmt::format("{}: judged by the history of its exported names, not by its files",
                                input.label));
    }
    if (input.kind != InputKind::stub) continue;
    if (run.facts.hashed) {
      out.push_back(fmt::format("RECORD hashes of {}: not checked: stub", input.label));
    }
    out.push_back(
        fmt::format("{} is a stub: unsigned evidence of the wheel it was made of", input.label));
  }
  for (const ScenePackage& package : run.scene.packages) {
    const Input& input = run.inputs[package.input];
    if (!package.replaced || package.target || !input.location.empty()) continue;
    out.push_back(fmt::format("{} {} of {}: not used: the target takes its place",
                              package.facts->name, package.facts->version, input.label));
  }
  return out;
}

}  // namespace

std::string_view to_string(Status status) {
  switch (status) {
    case Status::loads:
      return "loads";
    case Status::undecided:
      return "undecided";
    case Status::fails:
      return "fails";
  }
  return "";
}

std::string_view kind_name(InputKind kind) {
  switch (kind) {
    case InputKind::wheel:
      return "wheel";
    case InputKind::stub:
      return "stub";
    case InputKind::folder:
      return "folder";
    case InputKind::file:
      return "file";
    case InputKind::machine:
      return "machine";
    case InputKind::release:
      return "release";
  }
  return "";
}

std::string short_name(const std::string& path, const std::string& package) {
  std::size_t slash = path.find('/');
  std::string top = path.substr(0, slash);
  std::string name = package.substr(0, package.find(' '));
  std::string shown = path;
  if (slash != std::string::npos && normalised_name(top) == normalised_name(name)) {
    shown = path.substr(slash + 1);
  }
  std::size_t base = shown.find_last_of('/') == std::string::npos ? 0 : shown.find_last_of('/') + 1;
  bool python_suffix = shown.find(".abi3.so", base) != std::string::npos ||
                       shown.find(".cpython-", base) != std::string::npos;
  return python_suffix ? shown.substr(0, shown.find('.', base)) : shown;
}

Report explain(const Run& run, const std::vector<RootView>& roots, std::vector<Finding> findings,
               bool with_plans) {
  Report report;
  report.python = run.scene.python;
  report.python_reason = run.scene.python_reason;
  add_inputs(run, report);
  std::vector<std::string> groups = alternative_groups(run, roots);
  if (!run.scene.exact) excuse(run, roots, groups, findings);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  std::map<std::string, Undecided> undecided;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    add_root(run, roots[i], groups[i], findings, report);
    if (report.roots.back().status == Status::undecided) {
      add_undecided(run, roots[i], undecided);
    }
    if (with_plans) report.plans.push_back(plan_of(roots[i]));
  }
  for (auto& [owner, entry] : undecided) report.undecided.push_back(std::move(entry));
  report.findings = std::move(findings);
  add_assumptions(run, roots, report);
  report.cuda = cuda_closure(run, roots);
  report.complete = report.problems.empty();
  for (const ReportRoot& root : report.roots) {
    if (root.status == Status::undecided) report.complete = false;
    if (root.status == Status::undecided && report.verdict == Status::loads) {
      report.verdict = Status::undecided;
    }
    if (root.status == Status::fails && !root.excused) report.verdict = Status::fails;
  }
  bool archive_error =
      std::any_of(report.findings.begin(), report.findings.end(), [](const Finding& finding) {
        return finding.severity == Severity::error && finding.roots.empty();
      });
  if (archive_error) report.verdict = Status::fails;
  if (!report.problems.empty() && report.verdict == Status::loads) {
    report.verdict = Status::undecided;
  }
  if (run.device) report.gpus = run.device->coverage;
  report.headline = headline(run, report);
  report.scope = scope_of(run);
  return report;
}

}  // namespace wheelvet
