#include "compat/compat.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "checks/explain.h"
#include "checks/torch_releases.h"
#include "compat/floors.h"
#include "compat/pins.h"
#include "facts/metadata.h"
#include "facts/python_version.h"
#include "facts/read_facts.h"
#include "facts/read_python.h"
#include "history/name_forms.h"
#include "link/demangle.h"
#include "link/process.h"
#include "machine/find_machine.h"
#include "named_input.h"
#include "run.h"
#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

// Interpreters of which a release of torch may ask for one: all that had wheels since 2.1.
constexpr int oldest_python = 8, newest_python = 16;

// What is asked about, read once.
struct Wheel {
  std::vector<Input> inputs;
  Facts facts;
  Rules rules;
  Machine machine;
  TorchReleases torch;
  LinkOptions options;
  std::shared_ptr<BindMemory> bound = std::make_shared<BindMemory>();
  std::vector<std::string> pythons;  // "3.10", ...
  std::string python;                // of the scenario

  const InputFacts& own() const { return facts.inputs.front(); }
  const History& history() const { return torch.asked.history; }
};

// The wheel beside one release.
struct Judged {
  Report report;
  std::set<std::string> blames_torch;  // roots that miss something of torch's or of CUDA's
  std::set<std::string> blames_names;  // of those: an import of torch's
};

std::vector<std::string> interpreters_of(const Wheel& wheel, const std::string& asked) {
  if (!asked.empty()) return {asked};
  std::vector<std::string> out;
  const std::vector<PackageFacts>& packages = wheel.own().packages;
  if (packages.empty()) return out;
  for (int minor = oldest_python; minor <= newest_python; ++minor) {
    std::string python = fmt::format("3.{}", minor), tag = fmt::format("cp3{}", minor);
    bool tagged = std::any_of(
        packages.front().tags.begin(), packages.front().tags.end(), [&](const std::string& each) {
          TagView parts = read_tag(each);
          if (parts.python.starts_with("py")) return true;
          if (parts.python == tag) return true;
          bool older = parts.python.starts_with("cp3") && parts.python.size() > 3 &&
                       std::atoi(std::string(parts.python.substr(3)).c_str()) <= minor;
          return parts.abi == "abi3" && older;
        });
    bool admitted = admits_python(packages.front().requires_python, python).value_or(true);
    if (tagged && admitted) out.push_back(python);
  }
  return out;
}

std::string told(const std::vector<std::string>& pythons) {
  if (pythons.empty()) return {};
  if (pythons.back() == fmt::format("3.{}", newest_python)) return pythons.front() + " and newer";
  return fmt::format("{}", fmt::join(pythons, ", "));
}

bool of_torch(const Rules& rules, const PlannedObject& object) {
  if (object.found != Found::absent || object.library == none) return false;
  const std::string& kind = rules.libraries[object.library].kind;
  return kind == "torch" || kind == "cuda" || kind == "nccl";
}

void blame(const Run& run, const RootView& view, Judged& out) {
  for (const Binding* each : view.unbound) {
    const ElfFacts* elf = elf_of(run.scene, view.object(each->object));
    bool torch = each->outcome == Outcome::missing && elf &&
                 family_of(*run.scene.rules, elf->symbols.name(each->symbol)) == "torch";
    if (torch) out.blames_names.insert(view.path);
  }
  bool library = std::any_of(view.objects.begin(), view.objects.end(), [&](std::size_t index) {
    return of_torch(*run.scene.rules, view.object(index));
  });
  if (library || out.blames_names.contains(view.path)) out.blames_torch.insert(view.path);
}

// The same stages as check's, with a release in place. `explained`: with what the history says of
// missing names.
Judged judge(Wheel& wheel, const ReleaseBuild* release, bool explained) {
  Staging staging{wheel.inputs,  wheel.facts,  wheel.rules,
                  wheel.machine, wheel.python, wheel.options};
  auto stages = [&] {
    Judged out;
    Scene scene = set_scene(wheel.inputs, wheel.facts, wheel.rules, wheel.machine, wheel.python);
    Links links = link_scene(scene, wheel.options);
    Run run{wheel.inputs, wheel.facts, scene, links};
    if (explained) {
      wheel.torch.beside = release->build;
      run.torch = &wheel.torch;
    }
    std::vector<RootView> roots = view_roots(run);
    for (const RootView& view : roots) blame(run, view, out);
    out.report = explain(run, roots, run_checks(run, roots), false);
    return out;
  };
  return release ? with_release(staging, wheel.torch.asked, *release, stages) : stages();
}

