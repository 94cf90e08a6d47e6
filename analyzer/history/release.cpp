#include "history/release.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "facts/elf_facts.h"
#include "facts/metadata.h"
#include "facts/python_version.h"
#include "rules/rules.h"
#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

constexpr std::string_view package = "torch";
constexpr std::size_t nearest_shown = 2;

// Of a build that was not read: libraries that are linked against CUDA's, or made by its compiler.
// The others are built of the same sources whatever the CUDA release.
bool depends_on_cuda(std::string_view path) {
  std::string_view base = base_name(path);
  return base.find("cuda") != std::string_view::npos ||
         base.find("nvrtc") != std::string_view::npos ||
         base.find("nvshmem") != std::string_view::npos;
}

// Sonames of CUDA's libraries, whose numbers change with its release.
bool of_cuda(std::string_view soname) {
  static constexpr std::string_view own[] = {"libc10_cuda", "libtorch_cuda", "libtorch_nvshmem"};
  bool torch = std::any_of(std::begin(own), std::end(own),
                           [&](std::string_view name) { return soname.starts_with(name); });
  return !torch && (soname.starts_with("libcu") || soname.starts_with("libnv") ||
                    soname.starts_with("libnccl"));
}

bool of_cuda_package(std::string_view requirement) {
  return requirement.starts_with("nvidia-") || requirement.starts_with("cuda-");
}

// Modules carry the suffix of the interpreter that the build read was for; the release has them for
// every interpreter that it supports.
std::string path_for_all(const std::string& path) {
  std::size_t at = path.find(".cpython-");
  return at == std::string::npos ? path : path.substr(0, at) + ".so";
}

VersionNeed need_of(const std::pair<std::string, std::vector<std::string>>& of) {
  VersionNeed need;
  need.file = of.first;
  for (const std::string& name : of.second) {
    NeededVersion& version = need.versions.emplace_back();
    version.name = name;
    version.hash = sysv_hash(name);
  }
  return need;
}

std::string joined(const std::vector<std::string>& list) {
  return fmt::format("{}", fmt::join(list, ":"));
}

ElfFacts elf_of(const HistoryObject& object, std::string_view machine, bool unread) {
  ElfFacts elf;
  elf.machine = machine == "aarch64" ? EM_AARCH64 : EM_X86_64;
  elf.type = ET_DYN;
  elf.file_size = object.size;
  elf.soname = object.soname;
  for (const std::string& name : object.needed) {
    if (!unread || !of_cuda(name)) elf.needed.push_back(name);
  }
  if (!object.rpath.empty()) elf.rpath = joined(object.rpath);
  if (!object.runpath.empty()) elf.runpath = joined(object.runpath);
  for (const auto& need : object.versions) {
    if (!unread || !of_cuda(need.first)) elf.version_needs.push_back(need_of(need));
  }
  elf.stack_flags = PF_R | PF_W;  // torch's libraries never asked for an executable stack
  return elf;
}

// What each library of a build exports of the names asked for.
std::map<std::uint32_t, KnownExports> exports_by_library(const History& history,
                                                         const ReleaseBuild& which,
                                                         const AskedNames& asked) {
  std::map<std::uint32_t, KnownExports> out;
  for (const auto& [name, exports] : asked.exports) {
    // In a build that was not read a library of CUDA's may have what such a library ever had, and
    // what none is known to have had.
    bool elsewhere = !which.unread.empty() && exports.empty();
    for (const Export& each : exports) {
      // Asked for thousands of names times releases: only where the answer matters.
      bool cuda = !which.unread.empty() && depends_on_cuda(history.libraries[each.library]);
      elsewhere = elsewhere || cuda;
      if (each.build == which.build && !cuda) out[each.library].exported.insert(name);
    }
    if (!elsewhere) continue;
    for (std::uint32_t library = 0; library < history.libraries.size(); ++library) {
      if (depends_on_cuda(history.libraries[library])) out[library].possible.insert(name);
    }
  }
  return out;
}

std::uint32_t library_number(const History& history, const std::string& path) {
  auto at = std::find(history.libraries.begin(), history.libraries.end(), path);
  return static_cast<std::uint32_t>(at - history.libraries.begin());
}

int distance(std::string_view a, std::string_view b) {
  auto numbers = [](std::string_view text) {
    int out = 0;
    for (int part = 0; part < 3; ++part) {
      std::size_t dot = std::min(text.find('.'), text.size());
      int value = 0;
      for (char c : text.substr(0, dot)) value = std::min(value * 10 + (c - '0'), 999);
      out = out * 1000 + value;
      text.remove_prefix(std::min(dot + 1, text.size()));
    }
    return out;
  };
  return std::abs(numbers(a) - numbers(b));
}

[[noreturn]] void refuse(const History& history, const ReleaseName& name,
                         std::string_view machine) {
  std::vector<std::string> known;
  for (const ReleaseBuild& each : releases_of(history, machine)) {
    known.push_back(history.builds[each.build].version);
  }
  if (known.empty()) {
    throw WrongUsage(
        fmt::format("torch=={}: the history has no release for {}", name.version, machine));
  }
  std::string range = fmt::format("{} to {}", known.front(), known.back());
  std::stable_sort(known.begin(), known.end(), [&](const std::string& a, const std::string& b) {
    return distance(a, name.version) < distance(b, name.version);
  });
  known.resize(std::min(known.size(), nearest_shown));
  throw WrongUsage(fmt::format(
      "torch=={}: the history has no such release for {} (it has {}; nearest: {}); give the wheel "
      "itself, or a stub of it",
      name.version, machine, range, fmt::join(known, ", ")));
}

