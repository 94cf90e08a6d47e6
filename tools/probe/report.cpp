#include "report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <regex>

namespace wheelvet::probe {
namespace {

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// A sentence of ours without folders and device UUIDs.
std::string scrubbed(const std::string& text) {
  static const std::regex folder("(^|[ '])/[^ ',;]*/");
  static const std::regex uuid("(GPU|MIG)-[0-9a-fA-F-]+");
  return std::regex_replace(std::regex_replace(text, folder, "$1"), uuid, "$1-(left out)");
}

std::string describe_gpus(const Report& report) {
  for (const StepReport& step : report.steps) {
    if (!step.answer.driver || step.answer.devices.empty()) continue;
    const DriverFacts& driver = *step.answer.driver;
    const std::vector<DeviceFacts>& devices = step.answer.devices;
    return fmt::format("; {} x {}, driver {} (CUDA {}.{})", devices.size(), devices.front().name,
                       driver.version, driver.cuda / 1000, driver.cuda % 1000 / 10);
  }
  return "";
}

std::string table_of_figures(const Answer& answer) {
  std::map<std::uint64_t, std::map<std::string, const Figure*>> rows;
  std::vector<std::string> columns;
  for (const Figure& figure : answer.figures) {
    rows[figure.bytes][figure.collective] = &figure;
    if (columns.empty() || columns.back() != figure.collective)
      columns.push_back(figure.collective);
  }
  if (rows.empty()) return "";
  int ranks = answer.figures.front().ranks;
  std::string out = fmt::format("      {:>12}", ranks > 1 ? "bus GB/s" : "GB/s");
  for (const std::string& column : columns) out += fmt::format(" {:>15}", column);
  out += '\n';
  for (const auto& [bytes, row] : rows) {
    out += fmt::format("      {:>10} B", bytes);
    for (const std::string& column : columns) {
      auto found = row.find(column);
      if (found == row.end()) continue;
      const Figure& figure = *found->second;
      out += fmt::format(" {:>15.2f}", figure.bus_gb_s.value_or(figure.algorithm_gb_s));
    }
    out += '\n';
  }
  return out;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + printable(text);
  return out;
}

std::string describe_log(const NcclLog& log) {
  if (log.version.empty() && log.warnings.empty()) return "";
  std::string out = fmt::format("      NCCL's log  version {}, {} channels", printable(log.version),
                                log.channels);
  if (!log.transports.empty()) out += ", via " + joined(log.transports);
  if (!log.network.empty()) out += ", network " + printable(log.network);
  out += '\n';
  if (!log.settings.empty()) out += "      settings    " + joined(log.settings) + "\n";
  for (const std::string& warning : log.warnings) {
    out += fmt::format("      warning     {}\n", printable(warning));
  }
  return out;
}

std::string describe_world(const World& world) {
  std::string out =
      fmt::format("  {} ranks on {} host{}, started by {}\n", world.ranks, world.hosts.size(),
                  world.hosts.size() == 1 ? "" : "s", world.launcher);
  for (const HostFacts& host : world.hosts) {
    out += fmt::format("      {:<20} rank{} {}", printable(host.name),
                       host.ranks.size() > 1 ? "s" : "", fmt::join(host.ranks, ", "));
    if (host.driver) {
      out += fmt::format(", {} x {}, driver {}", host.gpus.size(),
                         host.gpus.empty() ? "no GPU" : printable(host.gpus.front()),
                         printable(host.driver->version));
    }
    out += '\n';
  }
  return out;
}

/// Of a setting, what counts: where it is faster or slower by more than noise.
std::string describe_tuning(const Tuning& tuning) {
  std::string out;
  for (const TunedSetting& setting : tuning.settings) {
    out += fmt::format("      {:<6} {}", setting.effect, printable(setting.setting));
    if (setting.effect == "none") out += ": no difference beyond noise";
    if (setting.effect == "fails") out += ": " + printable(setting.reason);
    out += '\n';
    for (const TunedCell& cell : setting.cells) {
      if (!cell.beyond_noise) continue;
      out += fmt::format(
          "             {:<14} {:>10} B  {:+.0f} %  ({:.1f} us without, {:.1f} us with)\n",
          cell.collective, cell.bytes, cell.change, cell.without, cell.with);
    }
  }
  return out;
}

std::string describe_sweep(const Sweep& sweep) {
  std::string out =
      fmt::format("      {} blocks of settings tried, {} failed; the fastest over {} rounds:\n",
                  sweep.tried, sweep.failed, sweep.rounds);
  out += describe_tuning({sweep.rounds, "", sweep.finals});
  if (sweep.best.empty()) {
    return out + "      best        the environment as it is: no block is faster beyond noise\n";
  }
  out += fmt::format("      best        {:+.1f} % over all collectives and sizes; to paste:\n\n",
                     sweep.gain);
  for (const std::string& line : sweep.best) out += line + "\n";
  return out + "\n";
}

/// One line for all steps that nobody asked for.
std::string describe_scope(const Report& report) {
  std::map<std::string, std::string> names;  // by reason
  for (const StepReport& step : report.steps) {
    if (step.outcome != Outcome::not_asked) continue;
    std::string& list = names[step.reason];
    list += (list.empty() ? "" : ", ") + step.name;
  }
  std::string out;
  for (const auto& [reason, list] : names) {
    out += fmt::format("  not asked   {}: {}\n", list, printable(reason));
  }
  return out;
}

/// A row of the table of predictions.
struct Row {
  std::string step, about, predicted, observed;
  bool agrees = false;
};

bool same_but_about(const Row& a, const Row& b) {
  return a.step == b.step && a.predicted == b.predicted && a.observed == b.observed &&
         a.agrees == b.agrees;
}

/// Of libraries, images and communicators; what is alike (every GPU, every collective) in one row.
std::vector<Row> rows_of(const Report& report) {
  std::vector<Row> rows;
  for (const StepReport& step : report.steps) {
    std::size_t first = rows.size();
    std::string subject = step.subject.empty() ? "" : last_part(step.subject) + ": ";
    for (const Check& check : step.answer.checks) {
      if (check.kind.empty() && check.agrees) continue;
      bool whole = check.subject == step.subject;
      Row row{step.name, whole ? last_part(check.subject) : subject + check.subject,
              check.predicted, check.observed, check.agrees};
      auto alike = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
                                [&](const Row& each) { return same_but_about(each, row); });
      if (alike == rows.end()) {
        rows.push_back(std::move(row));
      } else if (subject.empty()) {
        alike->about += ", " + row.about;
      }
    }
  }
  return rows;
}

/// At most 40 characters: of a path its end, of other words their beginning.
std::string shortened(const std::string& text) {
  constexpr std::size_t most = 40;
  std::string shown = printable(text);
  if (shown.size() <= most) return shown;
  bool path = shown.starts_with('/') && shown.find(' ') == std::string::npos;
  return path ? "..." + shown.substr(shown.size() - most + 3) : shown.substr(0, most - 3) + "...";
}

std::string table_of_predictions(const Report& report) {
  std::vector<Row> rows = rows_of(report);
  if (rows.empty()) return "";
  rows.insert(rows.begin(), Row{"step", "about", "predicted", "observed", false});
  std::size_t widths[4] = {};
  for (Row& row : rows) {
    std::size_t column = 0;
    for (std::string* cell : {&row.step, &row.about, &row.predicted, &row.observed}) {
      *cell = shortened(*cell);
      widths[column] = std::max(widths[column], cell->size());
      ++column;
    }
  }
  std::string out = "\n";
  for (const Row& row : rows) {
    const char* agree = &row == &rows.front() ? "agree" : row.agrees ? "yes" : "NO";
    out += fmt::format("  {:<{}}  {:<{}}  {:<{}}  {:<{}}  {}\n", row.step, widths[0], row.about,
                       widths[1], row.predicted, widths[2], row.observed, widths[3], agree);
  }
  return out + "\n";
}

std::string describe(const StepReport& step, bool verbose) {
  std::string out = fmt::format("  {:<11} {:<11}", step.name, word(step.outcome));
  if (step.seconds > 0) out += fmt::format("{:>6.1f} s", step.seconds);
  if (!step.reason.empty()) out += "  " + printable(step.reason);
  while (out.back() == ' ') out.pop_back();
  out += '\n';
  if (!step.subject.empty()) out += fmt::format("      of          {}\n", printable(step.subject));
  for (const LoadedLibrary& library : step.answer.libraries) {
    if (!verbose) break;
    out += fmt::format("      loaded      {} {}\n", printable(library.path),
                       printable(library.version));
  }
  for (const Check& check : step.answer.checks) {
    if (check.agrees && !verbose) continue;
    out += fmt::format("      {:<9} {}: predicted {}; observed {}\n",
                       check.agrees ? "agrees" : "DISAGREES", printable(check.subject),
                       printable(check.predicted), printable(check.observed));
  }
  out += table_of_figures(step.answer);
  if (step.answer.nccl) out += describe_log(*step.answer.nccl);
  if (step.outcome != Outcome::fail) return out;
  for (const ChildRun& run : step.processes) {
    if (run.errors.bytes == 0) continue;
    out += fmt::format("      its stderr  {}\n", printable(run.errors.first.substr(0, 600)));
  }
  return out;
}

}  // namespace

