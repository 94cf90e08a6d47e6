#include "diff/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "checks/explain.h"
#include "diff/device_changes.h"
#include "diff/export_changes.h"
#include "diff/library_changes.h"
#include "diff/library_pairs.h"
#include "diff/package_changes.h"
#include "diff/users.h"
#include "facts/metadata.h"
#include "facts/read_facts.h"
#include "facts/read_python.h"
#include "history/release.h"
#include "named_input.h"
#include "run.h"

namespace wheelvet {
namespace {

// What breaks the most users at once, first.
constexpr std::array order = std::to_array<std::string_view>({"machine",
                                                              "packages-removed",
                                                              "files-removed",
                                                              "soname",
                                                              "python-floor",
                                                              "platform-floor",
                                                              "floor-raised",
                                                              "gpus-lost",
                                                              "processor-floor",
                                                              "executable-stack",
                                                              "versions-removed",
                                                              "string-abi",
                                                              "parameters",
                                                              "exports-gone",
                                                              "symbol-version",
                                                              "symbol-type",
                                                              "data-size",
                                                              "exports-moved",
                                                              "gpus-compiled",
                                                              "package-renamed",
                                                              "files-moved",
                                                              "tags",
                                                              "needed-added",
                                                              "requires-changed",
                                                              "requires-added",
                                                              "requires-removed",
                                                              "search-paths",
                                                              "needed-removed",
                                                              "floor-lowered",
                                                              "floor-added",
                                                              "versions-added",
                                                              "requires-python",
                                                              "policy",
                                                              "packages-added",
                                                              "files-added",
                                                              "exports-added",
                                                              "gpus-gained",
                                                              "device-code",
                                                              "device-code-unknown"});

DifferenceSide side_of(const Input& input, const InputFacts& facts) {
  DifferenceSide side;
  side.label = input.label;
  side.kind = kind_name(input.kind);
  side.size = input.origin ? input.origin->size : input.size;
  for (const PackageFacts& package : facts.packages) {
    side.packages.push_back(fmt::format("{} {}", package.name, package.version));
  }
  return side;
}

std::vector<LibraryChange> libraries_of(const std::vector<LibraryPair>& pairs) {
  std::vector<LibraryChange> out;
  for (const LibraryPair& pair : pairs) {
    LibraryChange& library = out.emplace_back();
    library.paired_by = pair.by;
    if (pair.before) {
      library.path = pair.before->path;
      library.size = pair.before->elf.file_size;
      library.exports = count_exports(pair.before->elf);
    }
    if (pair.now) {
      library.new_path = pair.now->path;
      library.new_size = pair.now->elf.file_size;
      library.new_exports = count_exports(pair.now->elf);
    }
  }
  return out;
}

void collect_problems(const Cast& cast, Difference& out) {
  for (std::size_t i = 0; i < cast.inputs.size(); ++i) {
    const std::vector<Problem>* lists[] = {&cast.inputs[i].problems,
                                           &cast.facts.inputs[i].problems};
    for (const auto* list : lists) {
      out.problems.insert(out.problems.end(), list->begin(), list->end());
    }
    for (const FileFacts& file : cast.facts.inputs[i].files) {
      if (file.problem) out.problems.push_back(*file.problem);
    }
  }
  out.complete = out.problems.empty();
}

std::string name_of(const DifferenceSide& side) {
  return side.packages.size() == 1 ? side.packages.front() : side.label;
}

std::string headline(const Difference& difference, bool by_users) {
  std::string sides = fmt::format("{} -> {}", name_of(difference.before), name_of(difference.now));
  if (by_users) {
    std::size_t modules = 0, broken = 0;
    for (const UserOutcome& user : difference.users) {
      modules += user.modules.size();
      broken += static_cast<std::size_t>(
          std::count_if(user.modules.begin(), user.modules.end(),
                        [](const UserModule& module) { return module.breaks; }));
    }
    return fmt::format("{}: {} of {} modules of {} user{} break", sides, broken, modules,
                       difference.users.size(), difference.users.size() == 1 ? "" : "s");
  }
  std::vector<std::string> reasons;
  for (const Change& change : difference.changes) {
    if (change.severity == Severity::error) reasons.push_back(change.title);
  }
  if (reasons.empty()) {
    return fmt::format("{}: nothing that was there for users is gone or changed", sides);
  }
  return fmt::format("{}: {}", sides, fmt::join(reasons, "; "));
}

// With users at hand only what they lose breaks anybody.
void judge(Difference& difference, bool by_users) {
  if (by_users) {
    for (Change& change : difference.changes) {
      change.severity = std::min(change.severity, Severity::warning);
    }
  }
  auto rank = [](const Change& change) {
    return std::find(order.begin(), order.end(), change.kind) - order.begin();
  };
  std::stable_sort(difference.changes.begin(), difference.changes.end(),
                   [&](const Change& a, const Change& b) {
                     if (a.severity != b.severity) return a.severity > b.severity;
                     return rank(a) < rank(b);
                   });
  difference.breaks =
      by_users
          ? std::any_of(difference.users.begin(), difference.users.end(),
                        [](const UserOutcome& user) { return user.breaks; })
          : std::any_of(difference.changes.begin(), difference.changes.end(),
                        [](const Change& change) { return change.severity == Severity::error; });
  difference.headline = headline(difference, by_users);
}

// OLD, NEW, the users, the providers, in this order.
std::vector<Input> open_all(const DifferenceRequest& request) {
  NamedFor wanted{request.python, request.platform, {}, request.progress != nullptr, true};
  std::vector<Input> inputs = open_named({request.before}, {}, wanted);
  auto add = [&](const std::vector<std::string>& targets,
                 const std::vector<std::string>& providers) {
    std::vector<Input> more = open_named(targets, providers, wanted);
    std::move(more.begin(), more.end(), std::back_inserter(inputs));
  };
  add({}, {request.now});
  if (inputs.size() != 2) throw WrongUsage("diff: OLD and NEW have to be one wheel each");
  inputs[0].target = false;
  add(request.users, request.providers);
  bool release = inputs[0].kind == InputKind::release || inputs[1].kind == InputKind::release;
  if (release && request.users.empty()) {
    throw WrongUsage(
        "diff: of a release of torch the history knows the names that it is asked for: give "
        "--used-by, or the wheels");
  }
  return inputs;
}

}  // namespace

Difference find_difference(const DifferenceRequest& request) {
  Difference out;
  auto last = std::chrono::steady_clock::now();
  auto lap = [&](const char* stage) {
    auto now = std::chrono::steady_clock::now();
    out.stats.seconds.emplace_back(stage, std::chrono::duration<double>(now - last).count());
    last = now;
  };
  std::vector<Input> inputs = open_all(request);
  std::vector<std::size_t> users, providers;
  for (std::size_t i = 2; i < inputs.size(); ++i) {
    (inputs[i].target ? users : providers).push_back(i);
  }
  lap("open");
  ReadOptions reading{request.jobs, false, request.progress};
  reading.device = DeviceDepth::headers;
  reading.device_inputs = {0, 1};
  Facts facts = read_facts(inputs, reading);
  lap("facts");
  std::optional<AskedHistory> history;
  open_releases(inputs, facts, history);
  Rules rules = load_rules();
  Cast cast{inputs, facts, 0, 1, users, providers};
  unsigned jobs = request.jobs ? request.jobs : std::max(1u, std::thread::hardware_concurrency());
  if (!users.empty()) read_python(inputs, known_packages(rules), facts, request.jobs);
  out.before = side_of(inputs[0], facts.inputs[0]);
  out.now = side_of(inputs[1], facts.inputs[1]);
  collect_problems(cast, out);
  for (std::size_t user : users) {
    out.users.push_back(judge_user(cast, user, rules, request.python, jobs));
    out.complete = out.complete && out.users.back().complete;
  }
  lap("users");
  const InputFacts &before = facts.inputs[0], &now = facts.inputs[1];
  std::vector<LibraryPair> pairs = pair_libraries(before, now);
  out.libraries = libraries_of(pairs);
  auto add = [&](std::vector<Change> changes) {
    std::move(changes.begin(), changes.end(), std::back_inserter(out.changes));
  };
  add(package_changes(before, now, rules));
  add(library_changes(pairs, rules));
  add(device_changes(pairs, load_device_rules()));
  lap("pairs");
  if (!history) add(export_changes(pairs, names_used(cast), !users.empty(), jobs));
  judge(out, !users.empty());
  lap("exports");
  out.stats.bytes_read = facts.bytes_read;
  out.stats.second_passes = facts.second_passes;
  return out;
}

}  // namespace wheelvet
