#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/finding_rows.h"
#include "report/printable.h"
#include "report/render.h"
#include "report/style.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_problems = 20, most_symbols = 12, most_evidence = 8, most_objects = 6;

struct Writer {
  const Report& report;
  const TextOptions& options;
  Style style;
  std::string out;
  std::map<std::string, std::string> names;  // installed path -> short name

  void line(std::string_view label, std::string_view text) {
    out += fmt::format("    {:<10}{}\n", label, text);
  }

  std::string name_of(const std::string& path) const {
    auto known = names.find(path);
    return printable(known == names.end() ? path : known->second);
  }

  std::string list(const std::vector<std::string>& paths, std::size_t most) const {
    std::vector<std::string> shown;
    for (const std::string& path : paths) {
      if (shown.size() == most) break;
      shown.push_back(name_of(path));
    }
    std::string text = fmt::format("{}", fmt::join(shown, ", "));
    if (paths.size() > most) text += fmt::format(" and {} more", paths.size() - most);
    return text;
  }

  void verdict() {
    std::string word;
    switch (report.verdict) {
      case Status::fails:
        word = style.red("FAILS");
        break;
      case Status::undecided:
        word = style.yellow("UNDECIDED");
        break;
      case Status::loads:
        word = style.green("LOADS");
        break;
    }
    out += fmt::format("{}  {}\n", word, printable(report.headline));
  }

  void symbol(const SymbolEvidence& evidence, const Finding& finding) {
    std::string version = evidence.version.empty() ? "" : "@" + evidence.version;
    line("wanted", printable(evidence.readable + version));
    if (evidence.readable != evidence.symbol) line("", style.dim(printable(evidence.symbol)));
    if (evidence.wanted_by.size() != finding.objects.size()) {
      line("by", list(evidence.wanted_by, most_objects));
    }
    if (evidence.near_misses.empty()) line("exported", "nothing of that name");
    for (const NearMiss* near : shown_near_misses(evidence)) {
      line("exported",
           fmt::format("{}   {}", printable(near->readable), printable(near->provider)));
      line("differs", style.bold(printable(near->difference)));
      if (options.verbosity < 1) break;
    }
  }

  void finding(const Finding& finding) {
    std::string severity(to_string(finding.severity));
    std::string shown = finding.severity == Severity::error     ? style.red(severity)
                        : finding.severity == Severity::warning ? style.yellow(severity)
                                                                : style.dim(severity);
    std::string remark = remark_of(finding);
    out += fmt::format("\n  {} {}  {}{}\n", style.bold(finding.id), shown, printable(finding.title),
                       remark.empty() ? "" : fmt::format(" ({})", printable(remark)));
    const std::vector<std::string>& where =
        finding.objects.empty() ? finding.roots : finding.objects;
    if (!where.empty()) line("in", list(where, most_objects));
    std::size_t shown_symbols = 0;
    for (const SymbolEvidence& evidence : finding.symbols) {
      if (options.verbosity < 1 && shown_symbols++ == most_symbols) {
        line("",
             fmt::format("... and {} more (-v shows all)", finding.symbols.size() - most_symbols));
        break;
      }
      symbol(evidence, finding);
    }
    std::size_t shown_lines = 0;
    for (const std::string& text : finding.evidence) {
      if (options.verbosity < 1 && shown_lines++ == most_evidence) {
        line("", fmt::format("... and {} more (-v shows all)",
                             finding.evidence.size() - most_evidence));
        break;
      }
      line("seen", printable(text));
    }
    if (!finding.cause.empty()) line("cause", printable(finding.cause));
    if (!finding.fix.empty()) {
      line("fix",
           printable(finding.fix) + (finding.fix_verified ? " (verified)" : " (not verified)"));
    }
  }

  void findings() {
    std::size_t notes = 0, suppressed = 0, known = 0;
    for (const Finding& each : report.findings) {
      bool hidden = each.severity == Severity::note && options.verbosity < 1 &&
                    report.verdict != Status::undecided;
      if (options.verbosity < 1 && !each.suppressed.empty()) {
        ++suppressed;
      } else if (options.verbosity < 1 && each.known) {
        ++known;
      } else if (hidden) {
        ++notes;
      } else {
        finding(each);
      }
    }
    if (notes)
      out += fmt::format("\n  {} more note{} (-v shows them)\n", notes, notes == 1 ? "" : "s");
    if (suppressed) out += fmt::format("\n  {} suppressed (-v shows them)\n", suppressed);
    if (known) out += fmt::format("\n  {} in the baseline (-v shows them)\n", known);
  }

  void undecided() {
    for (const Undecided& each : report.undecided) {
      out += fmt::format("\n  {}  {} import{} may belong to {}, which is not among the inputs\n",
                         style.yellow("undecided"), each.count, each.count == 1 ? "" : "s",
                         printable(each.owner));
      line("in", list(each.roots, most_objects));
      std::vector<std::string> shown;
      for (const std::string& name : each.examples) shown.push_back(printable(name));
      line("such as", fmt::format("{}", fmt::join(shown, ", ")));
    }
  }

