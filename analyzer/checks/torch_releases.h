// What the history of torch adds to the findings of a run: near misses, causes, and the releases
// with which the same roots load.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checks/checks.h"
#include "history/release.h"
#include "link/near_miss.h"
#include "link/try_releases.h"

namespace wheelvet {

struct TorchReleases {
  AskedHistory asked;
  std::optional<std::uint32_t>
      beside;                        ///< the build that stands beside the targets, if it is known
  std::vector<ReleaseTrial> trials;  ///< of the roots that miss something of torch's
};

/// Names of torch's that a root misses, for itself or for what its load brings; torch's own
/// libraries left out, which another release would replace.
std::vector<std::string_view> missed_of_torch(const Scene& scene, const RootView& view);

/// The roots that miss an import or a library of torch's, by installed path.
std::set<std::string> roots_missing_torch(const Run& run, const std::vector<RootView>& roots);

/// The build of the history that the torch among the packages of a scene is.
std::optional<std::uint32_t> build_beside(const AskedHistory& asked, const Scene& scene);

/// Adds forms of the name that the release beside exports, and puts those first that are there
/// instead of it in the releases that have them.
void rank_by_history(const Run& run, const std::string& symbol, std::vector<Resemblance>& near);

/// Says what happened to the names of a finding between the releases they were built for and the
/// one beside, and with which release the same roots load. Does nothing where the history knows
/// none.
void explain_by_history(const Run& run, const std::string& importer, Finding& finding);

/// The builds with which all of these roots load that load with any, oldest first.
std::vector<std::uint32_t> builds_that_load(const Run& run, const std::vector<std::string>& roots);

}  // namespace wheelvet
