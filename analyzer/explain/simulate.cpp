#include "explain/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "checks/checks.h"
#include "facts/metadata.h"
#include "link/demangle.h"
#include "run.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_shown = 8;

Request request_of(const Question& question) {
  Request request;
  request.targets = question.targets;
  request.providers = question.providers;
  request.environment = question.environment;
  request.python = question.python;
  request.jobs = question.jobs;
  request.progress = question.progress;
  return request;
}

// "name@VERSION" without the version.
std::string_view plain_name(std::string_view symbol) { return symbol.substr(0, symbol.find('@')); }

std::vector<std::string> lacking(const ReportRoot& root) {
  std::vector<std::string> out = root.missing_libraries;
  for (const std::string& symbol : root.missing_symbols) {
    out.push_back(demangled(plain_name(symbol)));
  }
  out.insert(out.end(), root.missing_versions.begin(), root.missing_versions.end());
  return out;
}

bool ends_alike(std::string_view path, std::string_view other) {
  return !path.empty() && base_name(path) == base_name(other);
}

// What the line is about, in the words of a report.
struct Wanted {
  std::string symbol, library, node, file;
};

bool lacks(const ReportRoot& root, const Wanted& wanted) {
  auto holds = [](const std::vector<std::string>& list, auto&& same) {
    return std::any_of(list.begin(), list.end(), same);
  };
  if (!wanted.symbol.empty()) {
    return holds(root.missing_symbols,
                 [&](const std::string& each) { return plain_name(each) == wanted.symbol; });
  }
  if (!wanted.node.empty()) {
    return holds(root.missing_versions,
                 [&](const std::string& each) { return each.starts_with(wanted.node + " "); });
  }
  return !wanted.library.empty() && holds(root.missing_libraries, [&](const std::string& each) {
    return each == base_name(wanted.library);
  });
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < most_shown; ++i) {
    out += (i ? ", " : "") + names[i];
  }
  if (names.size() > most_shown) out += fmt::format(" and {} more", names.size() - most_shown);
  return out;
}

Wanted wanted_of(const Said& said, const Explanation& explanation) {
  Wanted wanted;
  bool symbol = said.rule->about == "symbol" && !explanation.forms.empty();
  if (symbol) wanted.symbol = explanation.forms.front().symbol;
  if (said.rule->about == "floor") wanted.node = part(said, "node");
  if (said.rule->about == "library") wanted.library = part(said, "library");
  wanted.file = part(said, "file");
  return wanted;
}

void add_versions(const Report& report, Explanation& explanation) {
  for (Side& side : explanation.sides) {
    for (const ReportInput& input : report.inputs) {
      for (const std::string& package : input.packages) {
        std::size_t space = package.find(' ');
        bool same = normalised_name(package.substr(0, space)) == normalised_name(side.owner.name);
        if (same && side.owner.version.empty()) side.owner.version = package.substr(space + 1);
      }
    }
  }
}

// Further names that the same load lacks: what comes next once this one is mended.
std::vector<std::string> also_lacking(const Report& report, const Wanted& wanted) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const ReportRoot& root : report.roots) {
    if (!lacks(root, wanted)) continue;
    for (const std::string& each : lacking(root)) {
      bool same = each == demangled(wanted.symbol) || each == base_name(wanted.library) ||
                  (!wanted.node.empty() && each.starts_with(wanted.node));
      if (!same && seen.insert(each).second) out.push_back(each);
    }
  }
  return out;
}

// The providers without the package that a repair puts another release of in place.
std::vector<std::string> providers_without(const Question& question, const Report& report,
                                           std::string_view package) {
  std::vector<std::string> out;
  for (const std::string& provider : question.providers) {
    bool replaced =
        std::any_of(report.inputs.begin(), report.inputs.end(), [&](const ReportInput& input) {
          return base_name(provider) == input.label &&
                 std::any_of(input.packages.begin(), input.packages.end(),
                             [&](const std::string& each) {
                               return each.substr(0, each.find(' ')) == package;
                             });
        });
    if (!replaced) out.push_back(provider);
  }
  return out;
}

