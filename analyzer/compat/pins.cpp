#include "compat/pins.h"

#include <fmt/format.h>

#include <algorithm>

#include "facts/metadata.h"
#include "facts/python_version.h"
#include "link/scene.h"
#include "rules/rules.h"

namespace wheelvet {
namespace {

// "2.8" of "2.8.1".
std::string without_last(const std::string& version) {
  std::size_t dot = version.rfind('.');
  return dot == std::string::npos ? version : version.substr(0, dot);
}

// "2.16" after 2.15.0.
std::string next_minor(const std::string& release) {
  std::string minor = without_last(release);
  std::size_t dot = minor.rfind('.');
  if (dot == std::string::npos) return minor;
  int number = std::atoi(minor.c_str() + dot + 1);
  return fmt::format("{}.{}", minor.substr(0, dot), number + 1);
}

}  // namespace

std::optional<std::string> requirement_on(const std::vector<std::string>& requirements,
                                          std::string_view package) {
  for (const std::string& requirement : requirements) {
    if (extra_of(requirement).empty() && read_requirement(requirement).first == package) {
      return requirement;
    }
  }
  return std::nullopt;
}

std::string specifier_of(std::string_view requirement) {
  requirement = requirement.substr(0, requirement.find(';'));
  std::size_t at = requirement.find_first_of("=<>!~(");
  if (at == std::string_view::npos) return {};
  std::string_view text = requirement.substr(at);
  if (text.starts_with('(')) text = text.substr(1, text.rfind(')') - 1);
  return std::string(trimmed(text));
}

std::optional<bool> admits_release(std::string_view specifier, std::string_view release) {
  std::optional<std::vector<VersionClause>> clauses = read_specifier(specifier);
  if (!clauses) return std::nullopt;
  // Which build of a release is asked for is another question.
  for (VersionClause& clause : *clauses)
    clause.version = clause.version.substr(0, clause.version.find('+'));
  return admits_version(*clauses, release);
}

std::string specifier_for(const std::vector<std::string>& releases, const std::vector<bool>& fits,
                          bool open) {
  auto first = std::find(fits.begin(), fits.end(), true);
  if (first == fits.end()) return {};
  auto low = static_cast<std::size_t>(first - fits.begin());
  auto high =
      static_cast<std::size_t>(fits.rend() - std::find(fits.rbegin(), fits.rend(), true)) - 1;
  bool newest = high + 1 == fits.size();
  if (low == high && !(newest && open)) return "==" + releases[low];
  std::string out = ">=" + releases[low];
  for (std::size_t i = low; i < high; ++i) {
    if (!fits[i]) out += ",!=" + releases[i];
  }
  if (!newest) return out + ",<" + releases[high + 1];
  return open ? out : out + ",<" + next_minor(releases[high]);
}

}  // namespace wheelvet