// Null where that file was no root of its own with that release: something else led to it.
const ReportRoot* root_at(const Judged& judged, const std::string& path) {
  for (const ReportRoot& root : judged.report.roots) {
    if (root.path == path) return &root;
  }
  return nullptr;
}

bool python_fits(const Wheel& wheel, const HistoryBuild& build) {
  return wheel.pythons.empty() ||
         std::any_of(wheel.pythons.begin(), wheel.pythons.end(), [&](const std::string& python) {
           return admits_python(build.python, python).value_or(true);
         });
}

// Roots that fail with every release, and with some for no reason of torch's or CUDA's: they say
// nothing of torch.
void set_aside(const std::vector<Judged>& judged, Compat& out) {
  for (CompatRoot& root : out.roots) {
    bool always = true, other_reason = false;
    for (const Judged& each : judged) {
      const ReportRoot* of = root_at(each, root.path);
      always = always && of && of->status == Status::fails;
      other_reason = other_reason || !each.blames_torch.contains(root.path);
    }
    root.aside = always && other_reason;
  }
}

void add_releases(const Wheel& wheel, const std::vector<ReleaseBuild>& releases,
                  const std::vector<Judged>& judged, Compat& out) {
  for (std::size_t i = 0; i < releases.size(); ++i) {
    const HistoryBuild& build = wheel.history().builds[releases[i].build];
    CompatRelease& release = out.releases.emplace_back();
    release.version = build.version;
    release.label = build.label;
    release.cuda = build.cuda;
    release.python = build.python;
    release.python_fits = python_fits(wheel, build);
    release.status = Status::loads;
    release.only_cuda = true;
    for (const CompatRoot& root : out.roots) {
      const ReportRoot* of = root_at(judged[i], root.path);
      release.roots.push_back(of ? of->status : Status::loads);
      bool torch = judged[i].blames_torch.contains(root.path);
      if (!of || of->excused || (root.aside && !torch)) continue;
      if (of->status == Status::undecided && release.status == Status::loads) {
        release.status = Status::undecided;
      }
      if (of->status != Status::fails) continue;
      release.status = Status::fails;
      if (!torch || judged[i].blames_names.contains(root.path)) release.only_cuda = false;
    }
    release.only_cuda = release.only_cuda && release.status == Status::fails;
  }
}

bool fits(const CompatRelease& release) {
  return release.status == Status::loads && release.python_fits;
}

std::vector<std::uint32_t> builds_where(const std::vector<ReleaseBuild>& releases,
                                        const std::function<bool(std::size_t)>& wanted) {
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < releases.size(); ++i) {
    if (wanted(i)) out.push_back(releases[i].build);
  }
  return out;
}

// What a module imports of torch's: nothing but names of the stable C interface?
void read_stable(Wheel& wheel, const std::vector<ReleaseBuild>& releases, const FileFacts& file,
                 CompatRoot& root) {
  std::uint32_t latest = 0;
  bool any = false;
  for (std::size_t i = 1; i < file.elf.symbols.count; ++i) {
    const SymbolTable& table = file.elf.symbols;
    if (!table.undefined(i) || table.relocations[i] == used_by_none) continue;
    std::string_view name = table.name(i);
    if (family_of(wheel.rules, name) != "torch") continue;
    bool shim = name.starts_with("aoti_torch_") || name.starts_with("torch_");
    if (!shim) return;
    any = true;
    for (const Export& each : exports_of(wheel.torch.asked.history, name)) {
      if (wheel.history().builds[each.build].machine != wheel.torch.asked.machine) continue;
      if (each.build > latest || root.stable_by.empty()) {
        latest = std::max(latest, each.build);
        root.stable_by = name;
      }
      break;
    }
  }
  if (!any) return;
  root.stable_abi = true;
  if (latest > releases.front().build) {
    root.stable_since = wheel.history().builds[latest].version;
  } else {
    root.stable_by.clear();
  }
}

