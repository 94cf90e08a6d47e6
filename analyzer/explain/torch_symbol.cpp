// A name of torch: the releases that export it, what took its place, and which side can change.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "explain/families.h"
#include "facts/metadata.h"
#include "history/name_forms.h"
#include "link/demangle.h"
#include "link/near_miss.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_forms = 4;

// All that is known of the wanted name and of the torch in the process.
struct Case {
  std::string symbol, readable;
  NameStory story;
  std::vector<std::uint32_t> builds;       // all, oldest first
  std::optional<std::uint32_t> installed;  // the build of that release
  std::string release;                     // as the text or environment has it: "2.6.0+cu126"
  Side wants;
  std::string library;  // of torch, which exports the name
};

std::string version_of(const Knowledge& knowledge, std::uint32_t build) {
  return knowledge.history.builds[build].version;
}

bool holds(const std::vector<std::uint32_t>& builds, std::uint32_t build) {
  return std::binary_search(builds.begin(), builds.end(), build);
}

// The build that was read is of another CUDA release than the installed one: "2.6.0+cu124" and
// "2.6.0+cu126" differ in their libraries.
bool another_build(const Knowledge& knowledge, const Case& c) {
  std::size_t local = c.release.find('+');
  if (!c.installed || local == std::string::npos) return false;
  const std::string& label = knowledge.history.builds[*c.installed].label;
  std::size_t plus = label.find('+');
  return plus != std::string::npos && label.substr(plus) != c.release.substr(local);
}

// The form that the process has instead: the installed torch's, else the one that differs least, of
// these the newer.
const NameForm* form_there(const Case& c) {
  if (c.installed) {
    for (const NameForm& form : c.story.forms) {
      if (holds(form.builds, *c.installed)) return &form;
    }
  }
  const NameForm* best = nullptr;
  for (const NameForm& form : c.story.forms) {
    if (!form.instead && !c.story.builds.empty()) continue;
    bool better =
        !best || form.differences < best->differences ||
        (form.differences == best->differences && form.builds.back() > best->builds.back());
    if (better) best = &form;
  }
  return best;
}

// All builds that have the function in another form instead.
std::vector<std::uint32_t> builds_instead(const Case& c) {
  std::set<std::uint32_t> builds;
  for (const NameForm& form : c.story.forms) {
    if (form.instead) builds.insert(form.builds.begin(), form.builds.end());
  }
  return {builds.begin(), builds.end()};
}

const NameForm* strings_form(const Case& c) {
  for (const NameForm& form : c.story.forms) {
    if (form.only_strings) return &form;
  }
  return nullptr;
}

bool same_in_source(const Case& c) {
  const NameForm* form = strings_form(c);
  return c.story.builds.empty() && form && demangled(form->symbol) == c.readable;
}

bool new_strings(std::string_view symbol) {
  return symbol.find("__cxx11") != std::string_view::npos ||
         symbol.find("B5cxx11") != std::string_view::npos;
}

bool is_string_change(const Knowledge& knowledge, const Case& c) {
  const NameForm* form = strings_form(c);
  if (!form || c.story.builds.empty()) return false;
  if (c.installed && holds(c.story.builds, *c.installed)) {
    // Builds for other CUDA releases changed their strings one release before the index's own.
    return another_build(knowledge, c) && *c.installed == c.story.builds.back();
  }
  return form_there(c) == form;
}

std::string kind_of(const Knowledge& knowledge, const Case& c) {
  if (same_in_source(c)) return "compiler-mangling/libstdc++-symbol";
  return is_string_change(knowledge, c) ? "cxx11-abi" : "cxx-symbol/torch-version";
}

