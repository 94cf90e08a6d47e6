#include "rules/device_rules.h"

#include <charconv>

#include "rules/cuda_rules.h"
#include "rules/rules.h"
#include "rules/toml_text.h"

namespace wheelvet {
namespace {

std::uint16_t number(std::string_view text) {
  std::uint16_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::uint16_t> numbers(const TomlTable& table, std::string_view key) {
  std::vector<std::uint16_t> out;
  for (const std::string& text : toml_values(table, key)) out.push_back(number(text));
  return out;
}

}  // namespace

DeviceRules load_device_rules() {
  constexpr const char* name = "device.toml";
  TomlText file = read_toml(rules_text(name), name);
  DeviceRules rules;
  for (const TomlTable& entry : file["gpu"]) {
    rules.gpus.push_back({number(toml_value(entry, "arch")), toml_value(entry, "since"),
                          toml_value(entry, "alone") == "true", toml_values(entry, "products")});
  }
  for (const TomlTable& entry : file["family"]) {
    rules.families.push_back({number(toml_value(entry, "arch")), numbers(entry, "runs_on")});
  }
  for (const TomlTable& entry : file["ptx"]) {
    std::string cuda = toml_value(entry, "cuda");
    for (const auto& [release, driver] : driver_rules().releases) {
      if (release == cuda) rules.releases.push_back({cuda, toml_value(entry, "version"), driver});
    }
  }
  for (const TomlTable& entry : file["use"]) {
    rules.uses.push_back({toml_value(entry, "package"), toml_value(entry, "library"),
                          numbers(entry, "on"), numbers(entry, "not_on"),
                          toml_value(entry, "because")});
  }
  return rules;
}

}  // namespace wheelvet
