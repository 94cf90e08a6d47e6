// Files named like shared objects that are none, and ELF files that say two things at once.
#include <fmt/format.h>

#include "checks/alternatives.h"
#include "checks/checks.h"
#include "facts/file_kind.h"

namespace wheelvet {

namespace {

// A module whose suffix names another interpreter is not seen by this one (importlib's
// EXTENSION_SUFFIXES), unless the package holds the same module under a name that is.
void other_interpreter(const Run& run, const SceneFile& file, FindingSet& found) {
  const std::string& path = file.facts->path;
  std::string interpreter = interpreter_of(path);
  if (interpreter.empty() || interpreter == run.scene.python || !is_module(*file.facts)) return;
  std::string stem = path.substr(0, path.find('.', path.find_last_of('/') + 1));
  for (const auto& [other, index] : run.scene.by_path) {
    bool same = other != path && other.starts_with(stem + ".");
    std::string its = same ? interpreter_of(other) : "-";
    if (its.empty() || its == run.scene.python) return;
  }
  Finding& finding = found.at(interpreter, "PY-001", Severity::warning);
  finding.title = fmt::format("modules for CPython {} are not seen by CPython {}", interpreter,
                              run.scene.python);
  finding.cause = "an interpreter imports only file names with its own suffix, .abi3.so or .so";
  finding.fix =
      fmt::format("run it with CPython {}, or a wheel for {}", interpreter, run.scene.python);
  add_once(finding.objects, path);
}

}  // namespace

std::vector<Finding> check_files(const Run& run) {
  FindingSet found;
  for (const SceneFile& file : run.scene.files) {
    if (!file.target) continue;
    const FileFacts& facts = *file.facts;
    other_interpreter(run, file, found);
    if (facts.kind != FileKind::elf) {
      std::string kind(to_string(facts.kind));
      Finding& finding = found.at(kind, "FILE-001", Severity::warning);
      bool named_alone = run.inputs[file.input].kind == InputKind::file;
      bool elsewhere = facts.kind == FileKind::other_class ||
                       facts.kind == FileKind::other_machine ||
                       facts.kind == FileKind::other_endian;
      if (elsewhere) finding.severity = Severity::note;     // TAG-003 weighs it against the tag
      if (named_alone) finding.severity = Severity::error;  // the very thing that was asked about
      finding.title = named_alone ? fmt::format("not a shared object, but {}", kind)
                                  : fmt::format("named like a shared object, but {}", kind);
      add_once(finding.objects, facts.path);
      finding.cause = "the loader cannot load it";
      finding.fix =
          "harmless unless something opens it; if the download is damaged, fetch it again";
    } else if (!facts.elf.oddities.empty()) {
      Finding& finding = found.at(facts.path, "ELF-001", Severity::warning);
      finding.title =
          fmt::format("{} shows other tools something else than the loader", facts.path);
      finding.objects = {facts.path};
      finding.evidence = facts.elf.oddities;
      finding.cause = "the file was edited by a tool that left two answers in it, or on purpose";
      finding.fix = "trust only what the loader reads; rebuild the file";
    }
  }
  return found.take();
}

}  // namespace wheelvet
