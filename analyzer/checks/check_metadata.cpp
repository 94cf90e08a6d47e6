// What a wheel says of itself, against its file name, its folders and the interpreter. pip's own
// behaviour decides what is an error: 23.0 and 26.3 were asked, the stricter one counts.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "checks/checks.h"
#include "facts/metadata.h"
#include "facts/python_version.h"
#include "facts/requirement.h"

namespace wheelvet {
namespace {

// One wheel (or stub) of the run, with its only distribution.
struct Wheel {
  const Run& run;
  const Input& input;
  const PackageFacts* package = nullptr;
  WheelName named;
};

Finding& add(FindingSet& found, const Wheel& wheel, const std::string& id, Severity severity,
             const std::string& what) {
  Finding& finding = found.at(wheel.input.label + "\n" + what, id, severity);
  finding.title = fmt::format("{}: {}", wheel.input.label, what);
  return finding;
}

void refused(Finding& finding) { finding.cause = "pip refuses to install it"; }

std::set<std::string> dist_info_folders(const Input& input) {
  std::set<std::string> out;
  for (const Member& member : input.members) {
    std::size_t slash = member.name.find('/');
    std::string top = member.name.substr(0, slash);
    if (slash != std::string::npos && top.ends_with(".dist-info")) out.insert(top);
  }
  return out;
}

// True when there is exactly one.
bool check_folders(const Wheel& wheel, FindingSet& found) {
  std::set<std::string> folders = dist_info_folders(wheel.input);
  if (folders.size() == 1) return true;
  Finding& finding =
      add(found, wheel, "META-001", Severity::error,
          folders.empty() ? "holds no .dist-info folder" : "holds more than one .dist-info folder");
  finding.objects.assign(folders.begin(), folders.end());
  refused(finding);
  finding.fix = "build the wheel again; do not put it together by hand";
  return false;
}

// pip wants the folder's name to begin with the project's; the rest of it is a label.
void check_folder_name(const Wheel& wheel, FindingSet& found) {
  if (wheel.named.name.empty()) return;
  const std::string& folder = wheel.package->folder;
  std::string stem = folder.substr(0, folder.size() - std::string_view(".dist-info").size());
  std::string project = normalised_name(wheel.named.name);
  std::size_t dash = stem.find('-');
  bool same_project = normalised_name(stem.substr(0, dash)) == project;
  bool same_version = dash != std::string::npos && normalised_version(stem.substr(dash + 1)) ==
                                                       normalised_version(wheel.named.version);
  if (same_project && same_version) return;
  bool installs = normalised_name(stem).starts_with(project);
  Finding& finding = add(found, wheel, "META-002", installs ? Severity::warning : Severity::error,
                         fmt::format("its folder {} is that of another {}", folder,
                                     same_project ? "version" : "project"));
  finding.cause = installs ? "the wheel was renamed after it was built: pip installs it under the "
                             "name in METADATA"
                           : "pip refuses to install it";
  finding.fix = "fetch the wheel under its own name, or build it again";
}

void check_wheel_file(const Wheel& wheel, FindingSet& found) {
  const PackageFacts& package = *wheel.package;
  auto error = [&](const std::string& what) {
    Finding& finding = add(found, wheel, "META-003", Severity::error, what);
    refused(finding);
    finding.fix = "build the wheel again";
  };
  auto unreadable = [&](const char* file) {
    return std::find(package.not_utf8.begin(), package.not_utf8.end(), file) !=
           package.not_utf8.end();
  };
  if (!package.has_wheel) return error("holds no WHEEL file");
  if (unreadable("WHEEL")) return error("its WHEEL file is not UTF-8");
  if (!package.wheel_version) return error("its WHEEL file has no Wheel-Version");
  const std::string& version = *package.wheel_version;
  bool dotted = !version.empty() && version.find_first_not_of("0123456789.") == std::string::npos &&
                normalised_version(version);
  if (!dotted) return error(fmt::format("its Wheel-Version {} is none", version));
  if (compare_versions(version.substr(0, version.find('.')), "1") > 0) {
    return error(fmt::format("its Wheel-Version is {}", version));
  }
  if (compare_versions(version, "1.0") <= 0) return;
  Finding& finding = add(found, wheel, "META-003", Severity::warning,
                         fmt::format("its Wheel-Version is {}", version));
  finding.cause = "pip knows 1.0 and says so when it installs it";
  finding.fix = "build it with a tool that writes Wheel-Version 1.0";
}

void check_metadata_file(const Wheel& wheel, FindingSet& found) {
  const PackageFacts& package = *wheel.package;
  auto error = [&](const std::string& what) {
    Finding& finding = add(found, wheel, "META-004", Severity::error, what);
    refused(finding);
    finding.fix = "build the wheel again";
  };
  if (!package.has_metadata) return error("holds no METADATA file");
  bool decodes = std::find(package.not_utf8.begin(), package.not_utf8.end(), "METADATA") ==
                 package.not_utf8.end();
  if (!decodes) return error("its METADATA file is not UTF-8");
  if (package.stated_name.empty()) return error("its METADATA has no Name");
  if (package.stated_version.empty()) return error("its METADATA has no Version");
  if (wheel.named.name.empty()) return;
  if (normalised_name(package.stated_name) != normalised_name(wheel.named.name)) {
    error(fmt::format("METADATA is of {}, the file name says {}", package.stated_name,
                      wheel.named.name));
  }
  if (!normalised_version(wheel.named.version)) {
    return error(fmt::format("the version in its file name, {}, is none", wheel.named.version));
  }
  if (normalised_version(package.stated_version) == normalised_version(wheel.named.version)) return;
  Finding& finding = add(found, wheel, "META-005", Severity::warning,
                         fmt::format("METADATA says version {}, the file name {}",
                                     package.stated_version, wheel.named.version));
  finding.cause = "the wheel was renamed: pip resolves with one version and installs the other";
  finding.fix = "fetch the wheel under its own name, or build it again";
}

void check_requirements(const Wheel& wheel, FindingSet& found) {
  const std::string& specifier = wheel.package->requires_python;
  std::optional<bool> admitted = admits_python(specifier, wheel.run.scene.python);
  if (!admitted) {
    Finding& finding = add(found, wheel, "META-009", Severity::warning,
                           fmt::format("its Requires-Python {} cannot be read", specifier));
    finding.cause = "installers ignore it, and install the wheel where it may not work";
    finding.fix = "build the wheel again with a specifier of PEP 440";
  } else if (!*admitted && wheel.input.target) {
    bool asked = wheel.run.scene.python_reason == "--python";
    Finding& finding =
        add(found, wheel, "META-006", asked ? Severity::error : Severity::warning,
            fmt::format("requires Python {}, not {}", specifier, wheel.run.scene.python));
    finding.cause =
        asked ? "pip refuses to install it for that interpreter"
              : fmt::format("its tags admit an interpreter ({}) that Requires-Python does not",
                            wheel.run.scene.python_reason);
    finding.fix = "another interpreter, or a release of the package for this one";
  }
  for (const std::string& requirement : wheel.package->requirements) {
    const char* fault = read_pep508(requirement).fault;
    if (!fault) continue;
    Finding& finding =
        add(found, wheel, "META-010", Severity::error, "a requirement that cannot be read");
    add_few(finding.evidence, fmt::format("{}: {}", requirement, fault));
    finding.cause = "pip 24.1 and newer refuse to install it";
    finding.fix = "build the wheel again with requirements of PEP 508";
  }
}

struct TagParts {
  std::string python, abi, arch;
  bool operator<(const TagParts& other) const {
    return std::tie(python, abi, arch) < std::tie(other.python, other.abi, other.arch);
  }
};

// What of a tag tells hosts apart besides the age of their libraries.
TagParts parts_of(const std::string& tag) {
  std::size_t first = tag.find('-'), last = tag.rfind('-');
  if (first == std::string::npos || first == last) return {tag, "", ""};
  std::string platform = tag.substr(last + 1), arch = platform;
  for (const char* machine : {"x86_64", "aarch64", "i686", "armv7l", "ppc64le", "s390x"}) {
    if (platform.ends_with(machine) && platform.find("linux") != std::string::npos) arch = machine;
  }
  return {tag.substr(0, first), tag.substr(first + 1, last - first - 1), arch};
}

// Installers go by the file name, `pip check` and other readers of an environment by WHEEL.
void check_tags(const Wheel& wheel, FindingSet& found) {
  std::vector<std::string> named = wheel.named.tags, written = wheel.package->tags;
  std::sort(named.begin(), named.end());
  std::sort(written.begin(), written.end());
  if (named.empty() || !wheel.package->has_wheel || named == written) return;
  std::set<TagParts> here, there;
  for (const std::string& tag : named) here.insert(parts_of(tag));
  for (const std::string& tag : written) there.insert(parts_of(tag));
  bool same_hosts = std::includes(here.begin(), here.end(), there.begin(), there.end()) &&
                    here.size() == there.size();
  Finding& finding = add(found, wheel, "META-007", same_hosts ? Severity::note : Severity::warning,
                         "its file name and its WHEEL file have other tags");
  finding.evidence.push_back(fmt::format("file name: {}", fmt::join(named, " ")));
  finding.evidence.push_back(fmt::format("WHEEL: {}", fmt::join(written, " ")));
  finding.cause =
      "the file was renamed after it was built; installers go by its name, `pip check` by WHEEL";
  finding.fix = "python -m wheel tags, which changes both";
}

// Files under *.data go to the folders of an installation scheme, which pip knows by these names.
void check_schemes(const Wheel& wheel, FindingSet& found) {
  static constexpr std::string_view known[] = {"purelib", "platlib", "headers", "scripts", "data"};
  for (const Member& member : wheel.input.members) {
    std::string_view name = member.name;
    std::size_t slash = name.find('/');
    if (slash == std::string_view::npos || !name.substr(0, slash).ends_with(".data")) continue;
    std::string_view rest = name.substr(slash + 1);
    std::size_t end = rest.find('/');
    bool fits = end != std::string_view::npos && std::find(std::begin(known), std::end(known),
                                                           rest.substr(0, end)) != std::end(known);
    if (fits) continue;
    Finding& finding = add(found, wheel, "META-008", Severity::error,
                           "files in its .data folder that belong to no installation scheme");
    if (finding.objects.size() < 20) add_once(finding.objects, member.name);
    refused(finding);
    finding.fix = "build the wheel again: purelib, platlib, headers, scripts or data";
  }
}

// Scripts are made from these two groups when the wheel is installed.
void check_entry_points(const Wheel& wheel, FindingSet& found) {
  for (const EntryPoint& point : read_entry_points(wheel.package->entry_points)) {
    bool script = point.group == "console_scripts" || point.group == "gui_scripts";
    std::string target = point.target.substr(0, point.target.find_first_of(" ["));
    std::size_t colon = target.find(':');
    bool callable = colon != std::string::npos && colon != 0 && colon + 1 != target.size();
    if (!script || callable) continue;
    Finding& finding = add(found, wheel, "META-011", Severity::error,
                           "a script in entry_points.txt that names no function");
    add_few(finding.evidence, fmt::format("{} = {}", point.name, point.target));
    refused(finding);
    finding.fix = "build the wheel again with name = module:function";
  }
}

}  // namespace

std::vector<Finding> check_metadata(const Run& run) {
  FindingSet found;
  for (std::size_t i = 0; i < run.inputs.size(); ++i) {
    const Input& input = run.inputs[i];
    bool archive = input.kind == InputKind::wheel || input.kind == InputKind::stub;
    if (!archive || input.members.empty()) continue;
    Wheel wheel{run, input, nullptr, read_wheel_name(input.label)};
    check_schemes(wheel, found);
    if (!check_folders(wheel, found)) continue;
    wheel.package = &run.facts.inputs[i].packages.front();
    bool stated = !wheel.package->folder.empty();  // else neither file is there
    check_wheel_file(wheel, found);
    check_metadata_file(wheel, found);
    if (stated) check_folder_name(wheel, found);
    check_requirements(wheel, found);
    check_tags(wheel, found);
    check_entry_points(wheel, found);
  }
  return found.take();
}

}  // namespace wheelvet
