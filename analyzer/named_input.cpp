#include "named_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "facts/metadata.h"
#include "facts/wheel_tag.h"
#include "history/release.h"
#include "input/index_wheel.h"
#include "input/open_inputs.h"
#include "link/scene.h"
#include "rules/rules.h"
#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

#if defined(__aarch64__)
constexpr const char* own_machine = "aarch64";
#else
constexpr const char* own_machine = "x86_64";
#endif

bool is_there(const std::string& name) {
  std::error_code error;
  return std::filesystem::exists(name, error);
}

// Interpreter and machine of the first wheel file that is bound to one.
void read_tags(const std::vector<std::string>& names, WheelPlatform& platform) {
  for (const std::string& name : names) {
    for (const std::string& tag : read_wheel_name(base_name(name)).tags) {
      if (platform.python.empty()) platform.python = python_of_tag(tag);
      for (const char* machine : {"x86_64", "aarch64"}) {
        if (platform.machine.empty() && tag.ends_with(machine)) platform.machine = machine;
      }
    }
  }
}

WheelPlatform platform_for(const std::vector<std::string>& names, const NamedFor& wanted) {
  WheelPlatform out{wanted.platform, wanted.python, wanted.glibc};
  if (!out.python.empty() && !is_python_release(out.python)) {
    throw WrongUsage(fmt::format("--python {}: not of the form 3.12 or 3.13t", out.python));
  }
  read_tags(names, out);
  if (out.python.empty()) out.python = "3.12";  // as a scene without any hint
  if (out.machine.empty()) out.machine = own_machine;
  if (out.glibc.empty()) out.glibc = load_rules().newest_versions.at("GLIBC");
  return out;
}

}  // namespace

std::vector<Input> open_named(const std::vector<std::string>& targets,
                              const std::vector<std::string>& providers, const NamedFor& wanted) {
  std::vector<std::string> names = name_inputs(targets), others = name_inputs(providers);
  std::size_t target_count = names.size();
  names.insert(names.end(), others.begin(), others.end());
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    bool target = i < target_count;
    if (!is_there(name)) {
      if (std::optional<ReleaseName> release = read_release_name(name)) {
        if (!wanted.releases) {
          throw WrongUsage(fmt::format(
              "{}: a release of torch stands for what the history knows of it, which is not "
              "enough here: give its wheel",
              name));
        }
        inputs.push_back(name_release(*release, target));
        continue;
      }
      if (std::optional<IndexRequirement> requirement = read_index_requirement(name)) {
        WheelPlatform platform = platform_for(names, wanted);
        inputs.push_back(open_input(fetch_wheel(*requirement, platform, wanted.show), target));
        continue;
      }
    }
    inputs.push_back(open_input(name, target));
  }
  return inputs;
}

void open_releases(std::vector<Input>& inputs, Facts& facts, std::optional<AskedHistory>& asked) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind != InputKind::release) continue;
    if (!asked) asked = ask_history(inputs, facts);
    ReleaseBuild release =
        find_release(asked->history, *read_release_name(inputs[i].path), asked->machine);
    facts.inputs[i] = open_release(*asked, release, inputs[i], i);
  }
}

}  // namespace wheelvet
