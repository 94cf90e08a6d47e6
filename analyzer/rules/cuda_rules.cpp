#include "rules/cuda_rules.h"

#include <algorithm>

#include "rules/toml_text.h"

namespace wheelvet {
namespace {

TomlText read_file(std::string_view name) {
  return read_toml(rules_text(name), "rules/" + std::string(name));
}

const std::vector<TomlTable>& tables(const TomlText& text, std::string_view name) {
  static const std::vector<TomlTable> empty;
  auto found = text.find(name);
  return found == text.end() ? empty : found->second;
}

// "10.4=13" as a pair.
std::vector<std::pair<std::string, std::string>> pairs(const std::vector<std::string>& list) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& each : list) {
    std::size_t equal = each.find('=');
    if (equal != std::string::npos) out.emplace_back(each.substr(0, equal), each.substr(equal + 1));
  }
  return out;
}

CudaRules read_cuda_rules() {
  CudaRules out;
  TomlText text = read_file("cuda.toml");
  for (const TomlTable& each : tables(text, "shared")) {
    out.shared.push_back({toml_value(each, "soname"), pairs(toml_values(each, "major"))});
  }
  for (const TomlTable& each : tables(text, "single")) {
    out.singles.push_back({toml_value(each, "name"), toml_values(each, "names"),
                           toml_value(each, "why"), toml_value(each, "warn") == "true"});
  }
  return out;
}

DriverRules read_driver_rules() {
  DriverRules out;
  TomlText text = read_file("driver.toml");
  for (const TomlTable& each : tables(text, "major")) {
    out.majors.emplace_back(toml_value(each, "cuda"), toml_value(each, "driver"));
  }
  for (const TomlTable& each : tables(text, "release")) {
    out.releases.emplace_back(toml_value(each, "cuda"), toml_value(each, "driver"));
  }
  std::string_view lines = rules_text("driver_api.txt");
  while (!lines.empty()) {
    std::size_t end = lines.find('\n');
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    std::size_t tab = line.find('\t');
    if (tab != std::string_view::npos)
      out.functions.emplace(line.substr(0, tab), line.substr(tab + 1));
  }
  return out;
}

PackageFamilies read_families() {
  PackageFamilies out;
  TomlText text = read_file("families.toml");
  for (const TomlTable& each : tables(text, "equal")) {
    out.equal.push_back(
        {toml_value(each, "package"), toml_values(each, "with"), toml_value(each, "consequence")});
  }
  for (const TomlTable& each : tables(text, "pair")) {
    out.pairs.push_back({toml_value(each, "package"), toml_value(each, "with"),
                         pairs(toml_values(each, "releases")), toml_value(each, "consequence")});
  }
  for (const TomlTable& each : tables(text, "declared")) {
    out.declared.push_back({toml_value(each, "name"), toml_values(each, "packages"),
                            toml_values(each, "with_extras"),
                            toml_value(each, "any_requirer") == "true"});
  }
  for (const TomlTable& each : tables(text, "known")) {
    out.known.push_back({toml_value(each, "package"), toml_value(each, "version"),
                         toml_value(each, "with"), toml_value(each, "other"),
                         toml_value(each, "why")});
  }
  return out;
}

}  // namespace

const CudaRules& cuda_rules() {
  static const CudaRules rules = read_cuda_rules();
  return rules;
}

const DriverRules& driver_rules() {
  static const DriverRules rules = read_driver_rules();
  return rules;
}

const PackageFamilies& package_families() {
  static const PackageFamilies families = read_families();
  return families;
}

std::string cuda_major_of_package(std::string_view package) {
  if (!package.starts_with("nvidia-")) return {};
  std::size_t at = package.rfind("-cu");
  std::string_view number = at == std::string_view::npos ? "" : package.substr(at + 3);
  bool digits = !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
  return digits ? std::string(number) : "13";
}

std::vector<std::string> cuda_majors(const LibraryRule& rule) {
  std::vector<std::string> out;
  if (rule.kind != "cuda" && rule.kind != "nccl") return out;
  for (const std::string& package : rule.pip) {
    std::string major = cuda_major_of_package(package);
    bool known = std::find(out.begin(), out.end(), major) != out.end();
    if (!major.empty() && !known) out.push_back(major);
  }
  return out;
}

std::string major_by_version(std::string_view soname, std::string_view version) {
  std::string major;
  for (const SharedSoname& shared : cuda_rules().shared) {
    if (shared.soname != soname || version.empty()) continue;
    for (const auto& [first, of] : shared.majors) {
      if (compare_versions(version, first) >= 0) major = of;
    }
  }
  return major;
}

std::string driver_of_release(std::string_view cuda) {
  // A release without a toolkit of its own is served by the next one's driver.
  for (const auto& [release, driver] : driver_rules().releases) {
    if (compare_versions(release, cuda) >= 0) return driver;
  }
  return {};
}

std::string driver_of_major(std::string_view major) {
  for (const auto& [of, driver] : driver_rules().majors) {
    if (of == major) return driver;
  }
  return {};
}

std::pair<std::string, std::string> nccl_releases(const std::vector<std::string>& names) {
  const ExportTable* table = export_table("nccl");
  if (!table || table->columns.empty()) return {};
  std::uint32_t have = ~0u;
  for (const std::string& name : names) {
    auto known = table->names.find(name);
    have &= known == table->names.end() ? 0u : known->second;
  }
  std::pair<std::string, std::string> out;
  for (std::size_t i = 0; i < table->columns.size(); ++i) {
    if (!(have >> i & 1)) continue;
    if (out.first.empty()) out.first = table->columns[i];
    out.second = table->columns[i];
  }
  return out;
}

}  // namespace wheelvet
