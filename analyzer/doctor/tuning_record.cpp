#include <nlohmann/json.hpp>

#include "doctor/nccl_settings.h"
#include "machine/tree.h"

namespace wheelvet {

TuningRecord read_tuning_record(const std::string& path) {
  constexpr std::size_t most_text = 16u << 20;
  TuningRecord out{path, {}, {}, {}};
  std::string text = text_of("", path, most_text);
  nlohmann::json record = nlohmann::json::parse(text, nullptr, false);
  bool right = record.is_object() && record.contains("nccl") && record["nccl"].is_string() &&
               record.contains("settings") && record["settings"].is_array();
  if (!right) throw Unreadable(Problem{path, {}, {}, std::nullopt, "no record of probe --tune"});
  out.nccl = record["nccl"];
  if (record.contains("driver") && record["driver"].is_object()) {
    const nlohmann::json& driver = record["driver"];
    if (driver.contains("version") && driver["version"].is_string()) out.driver = driver["version"];
  }
  for (const nlohmann::json& each : record["settings"]) {
    if (each.is_object() && each.contains("setting") && each["setting"].is_string())
      out.settings.push_back(each["setting"]);
  }
  return out;
}

}  // namespace wheelvet