void add_roots(Wheel& wheel, const std::vector<ReleaseBuild>& releases,
               const std::vector<Judged>& judged, Compat& out) {
  std::map<std::string, const ReportRoot*> all;
  for (const Judged& each : judged) {
    for (const ReportRoot& root : each.report.roots) all.emplace(root.path, &root);
  }
  for (const auto& [path, of] : all) {
    CompatRoot& root = out.roots.emplace_back();
    root.path = path;
    root.name = of->name;
    root.module = of->module;
    root.loads_with = release_range(wheel.history(), builds_where(releases, [&](std::size_t i) {
                                      const ReportRoot* there = root_at(judged[i], root.path);
                                      return there && there->status == Status::loads;
                                    }));
    for (const FileFacts& file : wheel.own().files) {
      if (file.path == root.path) read_stable(wheel, releases, file, root);
    }
  }
}

// The errors of a report that concern roots.
std::vector<Finding> reasons(const Report& report) {
  std::vector<Finding> out;
  for (const Finding& finding : report.findings) {
    if (finding.severity == Severity::error && !finding.roots.empty()) out.push_back(finding);
  }
  return out;
}

void add_bounds(Wheel& wheel, const std::vector<ReleaseBuild>& releases, Compat& out) {
  std::size_t count = out.releases.size(), first = count, last = count;
  for (std::size_t i = 0; i < count; ++i) {
    if (!fits(out.releases[i])) continue;
    if (first == count) first = i;
    last = i;
  }
  auto add = [&](const char* side, std::size_t i) {
    CompatBound& bound = out.bounds.emplace_back();
    bound.side = side;
    bound.version = out.releases[i].version;
    bound.findings = reasons(judge(wheel, &releases[i], true).report);
  };
  if (first == count) {
    if (count != 0) add("upper", count - 1);
    return;
  }
  if (first > 0) add("lower", first - 1);
  if (last + 1 < count) add("upper", last + 1);
}

Finding& add_finding(Compat& out, const char* id, Severity severity, std::string title) {
  Finding& finding = out.findings.emplace_back();
  finding.id = id;
  finding.severity = severity;
  finding.title = std::move(title);
  return finding;
}

std::string range_of(const Wheel& wheel, const std::vector<ReleaseBuild>& releases,
                     const std::function<bool(std::size_t)>& wanted) {
  return release_range(wheel.history(), builds_where(releases, wanted));
}

void judge_metadata(const Wheel& wheel, const std::vector<ReleaseBuild>& releases, Compat& out) {
  auto fails = [&](std::size_t i) {
    return out.releases[i].status == Status::fails && out.releases[i].python_fits;
  };
  auto permitted = [&](std::size_t i) { return out.releases[i].permitted; };
  std::string wide =
      range_of(wheel, releases, [&](std::size_t i) { return permitted(i) && fails(i); });
  std::string narrow = range_of(
      wheel, releases, [&](std::size_t i) { return !permitted(i) && fits(out.releases[i]); });
  std::string fix = out.pin.empty() ? std::string("a build for a release that is known")
                                    : fmt::format("Requires-Dist: {}", out.pin);
  if (out.declared.empty() && !wide.empty()) {
    Finding& finding = add_finding(
        out, "PIN-004", Severity::error,
        fmt::format("{} requires no release of torch and fails with some", out.package));
    finding.evidence.push_back(fmt::format("fails with torch {}", wide));
    finding.cause = "pip leaves, or brings, whatever release is there";
    finding.fix = fix;
  } else if (!wide.empty()) {
    Finding& finding =
        add_finding(out, "PIN-003", Severity::error,
                    fmt::format("{} permits releases of torch that it fails with", out.package));
    finding.evidence.push_back(fmt::format("declared: {}", out.declared));
    finding.evidence.push_back(fmt::format("permitted, and fails: torch {}", wide));
    finding.cause = "its Requires-Dist is wider than what its modules import allows";
    finding.fix = fix;
  }
  if (out.declared.empty() || narrow.empty()) return;
  Finding& finding =
      add_finding(out, "PIN-005", Severity::note,
                  fmt::format("{} shuts out releases of torch that it loads with", out.package));
  finding.evidence.push_back(fmt::format("declared: {}", out.declared));
  finding.evidence.push_back(fmt::format("not permitted, and loads: torch {}", narrow));
  finding.cause =
      "every import is found there; whether the package works with them, only its tests can say";
  finding.fix = fix;
}

void judge_window(Compat& out) {
  bool any = std::any_of(out.releases.begin(), out.releases.end(), [](const CompatRelease& each) {
    return fits(each) || each.status == Status::undecided;
  });
  if (any) return;
  Finding& finding = add_finding(
      out, "PIN-002", Severity::error,
      fmt::format("{} loads with no release of torch from {}", out.package, out.history));
  bool only_cuda = std::any_of(out.releases.begin(), out.releases.end(),
                               [](const CompatRelease& each) { return each.only_cuda; });
  finding.cause = only_cuda
                      ? "every name is there in some, but none of their builds that were read "
                        "brings the CUDA libraries that it needs"
                      : "no release has all that it imports";
  finding.fix = only_cuda
                    ? "a build of torch for its CUDA release, such as torch==X+cuNNN"
                    : "a build of it for a release of torch, or the torch that it was built for";
}

