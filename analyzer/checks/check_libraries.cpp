// Libraries that a load needs and does not get, or gets only on some hosts.
#include <fmt/format.h>

#include <algorithm>

#include "checks/checks.h"

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

void missing_library(const Run& run, const RootView& view, const PlannedObject& object,
                     FindingSet& found) {
  const LibraryRule* rule = rule_of(run, object);
  if (rule && rule->kind == "torch") {
    Finding& finding = found.at("torch", "LIB-003", Severity::note);
    finding.title = "needs torch, which is not among the inputs";
    finding.cause = "the imports that torch owns cannot be judged without it";
    finding.fix = "add the torch wheel it is to run with: --with torch-*.whl";
    add_once(finding.evidence, fmt::format("needs {}", object.name));
    add_once(finding.roots, view.path);
    return;
  }
  Finding& finding = found.at(object.name, "LIB-001", Severity::error);
  finding.title = fmt::format("{} is needed and nothing supplies it", object.name);
  finding.cause = "no input holds it, no package among the inputs declares one that does, and it is "
                  "no library of plain distributions";
  std::string advice = supply_advice(run.scene, object);
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

// A system library that the platform tag does not promise.
void outside_policy(const Run& run, const RootView& view, const PlannedObject& object,
                    FindingSet& found) {
  if (object.found != Found::system || object.requested_by == none) return;
  const LibraryRule* rule = rule_of(run, object);
  if (rule && (rule->plain || rule->kind == "python")) return;
  const PlannedObject& requester = view.object(object.requested_by);
  if (requester.file == none || !run.scene.files[requester.file].target) return;
  const PolicyRule* policy = promised_policy(run, run.scene.files[requester.file].input);
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
  finding.title = fmt::format("libraries come with the extra '{}' of {} only", optional->extra,
                              optional->by);
  finding.cause = "a plain installation does not bring them; what needs them loads with the extra alone";
  std::string name = optional->by.substr(0, optional->by.find(' '));
  finding.fix = fmt::format("pip install \"{}[{}]\", or these libraries from elsewhere", name,
                            optional->extra);
  add_once(finding.evidence, fmt::format("needs {}", object.name));
  add_search(view, object, finding);
}

// A library of the package that the loader would not find, but that may be in the process already.
void opened_before(const RootView& view, const PlannedObject& object, FindingSet& found) {
  if (object.found != Found::earlier) return;
  Finding& finding = found.at("", "LIB-005", Severity::note);
  finding.title = "libraries load only after others of the same package";
  finding.cause = "no search path reaches these files; the package must open them first";
  finding.fix = "none, where the package does so";
  add_once(finding.evidence, fmt::format("before: {}", object.name));
  add_once(finding.roots, view.path);
}

}  // namespace

std::vector<Finding> check_libraries(const Run& run, const std::vector<RootView>& roots) {
  FindingSet found;
  for (const RootView& view : roots) {
    for (std::size_t index : view.objects) {
      const PlannedObject& object = view.object(index);
      if (object.found == Found::absent && object.file == none) {
        missing_library(run, view, object, found);
      } else if (object.file != none) {
        unusable_file(run, view, object, found);
        opened_before(view, object, found);
      } else {
        from_extra(run, view, object, found);
        outside_policy(run, view, object, found);
      }
    }
  }
  return found.take();
}

}  // namespace wheelvet
