#include "link/try_releases.h"

#include <algorithm>

namespace wheelvet {
namespace {

bool has_undecided(const Link& link) {
  return std::any_of(link.bindings.begin(), link.bindings.end(),
                     [](const Binding& binding) { return binding.outcome == Outcome::undecided; });
}

}  // namespace

std::vector<ReleaseTrial> try_releases(Staging& staging, const AskedHistory& asked) {
  std::vector<ReleaseTrial> out;
  for (const ReleaseBuild& release : releases_of(asked.history, asked.machine)) {
    ReleaseTrial& trial = out.emplace_back();
    trial.release = release;
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
