// Archives that two installers could extract differently. The faults were found while reading; what
// they mean stands in the catalogue.
#include <fmt/format.h>

#include "checks/checks.h"

namespace wheelvet {

std::vector<Finding> check_archives(const Run& run) {
  constexpr std::size_t most_members = 20;
  FindingSet found;
  std::map<std::string, std::string> titles, severities, fixes;
  for (const CatalogEntry& entry : load_catalog()) {
    titles[entry.id] = entry.title;
    severities[entry.id] = entry.severity;
    fixes[entry.id] = entry.fix;
  }
  for (std::size_t i = 0; i < run.inputs.size(); ++i) {
    const std::vector<ArchiveFault>* lists[] = {&run.inputs[i].faults, &run.facts.inputs[i].faults};
    for (const std::vector<ArchiveFault>* list : lists) {
      for (const ArchiveFault& fault : *list) {
        bool warning = severities[fault.rule] == "warning";
        Finding& finding = found.at(run.inputs[i].label, fault.rule,
                                    warning ? Severity::warning : Severity::error);
        finding.title = fmt::format("{}: {}", run.inputs[i].label, titles[fault.rule]);
        finding.fix = fixes[fault.rule];
        finding.cause = "the archive does not say one thing to every reader";
        if (finding.evidence.size() >= most_members) continue;
        if (!fault.member.empty()) add_once(finding.objects, fault.member);
        std::string place = fault.offset ? fmt::format(" (offset {})", *fault.offset) : "";
        finding.evidence.push_back(
            fault.member.empty() ? fault.detail + place
                                 : fmt::format("{}: {}{}", fault.member, fault.detail, place));
      }
    }
  }
  return found.take();
}

}  // namespace wheelvet