const char* word(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass:
      return "pass";
    case Outcome::fail:
      return "fail";
    case Outcome::not_run:
      return "not_run";
    case Outcome::not_asked:
      return "not_asked";
    case Outcome::interrupted:
      return "interrupted";
  }
  return "";
}

const char* word(Ended ended) {
  switch (ended) {
    case Ended::answered:
      return "answered";
    case Ended::exited:
      return "exited";
    case Ended::signalled:
      return "signalled";
    case Ended::timeout:
      return "timeout";
    case Ended::flood:
      return "flood";
    case Ended::forged:
      return "forged";
    case Ended::stopped:
      return "stopped";
    case Ended::interrupted:
      return "interrupted";
    case Ended::not_started:
      return "not_started";
    case Ended::absent:
      return "absent";
    case Ended::lost:
      return "lost";
  }
  return "";
}

std::string printable(std::string_view bytes) {
  std::string out;
  for (char c : bytes) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += ' ';
    } else if (byte < 0x20 || byte > 0x7e) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

void conclude(Report& report) {
  std::map<Outcome, int> counts;
  for (const StepReport& step : report.steps) counts[step.outcome]++;
  int asked = static_cast<int>(report.steps.size()) - counts[Outcome::not_asked];
  if (counts[Outcome::interrupted]) {
    report.verdict = Outcome::interrupted;
  } else if (counts[Outcome::fail]) {
    report.verdict = Outcome::fail;
  } else if (counts[Outcome::not_run] || asked == 0) {
    report.verdict = Outcome::not_run;
  } else {
    report.verdict = Outcome::pass;
  }
  report.headline = fmt::format("{} of {} steps passed", counts[Outcome::pass], asked);
  if (counts[Outcome::fail]) report.headline += fmt::format(", {} failed", counts[Outcome::fail]);
  if (counts[Outcome::not_run])
    report.headline += fmt::format(", {} not run", counts[Outcome::not_run]);
  report.headline += describe_gpus(report);
}