Case read_case(Knowledge& knowledge, const Said& said, const std::string& symbol) {
  Case c;
  c.symbol = symbol;
  c.readable = demangled(symbol);
  c.builds = torch_builds(knowledge);
  c.installed = installed_torch(knowledge);
  c.release = installed_release(knowledge, "torch");
  c.wants = wanting_side(knowledge, said);
  if (c.builds.empty()) return c;
  c.story = story_of(knowledge.history, symbol, c.installed.value_or(c.builds.back()));
  std::vector<Export> exports = exports_of(knowledge.history, symbol);
  if (exports.empty() && !c.story.forms.empty()) {
    exports = exports_of(knowledge.history, c.story.forms.front().symbol);
  }
  if (!exports.empty()) {
    c.library = base_name(knowledge.history.libraries[exports.back().library]);
  }
  return c;
}

std::string wanting_name(const Case& c) {
  return c.wants.what.empty() ? "The module" : std::string(base_name(c.wants.what));
}

std::string function_name(const Case& c) {
  std::optional<CxxName> name = read_cxx_name(c.symbol);
  return name && name->function ? name->scoped : c.readable;
}

bool in_all(const Case& c) { return c.story.builds.size() == c.builds.size(); }

// Releases that lack the name lie on one side of those that have it.
bool only_older_lack_it(const Case& c) {
  return !c.story.builds.empty() && c.story.builds.back() == c.builds.back();
}

std::string sentence_of(const Knowledge& knowledge, const Case& c) {
  const History& history = knowledge.history;
  std::string who = wanting_name(c);
  if (same_in_source(c)) {
    return fmt::format(
        "{} wants {} under a mangled name that no torch exports, although torch {} has the same "
        "function: the two compilers spell a template parameter of it in different ways",
        who, c.readable, release_range(history, strings_form(c)->builds));
  }
  if (is_string_change(knowledge, c)) {
    bool is_new = !new_strings(strings_form(c)->symbol);
    return fmt::format(
        "{} was built with the {} C++ strings (_GLIBCXX_USE_CXX11_ABI={}), as torch {} has them; "
        "the torch in the process has the {} ones, and so {} goes by another name",
        who, is_new ? "new" : "old", is_new ? 1 : 0, release_range(history, c.story.builds),
        is_new ? "old" : "new", function_name(c));
  }
  if (c.installed && holds(c.story.builds, *c.installed)) {
    return fmt::format(
        "{} needs {}, which torch {} of the package index does export: what is loaded is another "
        "torch, or another build of it",
        who, c.readable, version_of(knowledge, *c.installed));
  }
  if (c.story.builds.empty()) {
    std::string sure = c.story.covered ? "no release of torch since 2.1.0 exports"
                                       : "the history of torch's names does not cover";
    return fmt::format(
        "{} needs {}, which {}: it was built against another torch (older, a "
        "nightly, or a vendor's)",
        who, c.readable, sure);
  }
  if (in_all(c)) {
    return fmt::format(
        "{} needs {}, which every torch since {} exports: the one in the process is "
        "older, or lacks {}",
        who, c.readable, version_of(knowledge, c.builds.front()), c.library);
  }
  std::string change;
  std::vector<std::uint32_t> instead = builds_instead(c);
  if (!instead.empty()) {
    change = fmt::format("; torch {} {} it with other parameters", release_range(history, instead),
                         instead.size() == 1 ? "has" : "have");
  }
  return fmt::format(
      "{} was built for torch {}, which alone {} {}{}; the torch in the process is {}", who,
      release_range(history, c.story.builds), c.story.builds.size() == 1 ? "exports" : "export",
      c.readable, change, c.release.empty() ? "none of these" : c.release);
}

void add_forms(const Knowledge& knowledge, const Case& c, Explanation& out) {
  const History& history = knowledge.history;
  out.forms.push_back({c.symbol, c.readable, release_range(history, c.story.builds), "", true});
  const NameForm* there = form_there(c);
  auto add = [&](const NameForm& form) {
    std::string readable = demangled(form.symbol);
    std::string difference = parameter_difference(c.symbol, form.symbol);
    out.forms.push_back(
        {form.symbol, readable, release_range(history, form.builds), difference, false});
  };
  if (there) add(*there);
  for (const NameForm& form : c.story.forms) {
    if (out.forms.size() > most_forms) break;
    if (&form != there && (form.instead || form.only_strings)) add(form);
  }
}