// "torch2.8" in the version of the wheel, against the releases that it loads with.
void judge_label(const Wheel& wheel, Compat& out) {
  if (wheel.own().packages.empty()) return;
  const std::string& version = wheel.own().packages.front().version;
  std::size_t at = version.find("torch");
  if (at == std::string::npos) return;
  std::string label = version.substr(at + 5);
  label = label.substr(0, label.find_first_not_of("0123456789."));
  if (label.find('.') == std::string::npos) return;
  bool named = false, loads = false;
  for (const CompatRelease& each : out.releases) {
    bool is = each.version == label || each.version.starts_with(label + ".");
    named = named || is;
    loads = loads || (is && each.status != Status::fails);
  }
  if (!named || loads) return;
  Finding& finding =
      add_finding(out, "PIN-006", Severity::warning,
                  fmt::format("{} is labelled for torch {} and fails with it", out.package, label));
  finding.evidence.push_back(out.window.empty() ? std::string("loads with no release")
                                                : "loads with torch " + out.window);
  finding.cause = "the label in its version is not what its modules were built for";
  finding.fix = "choose the build by what it imports; the maker should mend the label";
}

// What check finds of labels, whatever the torch: the CUDA release and the string ABI.
void take_labels(const Report& report, Compat& out) {
  for (const Finding& finding : report.findings) {
    if (finding.id == "TAG-005" || finding.id == "TAG-006") out.findings.push_back(finding);
  }
}

void add_floors(const Wheel& wheel, const std::vector<ReleaseBuild>& releases, Compat& out) {
  const HistoryBuild* torch = nullptr;
  const BuildFacts* facts = nullptr;
  for (std::size_t i = 0; i < out.releases.size() && out.needs_torch; ++i) {
    if (!fits(out.releases[i])) continue;
    torch = &wheel.history().builds[releases[i].build];
    facts = &wheel.torch.asked.builds[releases[i].build];
    break;
  }
  if (!wheel.pythons.empty()) {
    for (const std::string& python : wheel.pythons) {
      if (torch && !admits_python(torch->python, python).value_or(true)) continue;
      out.floors.push_back({"Python", python, "its tags and Requires-Python"});
      break;
    }
  }
  std::vector<CompatFloor> more = floors_of(wheel.rules, wheel.own(), torch, facts);
  out.floors.insert(out.floors.end(), more.begin(), more.end());
}

std::string headline_of(const Compat& out) {
  if (!out.needs_torch) return out.package + ": needs nothing of torch";
  std::string verdict = out.window.empty()
                            ? fmt::format("loads with no release of torch from {}", out.history)
                            : fmt::format("loads with torch {}", out.window);
  if (out.declared.empty()) return fmt::format("{}: {}; declares no torch", out.package, verdict);
  bool consistent = std::none_of(out.findings.begin(), out.findings.end(),
                                 [](const auto& each) { return each.id == "PIN-003"; });
  return fmt::format("{}: {}; declares {} ({})", out.package, verdict, out.declared,
                     consistent ? "consistent" : "too wide");
}

void add_problems(const Wheel& wheel, Compat& out) {
  for (std::size_t i = 0; i < wheel.inputs.size(); ++i) {
    const std::vector<Problem>* lists[] = {&wheel.inputs[i].problems,
                                           &wheel.facts.inputs[i].problems};
    for (const auto* list : lists) {
      out.problems.insert(out.problems.end(), list->begin(), list->end());
    }
    for (const FileFacts& file : wheel.facts.inputs[i].files) {
      if (file.problem) out.problems.push_back(*file.problem);
    }
  }
}

// The releases that the wheel's own metadata permits.
void read_declared(const Wheel& wheel, Compat& out) {
  if (wheel.own().packages.empty()) return;
  std::optional<std::string> declared =
      requirement_on(wheel.own().packages.front().requirements, "torch");
  if (!declared) return;
  out.declared = *declared;
  std::string specifier = specifier_of(*declared);
  for (CompatRelease& release : out.releases) {
    release.permitted = admits_release(specifier, release.version).value_or(true);
  }
}

