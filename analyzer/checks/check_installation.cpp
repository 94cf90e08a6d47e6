// Whether pip would install a wheel into the environment at all.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "checks/checks.h"
#include "checks/install_plan.h"
#include "facts/metadata.h"
#include "facts/wheel_tag.h"

namespace wheelvet {
namespace {

// A wheel's tag in its three parts (PEP 425).
struct Tag {
  std::string_view python, abi, platform;
};

Tag split_tag(std::string_view tag) {
  std::size_t first = tag.find('-');
  std::size_t second = first == std::string_view::npos ? first : tag.find('-', first + 1);
  if (second == std::string_view::npos) return {};
  return {tag.substr(0, first), tag.substr(first + 1, second - first - 1), tag.substr(second + 1)};
}

// "12" of "cp312" or "py312"; -1 for another form.
int minor_of(std::string_view python) {
  if (python.size() < 4 || python[2] != '3') return -1;
  int minor = -1;
  std::string_view digits = python.substr(3);
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), minor);
  return error == std::errc() && end == digits.data() + digits.size() ? minor : -1;
}

struct Interpreter {
  int minor = 0;
  bool free_threaded = false;
};

Interpreter read_release(std::string text) {
  Interpreter out;
  out.free_threaded = text.ends_with('t');
  if (out.free_threaded) text.pop_back();
  out.minor = minor_of("cp3" + text.substr(std::min<std::size_t>(2, text.size())));
  return out;
}

// The rules of packaging.tags for CPython.
bool python_fits(const Tag& tag, const Interpreter& have) {
  int minor = minor_of(tag.python);
  if (tag.python.starts_with("py")) {
    return tag.abi == "none" && (tag.python == "py3" || (minor >= 0 && minor <= have.minor));
  }
  if (!tag.python.starts_with("cp")) return false;
  if (tag.abi == "abi3") return !have.free_threaded && minor >= 2 && minor <= have.minor;
  if (minor != have.minor) return false;
  std::string own = fmt::format("cp3{}{}", have.minor, have.free_threaded ? "t" : "");
  return tag.abi == "none" || tag.abi == own;
}

// manylinux by the release of glibc that the system has.
bool platform_fits(const Tag& tag, const std::string& glibc, std::string_view arch) {
  std::string_view name = tag.platform;
  if (name == "any") return true;
  if (!name.ends_with(arch)) return false;
  if (name.starts_with("linux_") || glibc.empty())
    return name.starts_with("linux_") || name.starts_with("many");
  std::string needed = glibc_of_platform(name);
  return !needed.empty() && compare_versions(needed, glibc) <= 0;
}

}  // namespace

std::vector<Finding> check_installation(const Run& run) {
  FindingSet found;
  const Machine& machine = *run.scene.machine;
  if (machine.python.empty()) return {};
  Interpreter have = read_release(run.scene.python);
  std::string_view arch = name_of_machine(machine);
  for (const Input& input : run.inputs) {
    bool wheel = input.kind == InputKind::wheel || input.kind == InputKind::stub;
    std::vector<std::string> tags = read_wheel_name(input.label).tags;
    if (!input.target || !wheel || tags.empty()) continue;
    bool fits = std::any_of(tags.begin(), tags.end(), [&](const std::string& text) {
      Tag tag = split_tag(text);
      return python_fits(tag, have) && platform_fits(tag, machine.glibc, arch);
    });
    if (fits) continue;
    Finding& finding = found.at(input.label, "TAG-008", Severity::error);
    finding.title = fmt::format("pip does not install {} into this environment", input.label);
    finding.cause =
        fmt::format("no tag of it fits CPython {} on {} with glibc {}", run.scene.python, arch,
                    machine.glibc.empty() ? "of an unknown release" : machine.glibc);
    finding.fix = fmt::format("a wheel of it with a tag for CPython {}", run.scene.python);
    finding.objects = {input.label};
  }
  return found.take();
}

}  // namespace wheelvet
