// The same scene with other releases of torch in it, as the history knows them.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "history/release.h"
#include "link/link.h"

namespace wheelvet {

/// What a scene is made of, and how its roots are loaded.
struct Staging {
  std::vector<Input>& inputs;
  Facts& facts;
  const Rules& rules;
  const Machine& machine;
  std::string python;
  LinkOptions options;
};

/// Calls `judge` with the staging in which a release of torch takes the place of whatever the
/// inputs have of it, and takes it out again.
template <class Judge>
auto with_release(Staging& staging, const AskedHistory& asked, const ReleaseBuild& release,
                  Judge&& judge) {
  struct Restored {
    Staging& staging;
    ~Restored() {
      staging.inputs.pop_back();
      staging.facts.inputs.pop_back();
    }
  };
  const HistoryBuild& about = asked.history.builds[release.build];
  Input input = name_release({about.version, release.unread}, false);
  input.instead = true;
  InputFacts facts = open_release(asked, release, input, staging.inputs.size());
  staging.inputs.push_back(std::move(input));
  staging.facts.inputs.push_back(std::move(facts));
  Restored restored{staging};
  return judge();
}

/// How some roots fare with one release of torch; those in neither set fail.
struct ReleaseTrial {
  ReleaseBuild release;
  std::set<std::string> loads, undecided;  ///< installed paths
};

/// Names of torch's that each root was found to miss; no list for a root whose imports are open.
using MissedNames = std::vector<std::vector<std::string_view>>;

/// Loads the roots of `staging.options` with every release for the machine, oldest first. A release
/// that lacks one of the missed names of every root is not played: they all fail with it.
std::vector<ReleaseTrial> try_releases(Staging& staging, const AskedHistory& asked,
                                       const MissedNames& missed);

}  // namespace wheelvet
