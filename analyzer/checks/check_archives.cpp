// Archives that two installers could extract differently. The faults were found while reading; what
// they mean stands in the catalogue.
#include <fmt/format.h>

#include "checks/checks.h"

namespace wheelvet {

namespace {

Severity severity_of(const std::string& word) {
  if (word == "note") return Severity::note;
  return word == "warning" ? Severity::warning : Severity::error;
}

void add_fault(const Input& input, const ArchiveFault& fault, const CatalogEntry& entry,
               FindingSet& found) {
  constexpr std::size_t most_members = 20;
  Finding& finding = found.at(input.label, fault.rule, severity_of(entry.severity));
  finding.title = fmt::format("{}: {}", input.label, entry.title);
  finding.fix = entry.fix;
  finding.cause = fault.rule.starts_with("ARC-")
                      ? "the archive does not say one thing to every reader"
                      : entry.why;
  if (finding.evidence.size() > most_members) return;
  if (!fault.member.empty()) add_once(finding.objects, fault.member);
  std::string place = fault.offset ? fmt::format(" (offset {})", *fault.offset) : "";
  finding.evidence.push_back(fault.member.empty()
                                 ? fault.detail + place
                                 : fmt::format("{}: {}{}", fault.member, fault.detail, place));
}

const CatalogEntry& entry_of(const std::string& rule) {
  static const CatalogEntry unknown;
  for (const CatalogEntry& entry : load_catalog()) {
    if (entry.id == rule) return entry;
  }
  return unknown;
}

}  // namespace

std::vector<Finding> check_archives(const Run& run) {
  FindingSet found;
  for (std::size_t i = 0; i < run.inputs.size(); ++i) {
    const std::vector<ArchiveFault>* lists[] = {&run.inputs[i].faults, &run.facts.inputs[i].faults};
    for (const std::vector<ArchiveFault>* list : lists) {
      for (const ArchiveFault& fault : *list) {
        add_fault(run.inputs[i], fault, entry_of(fault.rule), found);
      }
    }
  }
  return found.take();
}

}  // namespace wheelvet
