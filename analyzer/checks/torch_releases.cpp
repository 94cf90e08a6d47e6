#include "checks/torch_releases.h"

#include <fmt/format.h>

#include <algorithm>

#include "facts/python_version.h"
#include "history/name_forms.h"
#include "link/demangle.h"
#include "link/process.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_forms = 3, most_names = 3;

const HistoryBuild& build_of(const TorchReleases& torch, std::uint32_t build) {
  return torch.asked.history.builds[build];
}

bool contains(const std::vector<std::uint32_t>& sorted, std::uint32_t build) {
  return std::binary_search(sorted.begin(), sorted.end(), build);
}

// The path in the scene of the library of a build that exports a name; empty when it has none
// there.
std::string provider_path(const Run& run, std::uint32_t build, const std::string& symbol) {
  History& history = run.torch->asked.history;
  for (const Export& each : exports_of(history, symbol)) {
    if (each.build != build) continue;
    const std::string& path = history.libraries[each.library];
    if (run.scene.by_path.contains(path)) return path;
  }
  return {};
}

Resemblance resemblance_of(const Run& run, const std::string& symbol, const NameForm& form) {
  Resemblance out;
  out.near_miss.symbol = form.symbol;
  out.near_miss.readable = demangled(form.symbol);
  out.near_miss.provider = provider_path(run, *run.torch->beside, form.symbol);
  out.string_abi = form.only_strings;
  out.near_miss.difference = form.only_strings ? "the other spelling of std::string (C++11 ABI)"
                                               : parameter_difference(symbol, form.symbol);
  auto file = run.scene.by_path.find(out.near_miss.provider);
  if (file != run.scene.by_path.end()) out.file = file->second;
  return out;
}

// What the release beside did to one name.
enum class Change { parameters, strings, gone, not_yet, unknown };

struct Told {
  NameStory story;
  Change change = Change::unknown;
  const NameForm* instead = nullptr;  // what the release beside has
};

Told tell(const Run& run, const std::string& symbol) {
  std::uint32_t beside = *run.torch->beside;
  Told told;
  told.story = story_of(run.torch->asked.history, symbol, beside);
  if (told.story.builds.empty()) return told;
  for (const NameForm& form : told.story.forms) {
    if (!form.instead || !contains(form.builds, beside)) continue;
    told.instead = &form;
    told.change = form.only_strings ? Change::strings : Change::parameters;
    return told;
  }
  told.change = beside < told.story.builds.front() ? Change::not_yet : Change::gone;
  return told;
}

// "c10::cuda::SetDevice", for a sentence.
std::string short_form(const std::string& symbol) {
  std::optional<CxxName> name = read_cxx_name(symbol);
  return name && !name->scoped.empty() ? name->scoped : symbol;
}

std::string listed(const std::vector<std::string>& names) {
  std::vector<std::string> shown(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), most_names)));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (names.size() > shown.size()) text += fmt::format(" and {} more", names.size() - shown.size());
  return text;
}

std::vector<std::uint32_t> both(const std::vector<std::uint32_t>& a,
                                const std::vector<std::uint32_t>& b) {
  std::vector<std::uint32_t> out;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

// "torch 2.10.0 changed the parameters of X; does not export Y any more".
std::string what_changed(const std::map<Change, std::vector<std::string>>& changes) {
  static const std::map<Change, std::string_view> words = {
      {Change::parameters, "changed the parameters of"},
      {Change::strings, "spells std::string differently in"},
      {Change::gone, "no longer exports"},
      {Change::not_yet, "does not export yet"},
  };
  std::vector<std::string> parts;
  for (const auto& [change, names] : changes) {
    if (change == Change::unknown) continue;
    parts.push_back(fmt::format("{} {}", words.at(change), listed(names)));
  }
  return fmt::format("{}", fmt::join(parts, "; it "));
}

// The release nearest to the one beside among those that load: the newest before it, else the
// oldest.
std::uint32_t nearest(const std::vector<std::uint32_t>& builds, std::uint32_t beside) {
  std::uint32_t best = builds.front();
  for (std::uint32_t build : builds) {
    if (build < beside) best = build;
  }
  return best;
}

void say_fix(const Run& run, const std::string& importer, Finding& finding) {
  const TorchReleases& torch = *run.torch;
  std::string name = importer.substr(0, importer.find(' '));
  std::string beside = build_of(torch, *torch.beside).version;
  std::string other_build = fmt::format("a build of {} for torch {}", name, beside);
  std::vector<std::uint32_t> fits = builds_that_load(run, finding.roots);
  if (fits.empty()) {
    finding.fix = fmt::format("{}: no release from {} to {} loads these modules", other_build,
                              build_of(torch, torch.trials.front().release.build).version,
                              build_of(torch, torch.trials.back().release.build).version);
    return;
  }
  std::string release = build_of(torch, nearest(fits, *torch.beside)).version;
  finding.fix = fmt::format("torch=={} with this {} (they load with {}), or {}", release, name,
                            release_range(torch.asked.history, fits), other_build);
  finding.fix_verified = true;
}

}  // namespace

