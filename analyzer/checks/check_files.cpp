// Files named like shared objects that are none, and ELF files that say two things at once.
#include <fmt/format.h>

#include "checks/checks.h"
#include "facts/file_kind.h"

namespace wheelvet {

std::vector<Finding> check_files(const Run& run) {
  FindingSet found;
  for (const SceneFile& file : run.scene.files) {
    if (!file.target) continue;
    const FileFacts& facts = *file.facts;
    if (facts.kind != FileKind::elf) {
      std::string kind(to_string(facts.kind));
      Finding& finding = found.at(kind, "FILE-001", Severity::warning);
      finding.title = fmt::format("named like a shared object, but {}", kind);
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
