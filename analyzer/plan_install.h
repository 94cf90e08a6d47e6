// What pip would do, with what it would break: the plan of an installation.
#pragma once

#include <optional>

#include "checks/install_plan.h"
#include "history/release.h"
#include "link/try_releases.h"

namespace wheelvet {

/// The plan for the targets of a scene; empty without an environment. Where pip would take another
/// torch, the environment is simulated with it. `asked` is filled when the history is needed.
InstallPlan plan_install(Staging& staging, const Scene& scene, std::optional<AskedHistory>& asked);

}  // namespace wheelvet
