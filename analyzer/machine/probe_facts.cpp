#include "machine/probe_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "input/random_file.h"
#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t most_bytes = 64u << 20;  // a result with every check of torch is 1 MB

[[noreturn]] void refuse(const std::string& field, const std::string& reason) {
  throw Unreadable(field, std::nullopt, reason);
}

// Such as "580.95.05": what --driver takes.
bool is_version(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
}

ProbeFacts facts_in(const Json& json) {
  if (json.at("tool").at("name") != "wheelvet-probe") refuse("tool", "is no result of the probe");
  if (json.at("schema_version") != 1) refuse("schema_version", "is not 1");
  ProbeFacts facts;
  facts.verdict = json.at("verdict").get<std::string>();
  if (json.at("driver").is_null()) refuse("driver", "the probe found none");
  facts.driver = json.at("driver").at("version").get<std::string>();
  if (!is_version(facts.driver)) refuse("driver", "is no version");
  for (const Json& device : json.at("devices")) {
    auto major = device.at("compute_capability").at(0).get<unsigned>();
    auto minor = device.at("compute_capability").at(1).get<unsigned>();
    if (major > 99 || minor > 9) refuse("compute_capability", "is none");
    std::string gpu = fmt::format("sm_{}{}", major, minor);
    bool known = std::find(facts.gpus.begin(), facts.gpus.end(), gpu) != facts.gpus.end();
    if (!known) facts.gpus.push_back(gpu);
  }
  if (facts.gpus.empty()) refuse("devices", "the probe found no GPU");
  return facts;
}

}  // namespace

ProbeFacts parse_probe(std::string_view text) {
  try {
    return facts_in(Json::parse(text));
  } catch (const Json::exception&) {
    refuse("JSON", "is no result of the probe");
  }
}

ProbeFacts read_probe(const std::string& path) {
  try {
    RandomFile file(path);
    if (file.size() > most_bytes) refuse("size", "is over 64 MiB");
    std::vector<std::uint8_t> bytes = file.read(0, file.size(), "JSON");
    return parse_probe({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const Unreadable& error) {
    throw Unreadable(error.in(path, ""));
  }
}

}  // namespace wheelvet
