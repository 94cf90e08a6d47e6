#include "config/scenario_words.h"

#include <fmt/format.h>

#include "checks/coverage.h"
#include "config/toml.h"
#include "facts/wheel_tag.h"
#include "rules/device_rules.h"
#include "wheelvet/problem.h"

namespace wheelvet {

void require_python(const std::string& python, const std::string& file, unsigned line) {
  if (python.empty() || is_python_release(python)) return;
  complain(file, line, fmt::format("python: {} is not of the form 3.12 or 3.13t", python));
}

void require_gpus(const std::vector<std::string>& gpus, const std::string& file, unsigned line) {
  if (gpus.empty()) return;
  DeviceRules rules = load_device_rules();
  for (const std::string& gpu : gpus) {
    if (gpu == "host") continue;
    try {
      read_gpu(gpu, rules);
    } catch (const WrongUsage& error) {
      complain(file, line, error.what());
    }
  }
}

void require_driver(const std::string& driver, const std::string& file, unsigned line) {
  bool number = !driver.empty() && driver.front() != '.' &&
                driver.find_first_not_of("0123456789.") == std::string::npos;
  if (!number) complain(file, line, fmt::format("driver: {} is not of the form 580.65.06", driver));
}

}  // namespace wheelvet
