#include "explain/knowledge.h"

#include <algorithm>

#include "facts/metadata.h"
#include "wheelvet/link.h"

namespace wheelvet {
namespace {

constexpr std::string_view site_packages[] = {"site-packages/", "dist-packages/"};

// The part of a path below site-packages; empty when there is none such.
std::string_view below_site(std::string_view path) {
  for (std::string_view folder : site_packages) {
    std::size_t at = path.rfind(folder);
    if (at != std::string_view::npos) return path.substr(at + folder.size());
  }
  return {};
}

// A path whose start somebody left out: ".../torch/lib/libc10.so".
std::string_view without_ellipsis(std::string_view path) {
  for (std::string_view start : {"PATH/", ".../", "…/", "./", "../"}) {
    while (path.starts_with(start)) path.remove_prefix(start.size());
  }
  return path;
}

// "libtorchaudio" of "libtorchaudio.so"; the folder of "torch/lib/libc10.so".
std::string_view first_name(std::string_view path) {
  std::size_t slash = path.find('/');
  std::string_view first = path.substr(0, slash);
  return slash == std::string_view::npos ? first.substr(0, first.find('.')) : first;
}

const PathRule* rule_of_name(const Knowledge& knowledge, std::string_view name) {
  const PathRule* best = nullptr;
  for (const PathRule& rule : knowledge.explain.paths) {
    if (!rule.path.starts_with("site:")) continue;
    std::string_view start = std::string_view(rule.path).substr(5);
    if (name.starts_with(start) && (!best || rule.path.size() > best->path.size())) best = &rule;
  }
  return best;
}

FileOwner of_package(const Knowledge& knowledge, std::string kind, std::string name) {
  std::string release = installed_release(knowledge, name);
  return {std::move(kind), std::move(name), std::move(release)};
}

bool is_conda(std::string_view path) {
  return path.find("conda") != std::string_view::npos ||
         path.find("/envs/") != std::string_view::npos ||
         path.find("mamba") != std::string_view::npos;
}

bool is_system(std::string_view path) {
  return path.starts_with("/lib") || path.starts_with("/usr/lib");
}

// A library that lies in no package's folder, by its name.
FileOwner of_soname(const Knowledge& knowledge, std::string_view name) {
  std::size_t index = library_of(knowledge.rules, name);
  if (index == none) {
    std::string_view apt = distro_package(name);
    if (!apt.empty()) return {"system", std::string(apt), ""};
    return {};
  }
  const LibraryRule& rule = knowledge.rules.libraries[index];
  if (rule.kind == "driver") return {"NVIDIA driver", "NVIDIA driver", ""};
  if (rule.kind == "python") return {"interpreter", "CPython", ""};
  if (!rule.pip.empty()) {
    return of_package(knowledge, "pip package", package_for_cuda(rule.pip, cuda_major(knowledge)));
  }
  if (!rule.apt.empty()) return {"system", rule.apt, ""};
  return {};
}

}  // namespace

std::string_view major_of(std::string_view version) { return version.substr(0, version.find('.')); }

int leading_number(std::string_view text) {
  constexpr int most = 1000000;
  int number = 0;
  for (char c : text) {
    if (c < '0' || c > '9' || number == most) break;
    number = std::min(number * 10 + (c - '0'), most);
  }
  return number;
}

std::string installed_release(const Knowledge& knowledge, std::string_view package) {
  auto known = knowledge.packages.find(normalised_name(std::string(package)));
  return known == knowledge.packages.end() ? std::string() : known->second;
}

std::vector<std::uint32_t> torch_builds(const Knowledge& knowledge) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < knowledge.history.builds.size(); ++i) {
    if (knowledge.history.builds[i].machine == knowledge.machine) out.push_back(i);
  }
  return out;
}

std::optional<std::uint32_t> installed_torch(const Knowledge& knowledge) {
  std::string release = installed_release(knowledge, "torch");
  if (release.empty()) return std::nullopt;
  for (std::uint32_t build : torch_builds(knowledge)) {
    if (compare_versions(knowledge.history.builds[build].version, release) == 0) return build;
  }
  return std::nullopt;
}

std::string cuda_major(const Knowledge& knowledge) {
  std::string release = installed_release(knowledge, "torch");
  std::size_t local = release.find("+cu");
  if (local != std::string::npos && release.size() > local + 4) return release.substr(local + 3, 2);
  auto fact = knowledge.facts.find("CUDA of torch");
  if (fact != knowledge.facts.end()) return std::string(major_of(fact->second));
  if (std::optional<std::uint32_t> build = installed_torch(knowledge)) {
    return std::string(major_of(knowledge.history.builds[*build].cuda));
  }
  return {};
}

std::string package_for_cuda(const std::vector<std::string>& pip, std::string_view major) {
  if (pip.empty()) return {};
  std::string suffix = "-cu" + std::string(major);
  for (const std::string& name : pip) {
    if (!major.empty() && name.ends_with(suffix)) return name;
  }
  return pip.front();
}

bool is_off_index(const FileOwner& owner) {
  return owner.kind == "github wheel" || owner.kind == "own index" || owner.kind == "source";
}

std::string package_text(const FileOwner& owner) {
  if (owner.name.empty()) return "the package";
  return owner.version.empty() ? owner.name : owner.name + " " + owner.version;
}

FileOwner owner_of_file(const Knowledge& knowledge, std::string_view path) {
  path = without_ellipsis(path);
  std::string_view name = base_name(path);
  std::string_view site = below_site(path);
  for (const PathRule& rule : knowledge.explain.paths) {
    bool inside = !rule.path.starts_with("site:") && path.find(rule.path) != std::string_view::npos;
    if (inside && site.empty()) return {rule.kind, rule.owner, ""};
  }
  bool nvidia = site.starts_with("nvidia/");
  std::string_view relative = !site.empty() ? site : path.starts_with("/") ? name : path;
  if (!nvidia && !relative.starts_with("nvidia/")) {
    for (std::string_view start : {first_name(relative), name}) {
      const PathRule* rule = rule_of_name(knowledge, start);
      if (rule) return of_package(knowledge, rule->kind, rule->owner);
    }
    bool folder = relative.find('/') != std::string_view::npos && !path.starts_with("/");
    if (!site.empty() || folder) {
      std::string package = normalised_name(std::string(first_name(relative)));
      if (package.ends_with(".libs")) package.resize(package.size() - 5);
      if (package.ends_with("-libs")) package.resize(package.size() - 5);
      return of_package(knowledge, "pip package", std::move(package));
    }
  }
  if (is_conda(path) && !nvidia) return {"conda", "conda environment", ""};
  FileOwner owner = of_soname(knowledge, name);
  if (is_system(path) && owner.kind == "pip package") {
    owner = {"system", std::string(distro_package(name)), ""};
    std::size_t index = library_of(knowledge.rules, name);
    if (owner.name.empty() && index != none) owner.name = knowledge.rules.libraries[index].apt;
  }
  if (owner.kind.empty() && is_system(path)) owner.kind = "system";
  return owner;
}

}  // namespace wheelvet