// The release to go to: of those that have the name, the one nearest to what is installed.
std::string nearest_release(const Knowledge& knowledge, const Case& c,
                            const std::vector<std::uint32_t>& builds) {
  if (c.installed && *c.installed < builds.front()) return version_of(knowledge, builds.front());
  return version_of(knowledge, builds.back());
}

void add_torch_repair(const Knowledge& knowledge, const Case& c, Explanation& out) {
  std::vector<std::uint32_t> builds = c.story.builds;
  if (builds.empty() && strings_form(c)) builds = strings_form(c)->builds;
  if (builds.empty() || same_in_source(c)) return;
  bool contradicts = c.installed && holds(c.story.builds, *c.installed);
  Repair repair;
  repair.side = "torch";
  std::string range = release_range(knowledge.history, builds);
  std::string release = nearest_release(knowledge, c, builds);
  repair.provider = "torch==" + release;
  if (contradicts && !another_build(knowledge, c)) {
    repair.sentence = fmt::format(
        "see which torch is loaded; remove any other copy, and install "
        "one of {} again",
        range);
    repair.command = fmt::format("pip install --force-reinstall 'torch=={}'", release);
    out.shows.emplace_back(
        "python -c 'import torch; print(torch.__version__, torch.version.cuda, torch.__file__)'");
    out.shows.emplace_back("find / -name 'libc10*.so' 2>/dev/null");
  } else {
    const HistoryBuild& build = knowledge.history.builds[builds.back()];
    std::string cuda = build.version == release && !build.cuda.empty()
                           ? fmt::format(" (its build for CUDA {})", build.cuda)
                           : "";
    repair.sentence = fmt::format("a torch that fits this build: {}{}", range, cuda);
    repair.command =
        only_older_lack_it(c) && !c.installed
            ? fmt::format("pip install 'torch>={}'", version_of(knowledge, builds.front()))
            : fmt::format("pip install 'torch=={}'", release);
  }
  out.repairs.push_back(std::move(repair));
}

// What a build has to be made for, in the words of wheel names: "torch2.10, cxx11abiTRUE".
std::string build_label(const Knowledge& knowledge, const Case& c) {
  std::string label = "torch" + (c.release.empty() ? std::string("X.Y of the installed torch")
                                                   : c.release.substr(0, c.release.find('.', 2)));
  if (!is_string_change(knowledge, c)) return label;
  return label + (new_strings(c.symbol) ? ", cxx11abiFALSE" : ", cxx11abiTRUE");
}

void add_package_repair(const Knowledge& knowledge, const Case& c, Explanation& out) {
  const FileOwner& owner = c.wants.owner;
  std::string name = owner.name.empty() ? "the package" : owner.name;
  std::string torch = c.release.empty() ? "the torch in the process" : "torch " + c.release;
  Repair repair;
  repair.side = name;
  std::string paired = c.release.empty() ? "" : paired_release(knowledge, name, c.release);
  bool follows = std::any_of(knowledge.explain.pairs.begin(), knowledge.explain.pairs.end(),
                             [&](const ReleasePair& rule) { return rule.package == name; });
  if (owner.kind == "build cache") {
    repair.sentence = fmt::format("delete what {} built for another torch; it is built anew", name);
    repair.command = fmt::format("rm -r {}", c.wants.what.substr(0, c.wants.what.rfind('/')));
  } else if (name == "torch") {
    repair.sentence = "torch's own libraries come from two releases: install it again, whole";
    repair.command = "pip install --force-reinstall --no-cache-dir torch";
  } else if (!paired.empty()) {
    repair.sentence = fmt::format("the {} that belongs to {}: {}", name, torch, paired);
    repair.command = fmt::format("pip install '{}=={}.*'", name, paired);
  } else if (follows) {
    repair.sentence = fmt::format("the release of {} that belongs to {}", name, torch);
    repair.command = fmt::format("pip install --upgrade torch {}", name);
  } else if (owner.kind == "github wheel") {
    repair.sentence =
        fmt::format("the release wheel of {} with {} in its name, or a build against {}", name,
                    build_label(knowledge, c), torch);
    repair.command = fmt::format(
        "pip install --no-build-isolation --no-binary {} --no-cache-dir {}", name, name);
  } else if (is_off_index(owner) || owner.name.empty()) {
    repair.sentence = fmt::format(
        "a build of {} for {}: from its own index for that torch, or from "
        "source",
        name, torch);
  } else {
    repair.sentence = fmt::format("a build of {} made for {}", name, torch);
    repair.command = fmt::format("pip install --upgrade {}", name);
  }
  if (same_in_source(c)) {
    repair.sentence =
        "build it with the compiler family of torch's own builds (GCC), or without "
        "the template that differs";
  }
  out.repairs.push_back(std::move(repair));
}

