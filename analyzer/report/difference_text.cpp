#include <fmt/format.h>

#include "report/difference.h"
#include "report/printable.h"
#include "report/style.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_names = 8, most_minor_names = 3, most_evidence = 6, most_problems = 20;

struct DifferenceWriter {
  const Difference& difference;
  const TextOptions& options;
  Style style;
  std::string out;

  void line(std::string_view label, std::string_view text) {
    out += fmt::format("    {:<10}{}\n", label, text);
  }

  std::string colored(Severity severity) const {
    std::string_view word = to_string(severity);
    if (severity == Severity::error) return style.red(word);
    return severity == Severity::warning ? style.yellow(word) : style.dim(word);
  }

  void verdict() {
    bool breaks = difference.breaks;
    std::string word = breaks                ? style.red("BREAKS")
                       : difference.complete ? style.green("KEEPS")
                                             : style.yellow("UNDECIDED");
    out += fmt::format("{}  {}\n", word, printable(difference.headline));
  }

  void user(const UserOutcome& user) {
    std::vector<std::string> broken, open;
    for (const UserModule& module : user.modules) {
      if (module.breaks) broken.push_back(printable(module.name));
      bool undecided = module.before == Status::undecided || module.now == Status::undecided;
      if (!module.breaks && undecided) open.push_back(printable(module.name));
    }
    std::string word = user.breaks ? style.red("breaks") : style.green("stands");
    out += fmt::format("\n  {}  {}", word, style.bold(printable(user.label)));
    if (broken.empty()) out += fmt::format(": {} modules\n", user.modules.size());
    if (!broken.empty()) {
      out += fmt::format(": {} of {} modules load beside OLD and fail beside NEW: {}\n",
                         broken.size(), user.modules.size(), fmt::join(broken, ", "));
    }
    if (!open.empty()) line("undecided", fmt::format("{}", fmt::join(open, ", ")));
    out += render_findings(user.now, options);
  }

  void name(const NameChange& name, bool shown_before) {
    bool fresh = name.symbol.empty();
    const std::string& symbol = fresh ? name.new_symbol : name.symbol;
    const std::string& readable = fresh ? name.new_readable : name.readable;
    const std::string& version = fresh ? name.new_version : name.version;
    const std::string& library = fresh ? name.new_library : name.library;
    if (!shown_before) {
      line(name.used ? "used" : "",
           fmt::format("{}{}{}   {}", printable(readable), version.empty() ? "" : "@",
                       printable(version), printable(library)));
    }
    if (readable != symbol) line("", style.dim(printable(symbol)));
    if (shown_before) return;
    if (!name.difference.empty()) line("", "  " + style.bold(printable(name.difference)));
    bool moved = !fresh && !name.new_library.empty() && name.new_library != name.library;
    if (moved) line("", "  now in " + printable(name.new_library));
    if (!fresh && !name.new_symbol.empty() && name.new_version != name.version) {
      line("", fmt::format("  now version {}",
                           name.new_version.empty() ? "none" : printable(name.new_version)));
    }
  }

  // The forms of a constructor stand together: one text, several symbols.
  void names(const Change& change) {
    bool all = options.verbosity > 0;
    std::size_t most = change.severity == Severity::error ? most_names : most_minor_names;
    const NameChange* last = nullptr;
    std::size_t shown = 0;
    for (const NameChange& each : change.names) {
      if (!all && shown == most) break;
      bool same = last && !each.readable.empty() && last->readable == each.readable &&
                  last->difference == each.difference && last->library == each.library;
      name(each, same);
      last = &each;
      ++shown;
    }
    if (shown < change.names.size()) {
      line("", fmt::format("... and {} more (-v shows all)", change.names.size() - shown));
    }
  }

  void change(const Change& change) {
    out += fmt::format("\n  {}  {}\n", colored(change.severity), printable(change.title));
    if (!change.before.empty() || !change.now.empty()) {
      line("before", change.before.empty() ? "none" : printable(change.before));
      line("now", change.now.empty() ? "none" : printable(change.now));
    }
    std::size_t shown = 0;
    for (const std::string& text : change.evidence) {
      if (options.verbosity < 1 && shown == most_evidence) {
        line("", fmt::format("... and {} more (-v shows all)", change.evidence.size() - shown));
        break;
      }
      line(change.names.empty() ? "" : "in", printable(text));
      ++shown;
    }
    names(change);
  }

  // Notes are told by their titles alone, where not everything is asked for.
  void changes() {
    for (const Change& each : difference.changes) {
      if (each.severity != Severity::note || options.verbosity > 0) change(each);
    }
    bool first = true;
    for (const Change& each : difference.changes) {
      if (each.severity != Severity::note || options.verbosity > 0) continue;
      out += fmt::format("{}  {}  {}", first ? "\n" : "", style.dim("note"), printable(each.title));
      if (!each.before.empty() || !each.now.empty()) {
        out += fmt::format(": {}, now {}", each.before.empty() ? "none" : printable(each.before),
                           each.now.empty() ? "none" : printable(each.now));
      } else if (each.evidence.size() == 1) {
        out += ": " + printable(each.evidence.front());
      }
      out += '\n';
      first = false;
    }
  }

  void sizes() {
    auto megabytes = [](std::uint64_t bytes) {
      return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
    };
    std::size_t before = 0, now = 0;
    for (const LibraryChange& library : difference.libraries) {
      before += library.path.empty() ? 0 : 1;
      now += library.new_path.empty() ? 0 : 1;
    }
    auto side = [&](const char* word, const DifferenceSide& of, std::size_t libraries) {
      out += fmt::format("  {:<10}{}: {}, {}\n", word, printable(of.label), megabytes(of.size),
                         counted(libraries, "library", "libraries"));
    };
    out += '\n';
    side("old", difference.before, before);
    side("new", difference.now, now);
  }

  void problems() {
    std::size_t shown = 0;
    for (const Problem& problem : difference.problems) {
      if (options.verbosity < 1 && shown++ == most_problems) {
        out += fmt::format("  ... and {} more problems (-v shows all)\n",
                           difference.problems.size() - most_problems);
        break;
      }
      out += fmt::format("  {} {}\n", style.red("problem  "), to_line(problem));
    }
  }

  void stats() {
    out += fmt::format("\n  stats     {:.1f} MB read, {} second passes\n",
                       static_cast<double>(difference.stats.bytes_read) / 1e6,
                       difference.stats.second_passes);
    for (const auto& [stage, seconds] : difference.stats.seconds) {
      line("", fmt::format("{:<10}{:.3f} s", stage, seconds));
    }
  }
};

}  // namespace

std::string counted(std::size_t count, std::string_view one, std::string_view several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

std::string render_text(const Difference& difference, const TextOptions& options) {
  DifferenceWriter writer{difference, options, Style(options.color), {}};
  writer.verdict();
  if (options.verbosity < 0) return writer.out;
  for (const UserOutcome& user : difference.users) writer.user(user);
  writer.changes();
  writer.sizes();
  writer.problems();
  if (options.stats) writer.stats();
  return writer.out;
}

}  // namespace wheelvet
