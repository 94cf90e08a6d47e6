#include <fmt/format.h>

#include <algorithm>

#include "report/printable.h"
#include "report/render.h"
#include "report/style.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_evidence = 10;

struct Writer {
  const DoctorReport& report;
  const TextOptions& options;
  Style style;
  std::string out;

  void line(std::string_view label, std::string_view text) {
    out += fmt::format("    {:<10}{}\n", label, text);
  }
  void fact(std::string_view label, std::string_view text) {
    if (!text.empty()) out += fmt::format("  {:<12}{}\n", label, printable(text));
  }

  void verdict() {
    Severity worst = Severity::note;
    for (const Finding& each : report.findings) {
      if (each.suppressed.empty()) worst = std::max(worst, each.severity);
    }
    std::string word = worst == Severity::error     ? style.red("ILL")
                       : worst == Severity::warning ? style.yellow("DOUBTFUL")
                                                    : style.green("WELL");
    out += fmt::format("{}  {}\n", word, printable(report.headline));
  }

  void finding(const Finding& each) {
    std::string severity(to_string(each.severity));
    std::string shown = each.severity == Severity::error     ? style.red(severity)
                        : each.severity == Severity::warning ? style.yellow(severity)
                                                             : style.dim(severity);
    out += fmt::format("\n  {} {}  {}\n", style.bold(each.id), shown, printable(each.title));
    std::size_t count = 0;
    for (const std::string& text : each.evidence) {
      if (options.verbosity < 1 && count++ == most_evidence) {
        line("",
             fmt::format("... and {} more (-v shows all)", each.evidence.size() - most_evidence));
        break;
      }
      line("seen", printable(text));
    }
    if (!each.suppressed.empty()) line("suppressed", printable(each.suppressed));
    if (!each.cause.empty()) line("cause", printable(each.cause));
    if (!each.fix.empty())
      line("fix", printable(each.fix) + (each.fix_verified ? " (verified)" : " (not verified)"));
  }

  void findings() {
    std::size_t notes = 0, suppressed = 0;
    for (const Finding& each : report.findings) {
      if (!each.suppressed.empty() && options.verbosity < 1) {
        ++suppressed;
      } else if (each.severity == Severity::note && options.verbosity < 1) {
        ++notes;
      } else {
        finding(each);
      }
    }
    if (notes)
      out += fmt::format("\n  {} more note{} (-v shows them)\n", notes, notes == 1 ? "" : "s");
    if (suppressed) out += fmt::format("\n  {} suppressed (-v shows them)\n", suppressed);
  }

  void facts() {
    out += '\n';
    for (const DoctorToolkit& each : report.toolkits) {
      fact("toolkit", fmt::format("CUDA {} in {} ({}{})", each.release.empty() ? "?" : each.release,
                                  each.path, each.kind, each.nvcc.empty() ? ", no nvcc" : ""));
      for (const std::string& pick : each.picked_by) {
        if (options.verbosity > 0) fact("", "  " + pick);
      }
    }
    fact("driver",
         report.driver.empty() ? "" : fmt::format("{}, {}", report.driver, report.libcuda));
    for (const std::string& gpu : report.gpus) fact("gpu", gpu);
    for (const DoctorSetting& each : report.settings) {
      fact("nccl", fmt::format("{}={} ({}): effective {}", each.name, each.given, each.from,
                               each.effective));
    }
    for (const DoctorCache& each : report.caches) {
      fact("cache", fmt::format("{} {} ({:.1f} MB, {} libraries)", each.kind, each.path,
                                static_cast<double>(each.bytes) / 1e6, each.libraries));
    }
    for (const VerificationLine& each : report.expectations) {
      fact(each.met ? "met" : "not met", fmt::format("{} = {}{}", each.name, each.wanted,
                                                     each.met ? "" : ", found " + each.found));
    }
    for (const WrittenFix& each : report.written) {
      fact("written",
           fmt::format("{}{}", each.path,
                       each.settles.empty()
                           ? ""
                           : fmt::format(" (settles {})", fmt::join(each.settles, ", "))));
    }
    out += fmt::format("  {:<12}{}\n", "scope", fmt::join(report.scope, "; "));
    fact("config", report.configuration);
    for (const Problem& problem : report.problems)
      out += fmt::format("  {} {}\n", style.red("problem    "), to_line(problem));
    if (!options.stats) return;
    for (const auto& [stage, seconds] : report.stats.seconds)
      fact("stats", fmt::format("{:<10}{:.3f} s", stage, seconds));
  }
};

}  // namespace

std::string render_text(const DoctorReport& report, const TextOptions& options) {
  Writer writer{report, options, Style(options.color), {}};
  writer.verdict();
  if (options.verbosity < 0) return writer.out;
  writer.findings();
  writer.facts();
  return writer.out;
}

}  // namespace wheelvet
