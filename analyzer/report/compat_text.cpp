#include <fmt/format.h>

#include <algorithm>

#include "report/compat_report.h"
#include "report/finding_rows.h"
#include "report/printable.h"
#include "report/style.h"

namespace wheelvet {
namespace {

// Rows of one kind of a finding, before the rest is only counted.
constexpr std::size_t most_rows = 12;

struct Writer {
  const Compat& compat;
  const TextOptions& options;
  Style style;
  std::string out;

  void line(std::string_view label, std::string_view text) {
    out += fmt::format("    {:<10}{}\n", label, text);
  }

  void verdict() {
    bool wrong = std::any_of(compat.findings.begin(), compat.findings.end(),
                             [](const auto& each) { return each.severity == Severity::error; });
    std::string word = wrong              ? style.red("WRONG")
                       : !compat.complete ? style.yellow("UNDECIDED")
                                          : style.green("CONSISTENT");
    out += fmt::format("{}  {}\n", word, printable(compat.headline));
  }

  // One letter per release would need a legend: runs of like releases are one line.
  void releases() {
    auto word = [](const CompatRelease& each) -> std::string {
      if (each.only_cuda) return "fails: this build brings CUDA " + each.cuda;
      if (each.status == Status::loads && !each.python_fits) {
        return "loads, but asks for Python " + each.python;
      }
      return std::string(to_string(each.status));
    };
    const std::vector<CompatRelease>& all = compat.releases;
    for (std::size_t first = 0; first < all.size();) {
      std::size_t last = first;
      while (last + 1 < all.size() && word(all[last + 1]) == word(all[first]) &&
             all[last + 1].permitted == all[first].permitted) {
        ++last;
      }
      std::string range = all[first].version;
      if (last > first) range += " to " + all[last].version;
      std::string permitted = compat.declared.empty() ? ""
                              : all[first].permitted  ? "  (permitted)"
                                                      : "  (not permitted)";
      line(first == 0 ? "torch" : "",
           fmt::format("{:<18}{}{}", range, printable(word(all[first])), permitted));
      first = last + 1;
    }
  }

  void roots() {
    for (const CompatRoot& root : compat.roots) {
      bool plain = root.loads_with == compat.window && !root.stable_abi && !root.aside;
      if (plain && options.verbosity < 1) continue;
      std::string text = root.loads_with.empty() ? "loads with none" : "torch " + root.loads_with;
      if (root.aside) text = "fails with every release, for another reason than torch";
      if (root.stable_abi) {
        text += "; torch's stable C interface only";
        if (!root.stable_since.empty()) {
          text += fmt::format(", since {} ({})", root.stable_since, printable(root.stable_by));
        }
      }
      line("module", fmt::format("{}: {}", printable(root.name), text));
    }
  }

  void finding(const Finding& finding) {
    std::string severity(to_string(finding.severity));
    std::string shown = finding.severity == Severity::error     ? style.red(severity)
                        : finding.severity == Severity::warning ? style.yellow(severity)
                                                                : style.dim(severity);
    out += fmt::format("\n  {} {}  {}\n", style.bold(finding.id), shown, printable(finding.title));
    rows(finding, false);
  }

  // `reason`: why a release fails; what to do about it stands elsewhere.
  void rows(const Finding& finding, bool reason) {
    std::size_t shown = 0;
    for (const FindingRow& row : rows_of(finding)) {
      if (reason && (row.label == "fix" || row.label == "in")) continue;
      if (options.verbosity < 1 && ++shown > most_rows && row.label != "cause" &&
          row.label != "fix") {
        continue;
      }
      line(printable(row.label), printable(row.text));
    }
    if (options.verbosity < 1 && shown > most_rows) line("", "... (-v shows all)");
  }

  void bounds() {
    for (const CompatBound& bound : compat.bounds) {
      out += fmt::format("\n  {} bound: with torch {}\n", bound.side, bound.version);
      for (const Finding& finding : bound.findings) {
        line("fails", fmt::format("{} {}", finding.id, printable(finding.title)));
        rows(finding, true);
      }
      if (bound.findings.empty()) line("", "it asks for an interpreter that the wheel is not for");
    }
  }

  void floors() {
    if (compat.floors.empty()) return;
    out += '\n';
    bool first = true;
    for (const CompatFloor& floor : compat.floors) {
      out += fmt::format("  {:<10}{} {} ({})\n", first ? "needs" : "", printable(floor.what),
                         printable(floor.least), printable(floor.by));
      first = false;
    }
  }
};

}  // namespace

std::string render_text(const Compat& compat, const TextOptions& options) {
  Writer writer{compat, options, Style(options.color), {}};
  writer.verdict();
  if (options.verbosity < 0) return writer.out;
  writer.releases();
  writer.roots();
  for (const Finding& finding : compat.findings) {
    if (finding.severity != Severity::note || options.verbosity > 0) writer.finding(finding);
  }
  writer.bounds();
  writer.floors();
  if (!compat.pin.empty()) writer.out += fmt::format("  {:<10}{}\n", "pin", compat.pin);
  writer.out += fmt::format("  {:<10}{}\n", "scope", fmt::join(compat.scope, "; "));
  for (const Problem& problem : compat.problems) {
    writer.out += fmt::format("  {} {}\n", writer.style.red("problem  "), to_line(problem));
  }
  if (options.stats) {
    for (const auto& [stage, seconds] : compat.stats.seconds) {
      writer.line(stage, fmt::format("{:.3f} s", seconds));
    }
  }
  return writer.out;
}

}  // namespace wheelvet