// What the modules that lacked the name lack with the repair in place.
void judge(const Report& before, const Report& after, const Wanted& wanted, Repair& repair) {
  bool loads = true, any = false;
  std::set<std::string> seen;
  for (const ReportRoot& root : before.roots) {
    if (!lacks(root, wanted)) continue;
    for (const ReportRoot& now : after.roots) {
      if (now.path != root.path) continue;
      any = true;
      loads = loads && now.status == Status::loads;
      for (const std::string& each : lacking(now)) {
        if (seen.insert(each).second) repair.next.push_back(each + " is missing");
      }
      if (now.status == Status::undecided) repair.next.push_back(now.name + " is undecided");
    }
  }
  repair.verified = any && loads;
}

}  // namespace

bool can_simulate(const Question& question) {
  return !question.targets.empty() || !question.environment.empty();
}

Report simulate(const Question& question, Knowledge& knowledge) {
  Report report = check(request_of(question));
  for (const ReportInput& input : report.inputs) {
    for (const std::string& package : input.packages) {
      std::size_t space = package.find(' ');
      if (space == std::string::npos) continue;
      // The files at hand know better than the text.
      knowledge.packages[normalised_name(package.substr(0, space))] = package.substr(space + 1);
    }
  }
  return report;
}

void confirm(const Report& report, const Said& said, Explanation& explanation) {
  Wanted wanted = wanted_of(said, explanation);
  bool comparable = !wanted.symbol.empty() || !wanted.library.empty() || !wanted.node.empty();
  add_versions(report, explanation);
  if (!comparable) return;
  std::vector<std::string> files;
  std::string package;
  for (const ReportRoot& root : report.roots) {
    if (!lacks(root, wanted)) continue;
    files.push_back(root.path);
    if (package.empty() || ends_alike(root.path, wanted.file)) package = root.package;
    for (Side& side : explanation.sides) {
      bool same = side.role == "wants" && side.owner.name.empty() && !root.package.empty();
      if (!same) continue;
      std::size_t space = root.package.find(' ');
      side.owner = {"pip package", root.package.substr(0, space), root.package.substr(space + 1)};
      if (side.what.empty()) side.what = root.path;
    }
  }
  if (files.empty()) {
    explanation.confirmed.push_back(
        "not confirmed: with the files given here no module lacks it; the "
        "process of the message had other ones");
    return;
  }
  explanation.confirmed.push_back(fmt::format("confirmed: {} lack{} it{}", listed(files),
                                              files.size() == 1 ? "s" : "",
                                              package.empty() ? "" : " (" + package + ")"));
  for (const Finding& finding : report.findings) {
    for (const SymbolEvidence& symbol : finding.symbols) {
      if (symbol.symbol != wanted.symbol || symbol.near_misses.empty()) continue;
      const NearMiss& near = symbol.near_misses.front();
      add_once(explanation.confirmed,
               fmt::format("{} exports {}: {}", near.provider, near.readable, near.difference));
    }
  }
  explanation.next = also_lacking(report, wanted);
}

void try_repairs(const Question& question, const Report& before, const Said& said,
                 Explanation& explanation) {
  Wanted wanted = wanted_of(said, explanation);
  if (question.targets.empty() || wanted.symbol.empty()) return;
  for (Repair& repair : explanation.repairs) {
    if (repair.provider.empty()) continue;
    std::string package = repair.provider.substr(0, repair.provider.find("=="));
    Request request = request_of(question);
    request.providers = providers_without(question, before, package);
    request.providers.push_back(repair.provider);
    try {
      judge(before, check(request), wanted, repair);
    } catch (const WrongUsage&) {
      // Such as a release that the history lacks: it stays unverified.
    }
  }
}

}  // namespace wheelvet