void make_anonymous(Report& report) {
  report.anonymous = true;
  report.host.clear();
  report.kernel.resize(
      std::min(report.kernel.find_first_not_of("0123456789."), report.kernel.size()));
  report.environment = last_part(report.environment);
  report.notes.clear();
  for (StepReport& step : report.steps) {
    step.subject = scrubbed(step.subject);
    for (LoadedLibrary& library : step.answer.libraries) library.path = last_part(library.path);
    for (DeviceFacts& device : step.answer.devices) device.uuid = device.pci = "";
    for (Check& check : step.answer.checks) check.observed = scrubbed(check.observed);
    for (Check& check : step.answer.checks) check.predicted = scrubbed(check.predicted);
    // Free text that a library wrote may name anything.
    if (step.answer.error) step.answer.error->text.clear();
    if (step.outcome == Outcome::fail || step.outcome == Outcome::not_run) {
      step.reason = step.answer.error
                        ? fmt::format("{} answered {} {}", step.answer.error->call,
                                      step.answer.error->code, step.answer.error->name)
                        : "(left out)";
    }
    for (ChildRun& run : step.processes) {
      run.output.first.clear(), run.output.last.clear();
      run.errors.first.clear(), run.errors.last.clear();
      run.stage = scrubbed(run.stage);
      run.host.clear();
      run.left.clear();
    }
    if (!step.answer.nccl) continue;
    step.answer.nccl->warnings.clear();
    for (std::string& setting : step.answer.nccl->settings) setting.resize(setting.find('='));
  }
  if (report.world) {
    for (HostFacts& host : report.world->hosts) host.name.clear();
  }
  if (report.sweep) {
    report.sweep->failure.clear();
    for (TunedSetting& tuned : report.sweep->finals) tuned.reason.clear();
  }
  if (!report.tuning) return;
  report.tuning->failure.clear();
  for (TunedSetting& tuned : report.tuning->settings) tuned.reason.clear();
}

std::string to_text(const Report& report, bool quiet, bool verbose) {
  static const std::map<Outcome, const char*> verdicts = {{Outcome::pass, "PASS"},
                                                          {Outcome::fail, "FAIL"},
                                                          {Outcome::not_run, "NOT RUN"},
                                                          {Outcome::interrupted, "INTERRUPTED"}};
  std::string out =
      fmt::format("{}  {}\n", verdicts.at(report.verdict), printable(report.headline));
  if (quiet) return out;
  out += '\n';
  for (const StepReport& step : report.steps) {
    if (step.outcome != Outcome::not_asked) out += describe(step, verbose);
  }
  out += table_of_predictions(report);
  if (report.sweep) out += describe_sweep(*report.sweep);
  if (report.world) out += describe_world(*report.world);
  if (report.tuning) out += describe_tuning(*report.tuning);
  out += describe_scope(report);
  for (const std::string& note : report.notes)
    out += fmt::format("  note        {}\n", printable(note));
  return out;
}

}  // namespace wheelvet::probe
