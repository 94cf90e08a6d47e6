#include "explain/answer.h"

#include <algorithm>
#include <future>
#include <map>

#include "explain/families.h"
#include "explain/simulate.h"
#include "rules/library_table.h"

namespace wheelvet {
namespace {

using Family = std::optional<Explanation> (*)(Knowledge&, const Said&);

std::optional<Explanation> explain_wrapper(Knowledge& knowledge, const Said& said);

// Who judges a message, by its "about" in rules/messages.toml.
const std::map<std::string_view, Family> families = {
    {"symbol", explain_symbol},     {"library", explain_library},   {"floor", explain_floor},
    {"refused", explain_plain},     {"plain", explain_plain},       {"module", explain_module},
    {"driver", explain_driver},     {"gpu", explain_gpu},           {"ptx", explain_ptx},
    {"arch", explain_arch},         {"header", explain_header},     {"link", explain_link},
    {"toolkit", explain_toolkit},   {"versions", explain_versions}, {"pair", explain_pair},
    {"operator", explain_operator}, {"variant", explain_variant},   {"wrapper", explain_wrapper},
};

// A message that says that something failed, and not what.
std::optional<Explanation> explain_wrapper(Knowledge& knowledge, const Said& said) {
  Explanation out;
  out.kind = "hidden";
  out.hidden = true;
  std::string module = part(said, "module");
  Side wants = wanting_side(knowledge, said);
  std::string who = !module.empty() ? module : wants.owner.name;
  out.sentence = (who.empty() ? "This message" : "This message about " + who) +
                 " hides its cause: the loader's own words, which name the file and what it lacks, "
                 "are not in it";
  for (const std::string& show : said.rule->shows) {
    if (std::optional<std::string> text = filled(show, said.parts)) out.shows.push_back(*text);
  }
  out.unknown.emplace_back("the cause: run one of the commands and explain what it prints");
  if (wants.what.empty()) wants.what = who;
  if (!wants.what.empty()) out.sides.push_back(std::move(wants));
  return out;
}

// A word that the loader says of every library that a package tries in turn: not the cause while
// there is another one.
bool is_attempt(const Said& said) {
  if (said.rule->about != "library") return false;
  std::string name = part(said, "library");
  return name.find("libav") != std::string::npos || name.find("libsw") != std::string::npos;
}

// The root cause first: messages of the loader and of drivers in the order of the text (Python
// prints the first exception of a chain first), then what was only tried, then what hides a cause.
int rank(const Said& said, const Explanation& explanation) {
  if (explanation.hidden) return 3;
  if (is_attempt(said)) return 2;
  return said.rule->about == "plain" && said.rule->kind == "resolver/index" ? 1 : 0;
}

struct Explained {
  Said said;
  Explanation explanation;
};

std::vector<Explained> explain_all(Knowledge& knowledge, const Log& log) {
  std::vector<Explained> out;
  for (const Said& said : log.said) {
    auto family = families.find(said.rule->about);
    if (family == families.end()) continue;
    std::optional<Explanation> explanation = family->second(knowledge, said);
    if (!explanation) continue;
    explanation->text = said.text;
    explanation->line = said.line;
    explanation->times = said.times;
    out.push_back({said, std::move(*explanation)});
  }
  std::stable_sort(out.begin(), out.end(), [](const Explained& a, const Explained& b) {
    return rank(a.said, a.explanation) < rank(b.said, b.explanation);
  });
  return out;
}

// One line may fit two wordings, and one cause be told twice.
void drop_repeated(std::vector<Explained>& all) {
  std::vector<Explained> kept;
  for (Explained& each : all) {
    auto same = std::find_if(kept.begin(), kept.end(), [&](const Explained& other) {
      return other.explanation.kind == each.explanation.kind &&
             other.explanation.sentence == each.explanation.sentence;
    });
    if (same == kept.end()) {
      kept.push_back(std::move(each));
    } else {
      same->explanation.times += each.explanation.times;
    }
  }
  all = std::move(kept);
}

// What the text itself says of the environment.
void learn(Knowledge& knowledge, const Log& log) {
  knowledge.packages = log.packages;
  knowledge.facts = log.facts;
  knowledge.machine = "x86_64";
  for (const Said& said : log.said) {
    bool arm = said.text.find("aarch64-linux-gnu") != std::string::npos;
    if (arm) knowledge.machine = "aarch64";
  }
}

}  // namespace

Answer explain_log(Knowledge& knowledge, const Log& log, const Question& question) {
  Answer out;
  out.bytes = log.bytes;
  out.lines = log.lines;
  out.cut = log.cut;
  out.binary = log.bytes > 0 && log.unprintable * 10 > log.bytes;
  if (log.said.empty()) return out;
  learn(knowledge, log);
  std::optional<Report> report;
  if (can_simulate(question)) report = simulate(question, knowledge);
  std::vector<Explained> all = explain_all(knowledge, log);
  drop_repeated(all);
  for (Explained& each : all) {
    if (report) {
      confirm(*report, each.said, each.explanation);
      try_repairs(question, *report, each.said, each.explanation);
    } else if (each.explanation.kind != "hidden") {
      each.explanation.unknown.emplace_back(
          "what would fail next: a load stops at its first fault (--env PREFIX, or the wheel)");
    }
    out.explanations.push_back(std::move(each.explanation));
  }
  return out;
}

Answer answer(const Question& question) {
  std::future<Rules> names = std::async(std::launch::async, load_names);
  Knowledge knowledge;
  knowledge.history = load_history();
  knowledge.explain = load_explain_rules();
  LogReader reader(knowledge.explain);
  for (std::string_view piece = question.next(); !piece.empty(); piece = question.next()) {
    reader.add(piece);
  }
  Log log = reader.end();
  knowledge.rules = names.get();
  return explain_log(knowledge, log, question);
}

}  // namespace wheelvet
