#include "tuning.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "children.h"

namespace wheelvet::probe {
namespace {

constexpr double least_factor = 1.05;

std::string name_of(const std::string& setting) { return setting.substr(0, setting.find('=')); }

/// Settings of the log change nothing, and without those of the address ranks may not find each
/// other. NCCL_VERSION is none: images of NVIDIA carry it as a label.
bool never_varied(const std::string& name) {
  return name.starts_with("NCCL_DEBUG") || name == "NCCL_COMM_ID" || name == "NCCL_SOCKET_IFNAME" ||
         name == "NCCL_CONF_FILE" || name == "NCCL_VERSION";
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// How many times longer the slowest round took than the fastest.
double spread(const std::vector<double>& values) {
  auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *most / *least;
}

std::vector<double> times(const std::vector<std::vector<Figure>>& rounds, std::size_t cell) {
  std::vector<double> out;
  for (const std::vector<Figure>& round : rounds) out.push_back(round[cell].microseconds);
  return out;
}

std::string effect_of(const std::vector<TunedCell>& cells) {
  bool helps = false, harms = false;
  for (const TunedCell& cell : cells) {
    if (cell.beyond_noise) (cell.change > 0 ? helps : harms) = true;
  }
  if (helps && harms) return "mixed";
  return helps ? "helps" : harms ? "harms" : "none";
}

/// One variant over all rounds.
struct Variant {
  std::string setting;  // empty: without any
  std::vector<std::string> changes;
  std::vector<std::vector<Figure>> rounds;
  std::string failure;
};

std::vector<Variant> variants_of(const std::vector<std::string>& settings) {
  std::vector<std::string> none;
  for (const std::string& setting : settings) none.push_back(name_of(setting));
  std::vector<Variant> variants{{"", none, {}, ""}};
  for (std::size_t i = 0; i < settings.size(); ++i) {
    std::vector<std::string> alone = none;
    alone[i] = settings[i];
    variants.push_back({settings[i], alone, {}, ""});
  }
  if (settings.size() > 1) variants.push_back({"all of them", settings, {}, ""});
  return variants;
}

void run_once(Variant& variant, const MeasuredRun& run) {
  if (!variant.failure.empty() || interrupted_by) return;
  StepReport step = run(variant.changes);
  if (step.outcome == Outcome::pass) {
    variant.rounds.push_back(step.answer.figures);
  } else {
    variant.failure = step.reason;
  }
}

}  // namespace

std::vector<std::string> varied_settings(const Request& request) {
  std::vector<std::string> out;
  for (char** each = environ; *each; ++each) {
    std::string setting = *each;
    std::string name = name_of(setting);
    bool kept = std::find(request.keep.begin(), request.keep.end(), name) != request.keep.end();
    if (name.starts_with("NCCL_") && !never_varied(name) && !kept) out.push_back(setting);
  }
  std::sort(out.begin(), out.end());
  return out;
}

TunedSetting compare(const std::string& setting, const std::vector<std::vector<Figure>>& without,
                     const std::vector<std::vector<Figure>>& with) {
  TunedSetting tuned;
  tuned.setting = setting;
  for (std::size_t cell = 0; cell < with.front().size(); ++cell) {
    std::vector<double> before = times(without, cell), after = times(with, cell);
    TunedCell out;
    out.collective = with.front()[cell].collective;
    out.bytes = with.front()[cell].bytes;
    out.without = median(before);
    out.with = median(after);
    out.change = (out.without / out.with - 1) * 100;
    double factor = std::max(out.without / out.with, out.with / out.without);
    out.beyond_noise = factor > std::max({least_factor, spread(before), spread(after)});
    tuned.cells.push_back(out);
  }
  tuned.effect = effect_of(tuned.cells);
  return tuned;
}

std::size_t tuning_runs(std::size_t settings, int rounds) {
  return (1 + settings + (settings > 1)) * static_cast<std::size_t>(rounds);
}

Tuning tune(const std::vector<std::string>& settings, int rounds, const MeasuredRun& run) {
  std::vector<Variant> variants = variants_of(settings);
  // Round by round, so that a machine that warms up or is shared slows all alike.
  for (int round = 0; round < rounds; ++round) {
    for (Variant& variant : variants) run_once(variant, run);
  }
  Tuning tuning;
  tuning.rounds = rounds;
  const Variant& bare = variants.front();
  tuning.failure = bare.failure;
  if (bare.rounds.empty()) return tuning;
  for (std::size_t i = 1; i < variants.size(); ++i) {
    const Variant& variant = variants[i];
    if (!variant.failure.empty() || variant.rounds.empty()) {
      tuning.settings.push_back({variant.setting, "fails", variant.failure, {}});
    } else {
      tuning.settings.push_back(compare(variant.setting, bare.rounds, variant.rounds));
    }
  }
  return tuning;
}

}  // namespace wheelvet::probe