void write_pin(Compat& out) {
  std::vector<std::string> versions;
  std::vector<bool> good;
  for (const CompatRelease& release : out.releases) {
    versions.push_back(release.version);
    good.push_back(fits(release));
  }
  bool stable = std::all_of(out.roots.begin(), out.roots.end(),
                            [](const CompatRoot& root) { return root.stable_abi || root.aside; });
  std::string specifier = specifier_for(versions, good, stable);
  if (!specifier.empty()) out.pin = "torch" + specifier;
}

Wheel read_wheel(const CompatRequest& request) {
  Wheel wheel;
  NamedFor wanted{request.python, request.platform, {}, request.progress != nullptr, false};
  wheel.inputs = open_named({request.wheel}, request.providers, wanted);
  InputKind kind = wheel.inputs.front().kind;
  if (kind != InputKind::wheel && kind != InputKind::stub) {
    throw WrongUsage(fmt::format("{}: compat judges wheels and stub wheels", request.wheel));
  }
  wheel.rules = load_rules();
  wheel.facts = read_facts(wheel.inputs, {request.jobs, false, request.progress});
  read_python(wheel.inputs, known_packages(wheel.rules), wheel.facts, request.jobs);
  wheel.options.memory = wheel.bound.get();
  wheel.options.jobs =
      request.jobs ? request.jobs : std::max(1u, std::thread::hardware_concurrency());
  wheel.python = request.python;
  wheel.pythons = interpreters_of(wheel, request.python);
  return wheel;
}

void take_times(std::chrono::steady_clock::time_point start, const char* stage, Compat& out) {
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  out.stats.seconds.emplace_back(stage, passed.count());
}

// Everything that is asked about releases of torch.
void judge_releases(Wheel& wheel, Compat& out) {
  std::vector<ReleaseBuild> releases = releases_of(wheel.history(), wheel.torch.asked.machine);
  std::vector<Judged> judged;
  for (const ReleaseBuild& release : releases) judged.push_back(judge(wheel, &release, false));
  add_roots(wheel, releases, judged, out);
  set_aside(judged, out);
  add_releases(wheel, releases, judged, out);
  read_declared(wheel, out);
  out.history = fmt::format("{} to {}", out.releases.front().version, out.releases.back().version);
  out.window = range_of(wheel, releases, [&](std::size_t i) { return fits(out.releases[i]); });
  write_pin(out);
  add_bounds(wheel, releases, out);
  judge_window(out);
  judge_metadata(wheel, releases, out);
  judge_label(wheel, out);
  take_labels(judged.back().report, out);
  add_floors(wheel, releases, out);
}

}  // namespace

Compat compare_with_releases(const CompatRequest& request) {
  Compat out;
  auto start = std::chrono::steady_clock::now();
  Wheel wheel = read_wheel(request);
  take_times(start, "facts", out);
  start = std::chrono::steady_clock::now();
  wheel.torch.asked = ask_history(wheel.inputs, wheel.facts);
  take_times(start, "history", out);
  start = std::chrono::steady_clock::now();
  out.machine = wheel.torch.asked.machine;
  out.pythons = told(wheel.pythons);
  out.package = wheel.inputs.front().label;
  if (!wheel.own().packages.empty()) {
    const PackageFacts& package = wheel.own().packages.front();
    out.package = fmt::format("{} {}", package.name, package.version);
  }
  Judged alone = judge(wheel, nullptr, false);
  out.needs_torch = std::any_of(alone.report.findings.begin(), alone.report.findings.end(),
                                [](const Finding& each) { return each.id == "LIB-003"; });
  if (out.needs_torch) {
    judge_releases(wheel, out);
  } else {
    take_labels(alone.report, out);
    add_floors(wheel, {}, out);
  }
  add_problems(wheel, out);
  out.complete = out.problems.empty() &&
                 std::none_of(out.releases.begin(), out.releases.end(),
                              [](const auto& each) { return each.status == Status::undecided; });
  out.headline = headline_of(out);
  out.scope = {"judged by exported names: layouts and inline code that changed show nowhere",
               "one build of each release, that of the public index",
               "whether a release has a wheel for every interpreter is not known",
               "device code: not checked"};
  out.stats.bytes_read = wheel.facts.bytes_read;
  out.stats.second_passes = wheel.facts.second_passes;
  take_times(start, "releases", out);
  return out;
}

}  // namespace wheelvet
