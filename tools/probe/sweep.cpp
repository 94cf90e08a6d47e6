#include "sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "children.h"

namespace wheelvet::probe {
namespace {

constexpr std::size_t finalists = 3;

/// Letters, digits and what NCCL's lists need; nothing that a shell would read otherwise.
bool plain_value(const std::string& value) {
  return !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    auto byte = static_cast<unsigned char>(c);
    return std::isalnum(byte) || c == '_' || c == '.' || c == '-' || c == '+';
  });
}

bool plain_name(const std::string& name) {
  bool letters = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  return name.starts_with("NCCL_") && name.size() > 5 && letters;
}

/// "NAME", "NAME=V1", "NAME=V2", ... of an axis; empty when it is none.
std::vector<std::string> choices_of(const std::string& axis) {
  std::size_t equals = axis.find('=');
  std::string name = axis.substr(0, equals);
  if (equals == std::string::npos || !plain_name(name)) return {};
  std::vector<std::string> out{name};
  for (std::size_t at = equals + 1; at <= axis.size();) {
    std::size_t comma = std::min(axis.find(',', at), axis.size());
    std::string value = axis.substr(at, comma - at);
    if (!plain_value(value)) return {};
    out.push_back(name + "=" + value);
    at = comma + 1;
  }
  return out;
}

struct Tried {
  SettingBlock block;
  std::vector<std::vector<Figure>> rounds;
  double speed = 0;
  std::string failure;
};

void run_once(Tried& tried, const MeasuredRun& run) {
  if (!tried.failure.empty() || interrupted_by) return;
  StepReport step = run(tried.block);
  if (step.outcome == Outcome::pass) {
    tried.rounds.push_back(step.answer.figures);
  } else {
    tried.failure = step.reason;
  }
}

/// What a block sets; a name alone only where the environment has it.
std::string title_of(const SettingBlock& block) {
  std::vector<std::string> parts;
  for (const std::string& change : block) {
    if (change.find('=') != std::string::npos)
      parts.push_back(change);
    else if (std::getenv(change.c_str()))
      parts.push_back("without " + change);
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

/// What to paste into a shell.
std::vector<std::string> lines_of(const SettingBlock& block) {
  std::vector<std::string> lines;
  for (const std::string& change : block) {
    if (change.find('=') != std::string::npos)
      lines.push_back("export " + change);
    else if (std::getenv(change.c_str()))
      lines.push_back("unset " + change);
  }
  return lines;
}

/// The fastest of the first round, those that do not beat the environment as it is left out.
std::vector<Tried> fastest(std::vector<Tried> tried) {
  std::erase_if(tried, [](const Tried& each) { return !each.failure.empty() || each.speed <= 1; });
  std::stable_sort(tried.begin(), tried.end(),
                   [](const Tried& a, const Tried& b) { return a.speed > b.speed; });
  if (tried.size() > finalists) tried.resize(finalists);
  for (Tried& each : tried) each.rounds.clear();
  return tried;
}

/// Over all rounds.
double speed_over(const Tried& plain, const Tried& tried) {
  double product = 0;
  std::size_t rounds = std::min(plain.rounds.size(), tried.rounds.size());
  for (std::size_t i = 0; i < rounds; ++i) {
    product += std::log(speed_of(plain.rounds[i], tried.rounds[i]));
  }
  return rounds ? std::exp(product / static_cast<double>(rounds)) : 0;
}

void judge_final(Sweep& out, const Tried& plain, const Tried& tried) {
  std::string title = title_of(tried.block);
  if (!tried.failure.empty() || tried.rounds.empty()) {
    out.finals.push_back({title, "fails", tried.failure, {}});
    return;
  }
  out.finals.push_back(compare(title, plain.rounds, tried.rounds));
  double gain = (speed_over(plain, tried) - 1) * 100;
  if (out.finals.back().effect != "helps" || gain <= out.gain) return;
  out.gain = gain;
  out.best = lines_of(tried.block);
}

}  // namespace

std::vector<std::string> default_axes() {
  // What decides most on one host (NCCL's own tuning takes the same choices by a model): the
  // algorithm, the protocol, and how many channels there are at least.
  return {"NCCL_ALGO=Ring,Tree", "NCCL_PROTO=Simple,LL128", "NCCL_MIN_NCHANNELS=16,32"};
}

std::vector<SettingBlock> grid_of(const std::vector<std::string>& axes, std::string& wrong) {
  std::vector<SettingBlock> grid(1);
  for (const std::string& axis : axes) {
    std::vector<std::string> choices = choices_of(axis);
    if (choices.size() < 2) {
      wrong = "--grid " + axis + ": NCCL_NAME=VALUE,... wanted";
      return {};
    }
    std::vector<SettingBlock> wider;
    for (const SettingBlock& block : grid) {
      for (const std::string& choice : choices) {
        wider.push_back(block);
        wider.back().push_back(choice);
      }
    }
    grid = std::move(wider);
    if (grid.size() <= most_blocks) continue;
    wrong = fmt::format("--grid: more than {} blocks", most_blocks);
    return {};
  }
  // The environment as it is is tried anyhow.
  std::erase_if(grid, [](const SettingBlock& block) { return title_of(block).empty(); });
  return grid;
}

double speed_of(const std::vector<Figure>& without, const std::vector<Figure>& with) {
  double sum = 0;
  std::size_t cells = std::min(without.size(), with.size());
  for (std::size_t i = 0; i < cells; ++i) {
    sum += std::log(without[i].microseconds / with[i].microseconds);
  }
  return cells ? std::exp(sum / static_cast<double>(cells)) : 0;
}

std::size_t most_sweep_runs(std::size_t blocks, int rounds) {
  return 1 + blocks + (1 + finalists) * static_cast<std::size_t>(rounds);
}

Sweep sweep(const std::vector<SettingBlock>& grid, int rounds, const MeasuredRun& run) {
  Sweep out;
  out.rounds = rounds;
  Tried plain;
  run_once(plain, run);
  out.failure = plain.failure;
  std::vector<Tried> all;
  for (const SettingBlock& block : grid) {
    if (plain.rounds.empty() || interrupted_by) break;
    Tried& tried = all.emplace_back();
    tried.block = block;
    run_once(tried, run);
    ++out.tried;
    if (!tried.failure.empty()) ++out.failed;
    if (!tried.rounds.empty()) tried.speed = speed_of(plain.rounds[0], tried.rounds[0]);
  }
  std::vector<Tried> finals = fastest(std::move(all));
  plain.rounds.clear();
  // Round by round, so that a machine that warms up or is shared slows all alike.
  for (int round = 0; round < rounds && !finals.empty(); ++round) {
    run_once(plain, run);
    for (Tried& tried : finals) run_once(tried, run);
  }
  if (plain.rounds.empty() || interrupted_by) return out;
  for (const Tried& tried : finals) judge_final(out, plain, tried);
  return out;
}

}  // namespace wheelvet::probe
