#include "link/try_releases.h"

#include <algorithm>

namespace wheelvet {
namespace {

bool has_undecided(const Link& link) {
  return std::any_of(link.bindings.begin(), link.bindings.end(),
                     [](const Binding& binding) { return binding.outcome == Outcome::undecided; });
}

// True when the build exports the name, or when the history cannot tell.
bool may_have(const AskedHistory& asked, std::uint32_t build, std::string_view name) {
  const auto& known = asked.asked.exports;  // sorted by name
  auto at =
      std::lower_bound(known.begin(), known.end(), name,
                       [](const auto& entry, std::string_view of) { return entry.first < of; });
  if (at == known.end() || at->first != name) return true;
  return std::any_of(at->second.begin(), at->second.end(),
                     [&](const Export& each) { return each.build == build; });
}

bool worth_playing(const AskedHistory& asked, std::uint32_t build, const MissedNames& missed) {
  return std::any_of(missed.begin(), missed.end(), [&](const auto& names) {
    return std::all_of(names.begin(), names.end(),
                       [&](std::string_view name) { return may_have(asked, build, name); });
  });
}

}  // namespace

std::vector<ReleaseTrial> try_releases(Staging& staging, const AskedHistory& asked,
                                       const MissedNames& missed) {
  std::vector<ReleaseTrial> out;
  for (const ReleaseBuild& release : releases_of(asked.history, asked.machine)) {
    ReleaseTrial& trial = out.emplace_back();
    trial.release = release;
    if (!worth_playing(asked, release.build, missed)) continue;
    with_release(staging, asked, release, [&] {
      Scene scene =
          set_scene(staging.inputs, staging.facts, staging.rules, staging.machine, staging.python);
      scene.exact = staging.options.alone;
      Links links = link_scene(scene, staging.options);
      for (const LinkedRoot& root : links.roots) {
        if (fails(scene, root, links)) continue;
        bool open = has_undecided(root.link) || has_undecided(links.imports.at(root.before));
        (open ? trial.undecided : trial.loads).insert(scene.files[root.file].facts->path);
      }
    });
  }
  return out;
}

}  // namespace wheelvet