// Targets are asked before providers.
std::string machine_of_inputs(const std::vector<Input>& inputs, const Facts& facts) {
  for (bool targets : {true, false}) {
    for (const InputFacts& input : facts.inputs) {
      if (inputs[input.input].target != targets) continue;
      for (const FileFacts& file : input.files) {
        if (file.kind != FileKind::elf || file.problem) continue;
        if (file.elf.machine == EM_AARCH64) return "aarch64";
        if (file.elf.machine == EM_X86_64) return "x86_64";
      }
    }
  }
  return "x86_64";
}

// What the objects import, of the names that the history would know.
std::shared_ptr<std::unordered_set<std::string_view>> names_asked(
    const History& history, const Facts& facts, const std::set<const FileFacts*>& only) {
  auto out = std::make_shared<std::unordered_set<std::string_view>>();
  for (const InputFacts& input : facts.inputs) {
    for (const FileFacts& file : input.files) {
      if (!only.empty() && !only.contains(&file)) continue;
      const SymbolTable& table = file.elf.symbols;
      for (std::size_t i = 1; i < table.count; ++i) {
        bool imported = table.undefined(i) && table.relocations[i] != used_by_none;
        if (imported && covers(history, table.name(i))) out->insert(table.name(i));
      }
    }
  }
  return out;
}

}  // namespace

std::optional<ReleaseName> read_release_name(std::string_view text) {
  std::size_t end = text.find_first_of("=<>!~ [");
  if (end == std::string_view::npos || normalised_name(text.substr(0, end)) != package) {
    return std::nullopt;
  }
  std::string_view rest = trimmed(text.substr(end));
  std::string_view number = rest.starts_with("==") ? trimmed(rest.substr(2)) : std::string_view();
  std::optional<std::string> version = normalised_version(number);
  bool plain = number.find_first_not_of("0123456789.", 0) == std::string_view::npos ||
               number.find('+') != std::string_view::npos;
  if (!version || !plain) {
    throw WrongUsage(fmt::format("{}: name one release, as in torch==2.10.0", text));
  }
  std::size_t plus = version->find('+');
  ReleaseName name{version->substr(0, plus), {}};
  if (plus != std::string::npos) name.local = version->substr(plus + 1);
  // Releases are told by three numbers; equal versions are spelled without zeros at the end.
  while (std::count(name.version.begin(), name.version.end(), '.') < 2) name.version += ".0";
  return name;
}

ReleaseBuild find_release(const History& history, const ReleaseName& name,
                          std::string_view machine) {
  for (std::uint32_t i = 0; i < history.builds.size(); ++i) {
    const HistoryBuild& build = history.builds[i];
    if (build.machine != machine || build.version != name.version) continue;
    std::size_t plus = build.label.find('+');
    std::string read = plus == std::string::npos ? "" : build.label.substr(plus + 1);
    bool same = name.local.empty() || name.local == read;
    return {i, same ? std::string() : name.local};
  }
  refuse(history, name, machine);
}

std::vector<ReleaseBuild> releases_of(const History& history, std::string_view machine) {
  std::vector<ReleaseBuild> out;
  for (std::uint32_t i = 0; i < history.builds.size(); ++i) {
    if (history.builds[i].machine == machine) out.push_back({i, {}});
  }
  return out;
}

AskedHistory ask_history(const std::vector<Input>& inputs, const Facts& facts,
                         const std::set<const FileFacts*>& only) {
  AskedHistory out;
  out.history = load_history();
  out.builds = read_build_facts(out.history);
  out.machine = machine_of_inputs(inputs, facts);
  out.asked.names = names_asked(out.history, facts, only);
  // In their order, so that each block of the table is unpacked when it is come to.
  std::vector<std::string_view> ordered(out.asked.names->begin(), out.asked.names->end());
  std::sort(ordered.begin(), ordered.end());
  for (std::string_view name : ordered) {
    out.asked.exports.emplace_back(name, exports_of(out.history, name));
  }
  return out;
}

Input name_release(const ReleaseName& name, bool target) {
  Input input;
  input.kind = InputKind::release;
  input.path =
      fmt::format("{}=={}{}{}", package, name.version, name.local.empty() ? "" : "+", name.local);
  input.label = input.path;
  input.target = target;
  return input;
}

InputFacts open_release(const AskedHistory& asked, const ReleaseBuild& which, Input& input,
                        std::size_t index) {
  const History& history = asked.history;
  const BuildFacts& build = asked.builds[which.build];
  const HistoryBuild& about = history.builds[which.build];
  bool unread = !which.unread.empty();
  std::map<std::uint32_t, KnownExports> exports = exports_by_library(history, which, asked.asked);
  InputFacts out;
  out.input = index;
  input.members.clear();
  for (const HistoryObject& object : build.objects) {
    FileFacts& file = out.files.emplace_back();
    file.member = object.path;
    file.path = path_for_all(object.path);
    file.elf = elf_of(object, about.machine, unread);
    KnownExports known = std::move(exports[library_number(history, object.path)]);
    known.asked = asked.asked.names;
    known.nothing = object.exports == 0;
    known.needs_known = !unread || !depends_on_cuda(object.path);
    file.known = std::make_shared<KnownExports>(std::move(known));
    Member& member = input.members.emplace_back();
    member.name = file.path;
    member.size = object.size;
  }
  PackageFacts& torch = out.packages.emplace_back();
  torch.name = torch.stated_name = package;
  torch.version = unread ? fmt::format("{}+{}", about.version, which.unread) : about.version;
  torch.stated_version = torch.version;
  torch.requires_python = about.python;
  torch.top_level = {"torch", "torch.libs"};
  for (const std::string& requirement : build.requires_dist) {
    if (!unread || !of_cuda_package(requirement)) torch.requirements.push_back(requirement);
  }
  return out;
}

}  // namespace wheelvet
