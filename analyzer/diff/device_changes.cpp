#include "diff/device_changes.h"

#include <fmt/format.h>

#include <algorithm>

#include "checks/coverage.h"

namespace wheelvet {
namespace {

enum class Reach { nothing, compiled, native };

// The best that any of a library's code is on a GPU: containers for one architecture alone stand
// beside those for many, so one that is not served says nothing of the library.
Reach reach_of(const FileFacts& file, std::uint16_t arch, const DeviceRules& rules) {
  LibraryCoverage found = cover(file.path, file.code, arch, rules);
  if (found.own + found.family + found.older > 0) return Reach::native;
  return found.compiled > 0 ? Reach::compiled : Reach::nothing;
}

struct Gpus {
  std::vector<std::string> lost, compiled, gained;
};

Gpus compare_gpus(const LibraryPair& pair, const DeviceRules& rules) {
  Gpus out;
  for (const GpuRule& gpu : rules.gpus) {
    Reach was = reach_of(*pair.before, gpu.arch, rules), is = reach_of(*pair.now, gpu.arch, rules);
    std::string name = fmt::format("sm_{}", gpu.arch);
    if (was != Reach::nothing && is == Reach::nothing) out.lost.push_back(name);
    if (was == Reach::native && is == Reach::compiled) out.compiled.push_back(name);
    if (was == Reach::nothing && is != Reach::nothing) out.gained.push_back(name);
  }
  return out;
}

// Those of `from` that `without` lacks.
std::vector<std::string> left_out(const std::vector<std::string>& from,
                                  const std::vector<std::string>& without) {
  std::vector<std::string> out;
  std::copy_if(from.begin(), from.end(), std::back_inserter(out), [&](const std::string& name) {
    return std::find(without.begin(), without.end(), name) == without.end();
  });
  return out;
}

std::string architecture_changes(const LibraryPair& pair) {
  std::vector<std::string> was = architectures_of(pair.before->code),
                           is = architectures_of(pair.now->code);
  std::vector<std::string> gone = left_out(was, is), fresh = left_out(is, was), parts;
  if (!gone.empty()) parts.push_back(fmt::format("{} gone", fmt::join(gone, ", ")));
  if (!fresh.empty()) parts.push_back(fmt::format("{} new", fmt::join(fresh, ", ")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

class Changes {
 public:
  void add(const char* kind, Severity severity, const char* title, std::string evidence) {
    auto known = std::find_if(list.begin(), list.end(),
                              [&](const Change& change) { return change.kind == kind; });
    if (known == list.end()) {
      known = list.emplace(list.end());
      known->kind = kind;
      known->severity = severity;
      known->title = title;
    }
    known->evidence.push_back(std::move(evidence));
  }

  std::vector<Change> list;
};

void compare(const LibraryPair& pair, const DeviceRules& rules, Changes& changes) {
  const std::string& path = pair.now->path;
  Gpus gpus = compare_gpus(pair, rules);
  auto add = [&](const char* kind, Severity severity, const char* title,
                 const std::vector<std::string>& names) {
    if (names.empty()) return;
    changes.add(kind, severity, title, fmt::format("{}: {}", path, fmt::join(names, ", ")));
  };
  add("gpus-lost", Severity::error, "no code that runs any more for GPUs that were served",
      gpus.lost);
  add("gpus-compiled", Severity::warning,
      "for some GPUs the driver has to compile PTX at first use, where machine code was",
      gpus.compiled);
  add("gpus-gained", Severity::note, "code for GPUs that were not served", gpus.gained);
  if (std::string text = architecture_changes(pair); !text.empty()) {
    changes.add("device-code", Severity::note, "other architectures in the device code",
                fmt::format("{}: {}", path, text));
  }
}

}  // namespace

std::vector<Change> device_changes(const std::vector<LibraryPair>& pairs,
                                   const DeviceRules& rules) {
  Changes changes;
  for (const LibraryPair& pair : pairs) {
    if (!pair.before || !pair.now) continue;
    const DeviceCode &was = pair.before->code, &is = pair.now->code;
    if (was.read && is.read) {
      compare(pair, rules, changes);
    } else if (was.read != is.read) {
      const FileFacts& lacking = was.read ? *pair.now : *pair.before;
      changes.add("device-code-unknown", Severity::note,
                  "device code that could not be compared: a stub was made without it",
                  lacking.path);
    }
  }
  return changes.list;
}

}  // namespace wheelvet
