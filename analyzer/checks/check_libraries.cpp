// Libraries that a load needs and does not get, or gets only on some hosts.
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>

#include "checks/checks.h"
#include "checks/torch_releases.h"
#include "history/name_forms.h"

namespace wheelvet {
namespace {

const LibraryRule* rule_of(const Run& run, const PlannedObject& object) {
  return object.library == none ? nullptr : &run.scene.rules->libraries[object.library];
}

// Who asked, and where was looked.
void add_search(const RootView& view, const PlannedObject& object, Finding& finding) {
  add_once(finding.roots, view.path);
  if (object.requested_by == none) return;
  const std::string& requester = view.object(object.requested_by).name;
  add_once(finding.objects, requester);
  for (const std::string& place : object.looked_in) {
    add_once(finding.evidence, fmt::format("looked in {}", place));
  }
}

bool is_kind(const LibraryRule* rule, std::initializer_list<std::string_view> kinds) {
  return rule && std::find(kinds.begin(), kinds.end(), rule->kind) != kinds.end();
}

bool absent(const PlannedObject& object) {
  return object.found == Found::absent && object.file == none;
}

// A question without torch: its libraries, and the CUDA libraries that torch brings along.
void needs_torch(const RootView& view, const PlannedObject& object, FindingSet& found) {
  Finding& finding = found.at("torch", "LIB-003", Severity::note);
  finding.title = "needs torch, which is not among the inputs";
  finding.cause = "what torch owns, and the CUDA libraries that come with it, cannot be judged";
  finding.fix = "add the torch wheel it is to run with: --with torch-*.whl";
  add_once(finding.evidence, fmt::format("needs {}", object.name));
  add_once(finding.roots, view.path);
}

// Which releases the roots would load with, and the command that judges one of them.
void say_releases(const Run& run, Finding& finding) {
  if (!run.torch) return;
  const History& history = run.torch->asked.history;
  std::string target;
  for (const Input& input : run.inputs) {
    if (input.target && target.empty()) target = input.label;
  }
  std::vector<std::uint32_t> builds = builds_that_load(run, finding.roots);
  if (builds.empty()) {
    finding.evidence.push_back(
        fmt::format("loads with no release that the history has (torch {} to {})",
                    history.builds[run.torch->trials.front().release.build].version,
                    history.builds[run.torch->trials.back().release.build].version));
    finding.fix = fmt::format("wheelvet compat {}, which says why", target);
    return;
  }
  finding.evidence.push_back(fmt::format("loads with torch {}, by the history of its names",
                                         release_range(history, builds)));
  finding.fix = fmt::format(
      "wheelvet check {} --with torch=={}, or the torch wheel that it is to "
      "run with",
      target, history.builds[builds.back()].version);
}

// What a build of torch brings that was not read: CUDA's libraries, in a release that is not known.
void needs_unread_build(const Run& run, const RootView& view, const PlannedObject& object,
                        FindingSet& found) {
  Finding& finding = found.at("unread", "PIN-001", Severity::note);
  std::string build = "the build of torch";
  for (const ScenePackage& package : run.scene.packages) {
    bool torch = !package.replaced && normalised_name(package.facts->name) == "torch";
    if (torch) build = "torch " + package.facts->version;
  }
  finding.title = fmt::format("needs CUDA libraries that {} may bring: it was not read", build);
  finding.cause =
      "the history holds one build of each release; which CUDA libraries another build brings is "
      "not known";
  finding.fix = "give the wheel of that build, or a stub of it, with --with";
  add_once(finding.evidence, fmt::format("needs {}", object.name));
  add_once(finding.roots, view.path);
}

// True when a build of torch stands among the inputs of which only the release was read.
bool has_unread_build(const Run& run) {
  return std::any_of(run.scene.files.begin(), run.scene.files.end(), [](const SceneFile& file) {
    return file.facts->known && !file.facts->known->needs_known;
  });
}

void missing_library(const Run& run, const RootView& view, const PlannedObject& object,
                     FindingSet& found) {
  Finding& finding = found.at(object.name, "LIB-001", Severity::error);
  finding.title = fmt::format("{} is needed and nothing supplies it", object.name);
  finding.cause =
      "no input holds it, no package among the inputs declares one that does, and it is "
      "no library of plain distributions";
  std::string advice = supply_advice(run.scene, object);
  for (const Load& load : view.root->link.plan.loads) {
    if (!load.failed || load.what.substr(load.what.find_last_of('/') + 1) != object.name) continue;
    finding.title = fmt::format("{}, which is opened before, does not load itself", object.name);
    finding.cause = "what it needs is missing";
    finding.fix = "what its own findings say";
    add_search(view, object, finding);
    return;
  }
  const LibraryRule* rule = rule_of(run, object);
  const Declared* declared = rule ? who_declares(run.scene.declared, *rule) : nullptr;
  if (declared) {
    std::string wanted = declared->pinned.empty()
                             ? declared->name
                             : fmt::format("{}=={}", declared->name, declared->pinned);
    finding.cause = fmt::format("{} requires {}, which is not installed", declared->by, wanted);
    advice = fmt::format("pip install {}", wanted);
  }
  auto elsewhere = run.scene.by_name.find(object.name);
  if (elsewhere != run.scene.by_name.end()) {
    const std::string& path = run.scene.files[elsewhere->second].facts->path;
    add_once(finding.evidence, fmt::format("there is {}, but no path searched leads to it", path));
    finding.cause = "no RPATH or RUNPATH of those that need it names its folder";
    advice = "link with an RPATH to its folder, or open it before";
  }
  finding.fix = advice.empty()
                    ? std::string("give the wheel that ships it with --with, or build without it")
                    : advice;
  add_search(view, object, finding);
}

void unusable_file(const Run& run, const RootView& view, const PlannedObject& object,
                   FindingSet& found) {
  const FileFacts& facts = *run.scene.files[object.file].facts;
  if (facts.kind == FileKind::elf && !facts.problem) return;
  if (facts.problem) return;  // shown as a Problem; the roots over it are undecided
  Finding& finding = found.at(object.name, "FILE-002", Severity::error);
  finding.title = fmt::format("{} is found first and cannot be loaded", object.name);
  finding.cause = "the loader stops at the first file of that name, good or not";
  finding.fix = "remove the file, or put the real library in its place";
  add_search(view, object, finding);
}

// Objects that are found and that the loader does not take.
void refused_object(const RootView& view, const Refusal& refusal, FindingSet& found) {
  const PlannedObject& object = view.object(refusal.object);
  Finding& finding = found.at(object.name, "FILE-003", Severity::error);
  finding.title = fmt::format("the loader refuses {}: {}", object.name, refusal.reason);
  finding.cause = "the file is there and is an ELF object, but not one that it opens";
  auto says = [&](std::string_view words) {
    return refusal.reason.find(words) != std::string::npos;
  };
  finding.fix = says("stack") ? "link it with -z noexecstack, or clear the flag with patchelf"
                : says("static TLS")
                    ? "import it before the libraries that use up the room, or raise "
                      "GLIBC_TUNABLES=glibc.rtld.optional_static_tls"
                : says("ISA") ? "a processor of that level, or a build for the baseline"
                              : "build it as a shared object for this loader";
  add_search(view, object, finding);
}

// An object for another machine: the loader does not get to what it needs.
bool other_machine(const Run& run, const RootView& view, FindingSet& found) {
  const Machine& machine = *run.scene.machine;
  if (!machine.given || machine.loader.empty()) return false;
  std::uint16_t have = machine.platform == "aarch64" ? EM_AARCH64 : EM_X86_64;
  std::uint16_t built = view.root->link.plan.machine;
  if (built == have) return false;
  auto name = [](std::uint16_t em) {
    return em == EM_AARCH64  ? std::string("aarch64")
           : em == EM_X86_64 ? std::string("x86-64")
                             : fmt::format("machine {}", em);
  };
  Finding& finding = found.at("machine", "FILE-004", Severity::error);
  finding.title = fmt::format("built for {}, and this machine is {}", name(built), name(have));
  finding.cause = "the loader takes no object of another machine";
  finding.fix = fmt::format("the wheel for {}", name(have));
  add_once(finding.objects, view.path);
  add_once(finding.roots, view.path);
  return true;
}

// musl's loader has other rules; what glibc's would do says nothing of it.
void built_for_musl(const Run& run, const RootView& view, const PlannedObject& object,
                    FindingSet& found) {
  bool musl = object.file == none &&
              (object.name.starts_with("libc.musl-") || object.name.starts_with("ld-musl-"));
  std::size_t package = run.scene.files[view.root->file].package;
  if (package != none) {
    for (const std::string& tag : run.scene.packages[package].facts->tags) {
      musl = musl || tag.find("musllinux") != std::string::npos;
    }
  }
  if (!musl) return;
  Finding& finding = found.at("musl", "LIB-008", Severity::note);
  finding.title = "built for musl, whose loader is not simulated";
  finding.cause = "musl resolves names, paths and versions by other rules than glibc";
  finding.fix = "none here: judge the manylinux build, or ask musl's own loader";
  add_once(finding.roots, view.path);
}

// A library that is among the inputs, in a folder that the loader does not search for this
// requester.
void unreached_library(const std::string& path, const RootView& view, FindingSet& found) {
  Finding& finding = found.at(path, "LIB-006", Severity::warning);
  finding.title = fmt::format("{} is there, but where the loader does not look for it", path);
  finding.cause =
      "no RPATH or RUNPATH of those that need it names its folder; it is found only when "
      "something has opened it before";
  finding.fix = "import the package that opens it first, or link with an RPATH to its folder";
  add_once(finding.objects, view.path);
  add_once(finding.roots, view.path);
}

// A root that loads in a process that has imported something else first.
void only_after(const RootView& view, FindingSet& found) {
  const std::string& module = view.root->only_after;
  if (module.empty()) return;
  Finding& finding = found.at(module, "LIB-007", Severity::note);
  finding.title = fmt::format("loads only after `import {}`", module);
  finding.cause = fmt::format(
      "{} brings libraries into the process that no path of these objects leads to", module);
  finding.fix = fmt::format("import {} before it", module);
  add_once(finding.roots, view.path);
}

// A system library that the platform tag does not promise.
void outside_policy(const Run& run, const RootView& view, const PlannedObject& object,
                    FindingSet& found) {
  if (object.found != Found::system || object.requested_by == none) return;
  const LibraryRule* rule = rule_of(run, object);
  if (rule && (rule->plain || rule->kind == "python")) return;
  const PlannedObject& requester = view.object(object.requested_by);
  if (requester.file == none || !run.scene.files[requester.file].target) return;
  const PolicyRule* policy = promised_policy(run, run.scene.files[requester.file]);
  if (policy && std::find(policy->libraries.begin(), policy->libraries.end(), object.name) !=
                    policy->libraries.end()) {
    return;
  }
  Finding& finding = found.at(object.name, "LIB-002", Severity::warning);
  finding.title = fmt::format("{} must come from the system", object.name);
  finding.cause = policy ? fmt::format("{} does not promise it", policy->name)
                         : "the wheel's tag promises no system library";
  finding.fix = supply_advice(run.scene, object);
  add_once(finding.roots, view.path);
  add_once(finding.objects, requester.name);
}

// A library that only an extra of the package brings.
void from_extra(const Run& run, const RootView& view, const PlannedObject& object,
                FindingSet& found) {
  const LibraryRule* rule = rule_of(run, object);
  if (object.found != Found::declared || !rule || who_declares(run.scene.declared, *rule)) return;
  const Declared* optional = who_declares(run.scene.optional, *rule);
  if (!optional) return;
  Finding& finding = found.at(optional->by + optional->extra, "LIB-004", Severity::warning);
  finding.title =
      fmt::format("libraries come with the extra '{}' of {} only", optional->extra, optional->by);
  finding.cause =
      "a plain installation does not bring them; what needs them loads with the extra alone";
  std::string name = optional->by.substr(0, optional->by.find(' '));
  finding.fix = fmt::format("pip install \"{}[{}]\", or these libraries from elsewhere", name,
                            optional->extra);
  add_once(finding.evidence, fmt::format("needs {}", object.name));
  add_search(view, object, finding);
}

// A library of the package that the loader would not find, but that may be in the process already.
void opened_before(const std::string& path, const OpenedFirst& first, const RootView& view,
                   FindingSet& found) {
  Finding& finding = found.at("", "LIB-005", Severity::note);
  finding.title = "libraries load only after others of the same package";
  finding.cause = "no search path reaches these files; the package must open them first";
  finding.fix = "none, where the package does so";
  add_once(finding.evidence, first.by.empty() ? fmt::format("before: {}", path)
                                              : fmt::format("before: {} ({})", path, first.by));
  add_once(finding.roots, view.path);
}

}  // namespace

std::vector<Finding> check_libraries(const Run& run, const std::vector<RootView>& roots) {
  FindingSet found;
  // Declared or not: which release it is going to be, and what comes with it, is not known.
  auto of_absent_torch = [&](const PlannedObject& object) {
    return (absent(object) || object.found == Found::declared) &&
           is_kind(rule_of(run, object), {"torch"});
  };
  bool torch_is_absent =
      !run.scene.complete.contains("torch") &&
      std::any_of(roots.begin(), roots.end(), [&](const RootView& view) {
        return std::any_of(view.objects.begin(), view.objects.end(),
                           [&](std::size_t index) { return of_absent_torch(view.object(index)); });
      });
  bool unread = has_unread_build(run);
  for (const RootView& view : roots) {
    if (other_machine(run, view, found)) continue;
    only_after(view, found);
    for (const OpenedFirst& first : view.root->first) {
      const std::string& path = run.scene.files[first.file].facts->path;
      if (first.own) {
        opened_before(path, first, view, found);
      } else {
        unreached_library(path, view, found);
      }
    }
    for (const Refusal* refusal : view.refusals) refused_object(view, *refusal, found);
    for (std::size_t index : view.objects) {
      const PlannedObject& object = view.object(index);
      built_for_musl(run, view, object, found);
      bool may_come = torch_is_absent && !run.scene.exact &&
                      run.inputs[run.scene.files[view.root->file].input].location.empty();
      bool comes_along = absent(object) && is_kind(rule_of(run, object), {"cuda", "nccl"});
      if (may_come && (of_absent_torch(object) || comes_along)) {
        needs_torch(view, object, found);
      } else if (object.found == Found::declared && is_kind(rule_of(run, object), {"torch"})) {
        needs_torch(view, object, found);  // declared, but of which release is not known
      } else if (unread && absent(object) && is_kind(rule_of(run, object), {"cuda", "nccl"})) {
        needs_unread_build(run, view, object, found);
      } else if (absent(object)) {
        missing_library(run, view, object, found);
      } else if (object.file != none) {
        unusable_file(run, view, object, found);
      } else {
        from_extra(run, view, object, found);
        outside_policy(run, view, object, found);
      }
    }
  }
  std::vector<Finding> findings = found.take();
  for (Finding& finding : findings) {
    if (finding.id == "LIB-003") say_releases(run, finding);
  }
  return findings;
}

}  // namespace wheelvet
