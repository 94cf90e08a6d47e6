// A small grid of NCCL's settings, tried on this machine, and the best block of them.
#pragma once

#include <string>
#include <vector>

#include "tuning.h"

namespace wheelvet::probe {

/// One point of the grid as changes to the environment: NAME=VALUE sets, NAME alone removes.
using SettingBlock = std::vector<std::string>;

/// The product of the axes ("NCCL_ALGO=Ring,Tree"), each with "not set" besides its values. Empty,
/// and `wrong` set, when an axis is none or the grid has more than most_blocks points.
std::vector<SettingBlock> grid_of(const std::vector<std::string>& axes, std::string& wrong);

inline constexpr std::size_t most_blocks = 64;

/// The axes that are tried when none is named.
std::vector<std::string> default_axes();

/// How many times faster `with` is: the geometric mean over all collectives and sizes.
double speed_of(const std::vector<Figure>& without, const std::vector<Figure>& with);

/// How often `sweep` runs them, if every finalist is run.
std::size_t most_sweep_runs(std::size_t blocks, int rounds);

/// One round of every block, beside the environment as it is; then several rounds of the fastest
/// ones, of which the best is the fastest that is slower nowhere.
Sweep sweep(const std::vector<SettingBlock>& grid, int rounds, const MeasuredRun& run);

}  // namespace wheelvet::probe
