// What the metadata of packages requires of each other, against what is or would be there.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "checks/checks.h"
#include "checks/install_plan.h"

namespace wheelvet {
namespace {

std::string there(const UnmetRequirement& unmet) {
  return unmet.have.empty() ? "not installed" : unmet.have + " is installed";
}

// The line that keeps an installed package as it is. A local version is kept too: the index may
// have other builds of the same release.
std::string constraint(const UnmetRequirement& unmet) {
  return fmt::format("{}=={}", unmet.name, unmet.have);
}

std::string keeping(const std::string& line, const std::string& targets) {
  return fmt::format(
      "echo '{}' > constraints.txt; pip install -c constraints.txt {} (pip then takes a release "
      "that fits, or refuses); or pip install --no-deps {}, which leaves the requirement unmet",
      line, targets, targets);
}

void replaced(const UnmetRequirement& unmet, const std::string& targets, FindingSet& found) {
  Finding& finding = found.at(unmet.name, "REQ-001", Severity::warning);
  finding.title = fmt::format("pip replaces the installed {} {}", unmet.name, unmet.have);
  add_few(finding.evidence, fmt::format("{} requires {}", unmet.by, unmet.wanted));
  finding.cause = "an installed package that does not fit is replaced without a question";
  finding.fix = keeping(constraint(unmet), targets);
}

void installed(const UnmetRequirement& unmet, FindingSet& found) {
  Finding& finding = found.at("", "REQ-003", Severity::note);
  finding.title = "pip installs further packages, which are not among the inputs";
  add_few(finding.evidence, fmt::format("{}, for {}", unmet.wanted, unmet.by));
  finding.cause = "what they bring and require is not known here";
  finding.fix = "give their wheels as targets too";
}

void left_unmet(const UnmetRequirement& unmet, FindingSet& found) {
  Finding& finding = found.at(unmet.by, "REQ-004", Severity::warning);
  finding.title = fmt::format("requirements of {} are not met", unmet.by);
  std::string state = unmet.have_target ? unmet.have + " is to be installed" : there(unmet);
  add_few(finding.evidence, fmt::format("{}: {}", unmet.wanted, state));
  finding.cause = unmet.have_target
                      ? "pip installs what is asked for, whatever installed packages require"
                      : "pip check says so too; who relies on it may fail";
  if (unmet.have_target) {
    finding.fix = fmt::format("a release of {} that fits, or none of it", unmet.name);
    return;
  }
  constexpr std::string_view command = "pip install";
  if (!finding.fix.starts_with(command)) finding.fix = command;
  finding.fix += fmt::format(" '{}'", unmet.wanted);
}

void contradicts(const UnmetRequirement& unmet, FindingSet& found) {
  Finding& finding = found.at(unmet.name, "REQ-005", Severity::error);
  finding.title = fmt::format("pip refuses to install the targets together");
  add_few(finding.evidence, fmt::format("{} requires {}, and {} {} is a target", unmet.by,
                                        unmet.wanted, unmet.name, unmet.have));
  finding.cause = "no set of packages meets the requirements of all of them";
  finding.fix = "releases that fit each other";
}

void torch_breaks(const TorchSwap& swap, const std::string& targets, FindingSet& found) {
  if (swap.broken.empty()) return;
  Finding& finding = found.at("torch", "REQ-002", Severity::error);
  std::map<std::string, std::size_t> owners;
  for (const BrokenModule& module : swap.broken) {
    ++owners[module.package];
    add_few(finding.objects, module.path);
    add_few(finding.roots, module.path);
    add_few(finding.evidence,
            fmt::format("{} lacks {}", module.path, fmt::join(module.missing, ", ")));
  }
  std::vector<std::string> names;
  for (const auto& [owner, count] : owners) {
    names.push_back(fmt::format("{} module{} of {}", count, count == 1 ? "" : "s",
                                owner.empty() ? "no package" : owner));
  }
  finding.title = fmt::format("torch {} in place of {} breaks {}", swap.taken, swap.have,
                              fmt::join(names, ", "));
  finding.cause = fmt::format(
      "pip takes torch {}, the newest release known that the targets allow; these modules load "
      "beside the installed one and not beside that",
      swap.taken);
  finding.fix = keeping("torch==" + swap.have, targets);
}

// What the build of the index differs in, and what that torch requires besides.
void tell_of_torch(const TorchSwap& swap, FindingSet& found) {
  Finding& finding = found.at("torch", "REQ-001", Severity::warning);
  std::string label =
      swap.have.find('+') == std::string::npos
          ? std::string()
          : ", the installed one is labelled " + swap.have.substr(swap.have.find('+') + 1);
  finding.evidence.push_back(
      fmt::format("by torch {}: the public index has it {}{}", swap.taken,
                  swap.cuda.empty() ? "without CUDA" : "for CUDA " + swap.cuda, label));
  for (const UnmetRequirement& unmet : swap.further) {
    add_few(finding.evidence,
            fmt::format("{} requires {}: {}", unmet.by, unmet.wanted, there(unmet)));
  }
}

}  // namespace

std::vector<Finding> check_requirements(const InstallPlan& plan) {
  FindingSet found;
  std::string targets = fmt::format("{}", fmt::join(plan.targets, " "));
  for (const UnmetRequirement& unmet : plan.unmet) {
    if (unmet.by_target && unmet.have_target) {
      contradicts(unmet, found);
    } else if (unmet.by_target && !unmet.have.empty()) {
      replaced(unmet, targets, found);
    } else if (unmet.by_target) {
      installed(unmet, found);
    } else if (unmet.have_target || plan.targets.empty()) {
      left_unmet(unmet, found);
    }
  }
  if (plan.torch) {
    tell_of_torch(*plan.torch, found);
    torch_breaks(*plan.torch, targets, found);
  }
  return found.take();
}

}  // namespace wheelvet