  void assumptions() {
    std::vector<std::string> plain;
    bool first = true;
    for (const Assumption& each : report.assumptions) {
      if (each.kind == "plain system" && options.verbosity < 1) {
        plain.push_back(printable(each.library));
        continue;
      }
      std::string reason = each.because.empty() ? "" : ", " + printable(each.because);
      std::string owner =
          each.kind == "system" ? "system package " + printable(each.owner) : printable(each.owner);
      out += fmt::format("  {:<10}{} ({}{})\n", first ? "assumed" : "", printable(each.library),
                         owner, reason);
      first = false;
    }
    if (!plain.empty()) {
      out += fmt::format("  {:<10}{} (every plain distribution)\n", first ? "assumed" : "",
                         fmt::join(plain, ", "));
    }
  }

  void gpu_library(const LibraryCoverage& library) {
    if (!library.not_used.empty()) {
      line("", fmt::format("{}: not used, {}", name_of(library.path), printable(library.not_used)));
      return;
    }
    std::vector<std::string> parts;
    auto part = [&](std::size_t count, std::string_view what) {
      if (count) parts.push_back(fmt::format("{} {}", count, what));
    };
    part(library.own, "of its own code");
    part(library.family, "of family code");
    part(library.older, "of code for an older minor");
    part(library.compiled, "to be compiled from PTX");
    part(library.elsewhere, "of which other containers have the kernels");
    part(library.unserved, "without code");
    part(library.unjudged, "without a kernel or to be linked first, not judged");
    line("", fmt::format("{}: {} container{}: {}", name_of(library.path), library.containers,
                         library.containers == 1 ? "" : "s", fmt::join(parts, ", ")));
  }

  void gpus() {
    for (const GpuCoverage& gpu : report.gpus) {
      std::size_t judged = 0, whole = 0, partly = 0;
      for (const LibraryCoverage& library : gpu.libraries) {
        if (library.containers == 0 || !library.not_used.empty()) continue;
        ++judged;
        std::size_t without = library.unserved + library.elsewhere;
        if (library.unserved == 0) ++whole;
        if (library.unserved != 0 && without != library.containers) ++partly;
      }
      std::string text =
          judged == 0
              ? std::string("no device code")
              : fmt::format("{} of {} libraries have code for all their kernels", whole, judged);
      if (partly) text += fmt::format(", {} for some", partly);
      if (!gpu.driver.empty()) {
        text += fmt::format("; driver {} or newer ({})", gpu.driver, printable(gpu.driver_because));
      }
      out += fmt::format("  {:<10}{}\n", gpu.gpu, text);
      if (options.verbosity < 1) continue;
      for (const LibraryCoverage& library : gpu.libraries) gpu_library(library);
    }
  }

  void roots() {
    for (const ReportRoot& root : report.roots) {
      std::string status(to_string(root.status));
      std::string notes = root.excused ? " (alternative)" : "";
      if (!root.alternatives.empty()) notes += fmt::format("  [{}]", printable(root.alternatives));
      out += fmt::format("  {:<10}{}{}\n", status, printable(root.path), notes);
    }
  }

  void plans() {
    for (const ReportPlan& plan : report.plans) {
      out += fmt::format("\n  load plan of {}\n", printable(plan.root));
      for (const std::string& load : plan.loads) line("opens", printable(load));
      for (const ReportObject& object : plan.objects) {
        std::string by =
            object.requested_by.empty() ? "" : "  for " + printable(object.requested_by);
        line("", fmt::format("{}  [{}]{}", printable(object.name), printable(object.found), by));
      }
    }
  }

  void stats() {
    out +=
        fmt::format("\n  stats     {:.1f} MB read, {} second passes\n",
                    static_cast<double>(report.stats.bytes_read) / 1e6, report.stats.second_passes);
    for (const auto& [stage, seconds] : report.stats.seconds) {
      line("", fmt::format("{:<10}{:.3f} s", stage, seconds));
    }
  }
};

}  // namespace

std::string render_findings(const Report& report, const TextOptions& options) {
  Writer writer{report, options, Style(options.color), {}, {}};
  for (const ReportRoot& root : report.roots) writer.names[root.path] = root.name;
  writer.findings();
  return writer.out;
}

std::string render_text(const Report& report, const TextOptions& options) {
  Writer writer{report, options, Style(options.color), {}, {}};
  for (const ReportRoot& root : report.roots) writer.names[root.path] = root.name;
  writer.verdict();
  if (options.verbosity < 0) return writer.out;
  writer.findings();
  writer.undecided();
  writer.out += '\n';
  if (options.verbosity > 0) writer.roots();
  writer.gpus();
  writer.assumptions();
  writer.out += fmt::format("  {:<10}{}\n", "scope", fmt::join(report.scope, "; "));
  if (!report.configuration.empty()) {
    writer.out += fmt::format("  {:<10}{}\n", "config", printable(report.configuration));
  }
  std::size_t problems = 0;
  for (const Problem& problem : report.problems) {
    if (options.verbosity < 1 && problems++ == most_problems) {
      writer.out += fmt::format("  ... and {} more problems (-v shows all)\n",
                                report.problems.size() - most_problems);
      break;
    }
    writer.out += fmt::format("  {} {}\n", writer.style.red("problem  "), to_line(problem));
  }
  if (options.verbosity > 0) writer.plans();
  if (options.stats) writer.stats();
  return writer.out;
}

}  // namespace wheelvet