std::string built_for(const Knowledge& knowledge, const Case& c) {
  if (!c.story.builds.empty()) {
    return "torch " + release_range(knowledge.history, c.story.builds);
  }
  const NameForm* form = strings_form(c);
  if (!form) return "a torch that is not in the history";
  return fmt::format("torch {} with {} C++ strings", release_range(knowledge.history, form->builds),
                     new_strings(c.symbol) ? "the new" : "the old");
}

std::string process_has(const Knowledge& knowledge, const Case& c) {
  if (!c.release.empty()) return "torch " + c.release;
  std::vector<std::uint32_t> instead = builds_instead(c);
  if (!instead.empty()) return "torch " + release_range(knowledge.history, instead);
  if (in_all(c)) return "torch older than " + version_of(knowledge, c.builds.front());
  return only_older_lack_it(c) && !c.story.builds.empty()
             ? "torch older than " + version_of(knowledge, c.story.builds.front())
             : "another torch";
}

}  // namespace

std::optional<Explanation> explain_torch_symbol(Knowledge& knowledge, const Said& said,
                                                const std::string& symbol) {
  Case c = read_case(knowledge, said, symbol);
  if (c.builds.empty()) return std::nullopt;
  Explanation out;
  out.kind = kind_of(knowledge, c);
  out.sentence = sentence_of(knowledge, c);
  add_forms(knowledge, c, out);
  c.wants.built_for = built_for(knowledge, c);
  Side has{"has",
           c.library.empty() ? "torch" : c.library,
           {"pip package", "torch", c.release},
           process_has(knowledge, c)};
  out.sides = {c.wants, std::move(has)};
  add_torch_repair(knowledge, c, out);
  add_package_repair(knowledge, c, out);
  if (c.release.empty()) out.unknown.emplace_back("which torch is in the process (--env PREFIX)");
  if (!c.installed && !c.release.empty()) {
    out.unknown.push_back(
        fmt::format("what torch {} exports: it is not in the history", c.release));
  }
  if (another_build(knowledge, c)) {
    out.unknown.push_back(
        fmt::format("what torch {} exports: the history holds {}, another build of that release",
                    c.release, knowledge.history.builds[*c.installed].label));
  }
  const NameForm* other = strings_form(c);
  if (other && !c.installed && out.kind == "cxx11-abi" && c.story.forms.size() > 1) {
    const NameForm* change = nullptr;
    for (const NameForm& form : c.story.forms) {
      if (!form.only_strings && form.instead && form.builds.front() < c.story.builds.front()) {
        change = &form;
      }
    }
    if (change) {
      out.unknown.push_back(
          fmt::format("whether the strings differ or the release: torch {} lacks the name as well",
                      release_range(knowledge.history, change->builds)));
    }
  }
  return out;
}

}  // namespace wheelvet