std::vector<std::string_view> missed_of_torch(const Scene& scene, const RootView& view) {
  std::vector<std::string_view> out;
  for (const Binding* each : view.unbound) {
    const ElfFacts* elf = elf_of(scene, view.object(each->object));
    bool own = view.object(each->object).name.starts_with("torch/");
    if (each->outcome != Outcome::missing || !elf || own) continue;
    std::string_view name = elf->symbols.name(each->symbol);
    if (family_of(*scene.rules, name) == "torch") out.push_back(name);
  }
  return out;
}

std::set<std::string> roots_missing_torch(const Run& run, const std::vector<RootView>& roots) {
  std::set<std::string> out;
  const Rules& rules = *run.scene.rules;
  for (const RootView& view : roots) {
    bool misses = !missed_of_torch(run.scene, view).empty();
    misses =
        misses || std::any_of(view.objects.begin(), view.objects.end(), [&](std::size_t index) {
          const PlannedObject& object = view.object(index);
          bool absent = object.found == Found::absent || object.found == Found::declared;
          return absent && object.library != none &&
                 rules.libraries[object.library].kind == "torch";
        });
    if (misses) out.insert(view.path);
  }
  return out;
}

std::optional<std::uint32_t> build_beside(const AskedHistory& asked, const Scene& scene) {
  for (const ScenePackage& package : scene.packages) {
    if (package.replaced || normalised_name(package.facts->name) != "torch") continue;
    std::string_view version = package.facts->version;
    version = version.substr(0, version.find('+'));
    for (std::uint32_t i = 0; i < asked.history.builds.size(); ++i) {
      const HistoryBuild& build = asked.history.builds[i];
      if (build.machine == asked.machine && build.version == version) return i;
    }
  }
  return std::nullopt;
}

void rank_by_history(const Run& run, const std::string& symbol, std::vector<Resemblance>& near) {
  if (!run.torch || !run.torch->beside) return;
  std::uint32_t beside = *run.torch->beside;
  NameStory story = story_of(run.torch->asked.history, symbol, beside);
  for (const NameForm& form : story.forms) {
    bool known = std::any_of(near.begin(), near.end(), [&](const Resemblance& each) {
      return each.near_miss.symbol == form.symbol;
    });
    if (known || near.size() >= most_forms || !contains(form.builds, beside)) continue;
    Resemblance more = resemblance_of(run, symbol, form);
    if (more.file != none) near.push_back(std::move(more));
  }
  std::stable_partition(near.begin(), near.end(), [&](const Resemblance& each) {
    return std::any_of(story.forms.begin(), story.forms.end(), [&](const NameForm& form) {
      return form.instead && form.symbol == each.near_miss.symbol;
    });
  });
}

std::vector<std::uint32_t> builds_that_load(const Run& run, const std::vector<std::string>& roots) {
  const TorchReleases& torch = *run.torch;
  std::vector<std::string> judged;
  for (const std::string& root : roots) {
    bool ever = std::any_of(torch.trials.begin(), torch.trials.end(),
                            [&](const ReleaseTrial& trial) { return trial.loads.contains(root); });
    if (ever) judged.push_back(root);
  }
  std::vector<std::uint32_t> out;
  for (const ReleaseTrial& trial : torch.trials) {
    const HistoryBuild& build = build_of(torch, trial.release.build);
    bool python = admits_python(build.python, run.scene.python).value_or(true);
    bool all = std::all_of(judged.begin(), judged.end(),
                           [&](const std::string& root) { return trial.loads.contains(root); });
    if (python && all && !judged.empty()) out.push_back(trial.release.build);
  }
  return out;
}

void explain_by_history(const Run& run, const std::string& importer, Finding& finding) {
  if (!run.torch || !run.torch->beside) return;
  const TorchReleases& torch = *run.torch;
  std::vector<std::uint32_t> built_for;
  std::map<Change, std::vector<std::string>> changes;
  for (const SymbolEvidence& symbol : finding.symbols) {
    Told told = tell(run, symbol.symbol);
    if (told.change == Change::unknown) continue;
    built_for = changes.empty() ? told.story.builds : both(built_for, told.story.builds);
    changes[told.change].push_back(short_form(symbol.symbol));
    add_few(finding.evidence,
            fmt::format("torch {} has {}", release_range(torch.asked.history, told.story.builds),
                        symbol.readable));
    if (!told.instead) continue;
    add_few(finding.evidence,
            fmt::format("torch {} has {}", release_range(torch.asked.history, told.instead->builds),
                        demangled(told.instead->symbol)));
  }
  if (changes.empty()) return;
  std::string beside = build_of(torch, *torch.beside).version;
  std::string range = release_range(torch.asked.history, built_for);
  finding.cause =
      fmt::format("built for {}; torch {} {}",
                  range.empty() ? "no release of torch that the history has" : "torch " + range,
                  beside, what_changed(changes));
  if (!torch.trials.empty()) say_fix(run, importer, finding);
}

}  // namespace wheelvet
