#include <fmt/format.h>

#include "report/explanation.h"
#include "report/printable.h"
#include "report/style.h"

namespace wheelvet {
namespace {

constexpr std::size_t longest_shown = 300;  // of the line itself

struct Writer {
  const TextOptions& options;
  Style style;
  std::string out;

  void line(std::string_view label, std::string_view text) {
    out += fmt::format("    {:<10}{}\n", label, text);
  }

  static std::string owner_text(const FileOwner& owner) {
    if (owner.kind.empty() && owner.name.empty()) return {};
    std::string text = owner.name.empty() || owner.name == owner.kind
                           ? owner.kind
                           : fmt::format("{} {}", owner.kind, owner.name);
    if (!owner.version.empty()) text += " " + owner.version;
    return printable(text);
  }

  void side(const Side& side) {
    std::string text = printable(side.what.empty() ? "a module" : side.what);
    std::string owner = owner_text(side.owner);
    if (!owner.empty() && owner != text) text += fmt::format("   [{}]", owner);
    line(side.role, text);
    if (!side.built_for.empty()) {
      line("",
           fmt::format("{}{}", side.role == "wants" ? "for " : "is ", printable(side.built_for)));
    }
  }

  void form(const SymbolForm& form) {
    std::string releases =
        form.releases.empty() ? "" : "   " + style.bold(printable(form.releases));
    line(form.wanted ? "wanted" : "exported", printable(form.readable) + releases);
    if (form.symbol != form.readable) line("", style.dim(printable(form.symbol)));
    if (!form.difference.empty()) line("differs", style.bold(printable(form.difference)));
  }

  void repair(const Repair& repair) {
    line("fix", fmt::format("{}: {}{}", printable(repair.side), printable(repair.sentence),
                            repair.verified ? " (verified)" : " (not verified)"));
    if (!repair.command.empty()) line("", style.green(printable(repair.command)));
    for (const std::string& next : repair.next) line("", "then: " + printable(next));
  }

  void whole(const Explanation& each) {
    std::string mark = each.hidden ? style.yellow("HIDDEN") : style.red("CAUSE");
    out += fmt::format("{}  {}\n", mark, printable(each.sentence));
    std::string text =
        each.text.size() > longest_shown ? each.text.substr(0, longest_shown) + "..." : each.text;
    line("kind", printable(each.kind));
    line("line", fmt::format("{}{}: {}", each.line,
                             each.times > 1 ? fmt::format(" ({} times)", each.times) : "",
                             style.dim(printable(text))));
    for (const Side& each_side : each.sides) side(each_side);
    for (const SymbolForm& each_form : each.forms) {
      if (each_form.readable != each_form.symbol || !each_form.releases.empty()) form(each_form);
    }
    for (const std::string& confirmed : each.confirmed) line("seen", printable(confirmed));
    for (const Repair& each_repair : each.repairs) repair(each_repair);
    for (const std::string& next : each.next) line("next", "also missing: " + printable(next));
    for (const std::string& show : each.shows) line("show", style.green(printable(show)));
    for (const std::string& unknown : each.unknown) line("unknown", printable(unknown));
  }

  void brief(const Explanation& each) {
    out += fmt::format("\n  {} line {}: {}\n", style.bold("also"), each.line,
                       printable(each.sentence));
    if (each.hidden && !each.shows.empty())
      line("show", style.green(printable(each.shows.front())));
  }
};

std::string not_understood(const Answer& answer) {
  if (answer.bytes == 0) return "NOT UNDERSTOOD  there is no text\n";
  if (answer.binary) {
    return fmt::format("NOT UNDERSTOOD  these {} bytes are no text\n", answer.bytes);
  }
  return fmt::format(
      "NOT UNDERSTOOD  none of the {} line{} is a message known here; nothing is guessed\n"
      "    show      LD_DEBUG=libs,files python -c 'import MODULE' 2>&1 | tail -50\n"
      "    show      wheelvet check WHEEL --with PROVIDER, or wheelvet check --env PREFIX\n",
      answer.lines, answer.lines == 1 ? "" : "s");
}

}  // namespace

std::string render_explanation_text(const Answer& answer, const TextOptions& options) {
  if (answer.explanations.empty()) return not_understood(answer);
  Writer writer{options, Style(options.color), {}};
  const Explanation& first = answer.explanations.front();
  if (options.verbosity < 0) {
    std::string text = printable(first.sentence) + "\n";
    if (!first.repairs.empty()) text += printable(first.repairs.front().sentence) + "\n";
    return text;
  }
  writer.whole(first);
  for (std::size_t i = 1; i < answer.explanations.size(); ++i) {
    if (options.verbosity > 0) {
      writer.out += "\n";
      writer.whole(answer.explanations[i]);
    } else {
      writer.brief(answer.explanations[i]);
    }
  }
  if (answer.cut) writer.out += "\n  The text has more different messages than are kept.\n";
  return writer.out;
}

}  // namespace wheelvet
