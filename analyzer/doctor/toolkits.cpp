#include "doctor/toolkits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "doctor/read_only_data.h"
#include "doctor/words.h"
#include "explain/knowledge.h"
#include "machine/tree.h"
#include "rules/rules.h"

namespace wheelvet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_script = 1u << 20;  // a tool may be wrapped by one
constexpr std::size_t most_header = 8u << 20;  // cuda.h of 13.0 is 1.1 MB

// "13.0" of 13000.
std::string release_of_number(std::string_view digits) {
  unsigned number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number < 1000 ? std::string() : fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

// The number behind "#define NAME" in a header.
std::string defined(std::string_view header, const std::string& name) {
  for (std::string_view line : lines_of(header)) {
    std::vector<std::string_view> words = words_of(line);
    bool direct = words.size() >= 3 && words[0] == "#define" && words[1] == name;
    bool apart = words.size() >= 4 && words[0] == "#" && words[1] == "define" && words[2] == name;
    if (direct || apart) return std::string(words[direct ? 2 : 3]);
  }
  return {};
}

// version.json: {"cuda_nvcc": {"name": ..., "version": "13.0.88"}, ...}. Read by its shape alone: a
// name, then the next "version" before another closing brace.
std::map<std::string, std::string> read_parts(std::string_view text) {
  std::map<std::string, std::string> parts;
  std::vector<std::string> strings;
  for (std::size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '"') {
      std::size_t end = text.find('"', at + 1);
      if (end == std::string_view::npos) break;
      strings.emplace_back(text.substr(at + 1, end - at - 1));
      at = end;
    } else if (c == '}') {
      for (std::size_t i = 1; i + 1 < strings.size(); ++i) {
        if (strings[i] == "version") parts.emplace(strings.front(), strings[i + 1]);
      }
      strings.clear();
    }
  }
  return parts;
}

std::string first_two(std::string_view version) {
  std::size_t dot = version.find('.');
  std::size_t second = dot == std::string_view::npos ? dot : version.find('.', dot + 1);
  return std::string(version.substr(0, second));
}

constexpr const char* targets[] = {"x86_64-linux", "sbsa-linux", "aarch64-linux"};

// A path of a toolkit as other layouts name it: conda keeps headers and libraries below targets/,
// pip libraries in lib.
std::vector<std::string> spellings(const std::string& path, std::string_view kind) {
  std::vector<std::string> out{path};
  bool library = path.starts_with("lib64/"), conda_library = library && kind == "conda";
  if (conda_library || (library && kind == "pip")) out.push_back("lib/" + path.substr(6));
  for (const char* target : targets) {
    if (path.starts_with("include/")) out.push_back(fmt::format("targets/{}/{}", target, path));
    if (conda_library)
      out.push_back(fmt::format("targets/{}/lib/{}", target, std::string_view(path).substr(6)));
  }
  return out;
}

// Folders whose files and links are a toolkit's own. A conda prefix and a distribution's /usr hold
// much that is nobody's toolkit.
std::vector<std::string> own_folders(std::string_view kind) {
  if (kind == "distribution") return {};
  if (kind == "pip") return {"include", "include/crt", "lib", "bin", "nvvm/bin"};
  if (kind != "conda") return {"include", "include/crt", "lib64", "lib64/stubs", "bin", "nvvm/bin"};
  std::vector<std::string> out{"nvvm/bin"};
  for (const char* target : targets) {
    for (const char* folder : {"include", "include/crt", "lib", "lib/stubs"})
      out.push_back(fmt::format("targets/{}/{}", target, folder));
  }
  return out;
}

struct Reader {
  const HostFacts& host;
  const TomlText& rules;
  const std::string& root;
  std::vector<Toolkit> found;
  std::set<std::string> seen;

  bool has(const std::string& folder, const std::string& path, std::string_view kind = {}) const {
    for (const std::string& spelt : spellings(path, kind)) {
      if (is_file(root, folder + "/" + spelt)) return true;
    }
    return false;
  }

  std::string text(const std::string& folder, const std::string& path) const {
    for (const std::string& spelt : spellings(path, {})) {
      std::string out = text_of(root, folder + "/" + spelt, most_header);
      if (!out.empty()) return out;
    }
    return {};
  }

  bool is_toolkit(const std::string& folder) const {
    for (const char* mark :
         {"bin/nvcc", "include/cuda.h", "include/cuda_runtime.h", "version.json"}) {
      if (has(folder, mark)) return true;
    }
    for (const char* libraries : {"lib64", "lib"}) {
      for (const std::string& name : names_in(root, folder + "/" + libraries)) {
        if (name.starts_with("libcudart.so")) return true;
      }
    }
    return false;
  }

  void add(const std::string& path, const char* kind) {
    std::string real = real_path(root, path);
    if (real.empty() || !is_folder(root, real) || !is_toolkit(real)) return;
    if (!seen.insert(real).second) return;
    Toolkit& toolkit = found.emplace_back();
    toolkit.path = path;
    toolkit.real = real;
    toolkit.kind = kind;
  }

  void find() {
    for (const Start& start : host.starts) {
      for (const char* name : {"CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT"}) {
        auto set = start.effective.find(name);
        if (set != start.effective.end() && set->second.value.starts_with('/')) {
          add(set->second.value, kind_of(set->second.value));
        }
      }
      auto path = start.effective.find("PATH");
      std::string nvcc =
          path == start.effective.end() ? "" : on_path(root, path->second.value, "nvcc");
      if (!nvcc.empty()) {
        std::string folder = parent_of(parent_of(nvcc));
        add(folder.empty() ? "/" : folder, kind_of(folder));
      }
    }
    add("/usr/local/cuda", "system");
    for (const std::string& name : names_in(root, "/usr/local")) {
      if (name.starts_with("cuda-")) add("/usr/local/" + name, "system");
    }
    for (const char* other : {"/opt/cuda", "/usr/lib/cuda", "/usr/lib/nvidia-cuda-toolkit"}) {
      add(other, kind_of(other));
    }
    if (!host.prefix.empty() && is_folder(root, host.prefix + "/conda-meta")) {
      add(host.prefix, "conda");
    }
    for (const std::string& folder : host.sys_path) {
      for (const char* tree : {"cu13", "cu14"}) add(folder + "/nvidia/" + tree, "pip");
    }
    // A toolkit may be named by a link: its own folder's name says more.
    for (Toolkit& toolkit : found) {
      if (toolkit.kind == "system" && is_link(root, toolkit.path)) toolkit.path = toolkit.real;
    }
  }

  const char* kind_of(const std::string& path) const {
    if (path.find("/site-packages/nvidia/") != std::string::npos) return "pip";
    if (path == "/usr" || path == "/" || path.starts_with("/usr/lib/")) return "distribution";
    bool conda = !host.prefix.empty() && path == host.prefix;
    return conda ? "conda" : "system";
  }

  void read_release(Toolkit& toolkit) {
    toolkit.parts = read_parts(text_of(root, toolkit.real + "/version.json", most_header));
    toolkit.nvcc = has(toolkit.real, "bin/nvcc");
    if (toolkit.nvcc) toolkit.nvcc_release = tool_release(root, toolkit.real + "/bin/nvcc");
    toolkit.header_release = release_of_number(
        defined(text(toolkit.real, "include/cuda_runtime_api.h"), "CUDART_VERSION"));
    auto say = [&](std::string release, const char* from) {
      if (!toolkit.release.empty() || release.empty()) return;
      toolkit.release = std::move(release);
      toolkit.release_from = toolkit.real + from;
    };
    auto cuda = toolkit.parts.find("cuda");
    if (cuda != toolkit.parts.end()) say(first_two(cuda->second), "/version.json");
    say(toolkit.nvcc_release, "/bin/nvcc");
    say(release_of_number(defined(text(toolkit.real, "include/cuda.h"), "CUDA_VERSION")),
        "/include/cuda.h");
    // pip's tree may hold libraries only: then the runtime's package tells.
    for (const HostPackage& package : host.packages) {
      bool runtime = toolkit.kind == "pip" && package.name == "nvidia-cuda-runtime";
      if (runtime) say(first_two(package.version), " (by nvidia-cuda-runtime)");
    }
    std::string old = text_of(root, toolkit.real + "/version.txt", most_header);
    if (old.starts_with("CUDA Version ")) say(first_two(old.substr(13)), "/version.txt");
  }

  void read_headers(Toolkit& toolkit) {
    auto tables = rules.find("header");
    if (tables == rules.end()) return;
    for (const TomlTable& table : tables->second) {
      std::string file = toml_value(table, "file");
      std::string header = text(toolkit.real, file);
      std::string macro = toml_value(table, "macro"), version;
      for (const char* part : {"MAJOR", "MINOR", "PATCH", "BUILD"}) {
        std::string number = defined(header, macro + part);
        if (number.empty()) break;
        version += (version.empty() ? "" : ".") + number;
      }
      if (!version.empty()) toolkit.headers[toml_value(table, "component")] = {version, file};
    }
  }

  void read_missing(Toolkit& toolkit) {
    auto tables = rules.find("part");
    // Distributions spread their toolkit over /usr by rules of their own.
    if (tables == rules.end() || toolkit.kind == "distribution") return;
    for (const TomlTable& table : tables->second) {
      std::string since = toml_value(table, "since");
      if (!since.empty() && compare_versions(toolkit.release, since) < 0) continue;
      // A script in nvcc's place starts the real one, which finds its tools beside itself.
      bool wrapped = toolkit.nvcc && toolkit.nvcc_release.empty();
      for (const std::string& path : toml_values(table, "paths")) {
        bool there = wrapped && (path.starts_with("bin/") || path.starts_with("nvvm/"));
        for (std::string_view each : split_at(path, '|')) {
          there = there || has(toolkit.real, std::string(each), toolkit.kind);
        }
        if (!there) toolkit.missing.push_back(path.substr(0, path.find('|')));
      }
    }
  }

  void read_link(Toolkit& toolkit, const std::string& path) {
    if (!is_link(root, path)) return;
    std::string real = real_path(root, path);
    if (real.empty()) {
      toolkit.dangling.push_back(path);
      return;
    }
    for (const Toolkit& other : found) {
      if (other.real == toolkit.real || other.real == "/usr" || other.real == "/usr/local")
        continue;
      bool inside = (real + "/").starts_with(other.real + "/");
      bool own = (real + "/").starts_with(toolkit.real + "/");
      if (inside && !own) toolkit.foreign.emplace_back(path, real);
    }
  }

  void read_files(Toolkit& toolkit) {
    for (const std::string& folder : own_folders(toolkit.kind)) {
      std::string path = toolkit.real + "/" + folder;
      read_link(toolkit, path);
      for (const std::string& name : names_in(root, path)) {
        read_link(toolkit, path + "/" + name);
        if (!(folder == "lib64" || folder == "lib" || folder.ends_with("/lib")) ||
            name.find(".so.") == std::string::npos)
          continue;
        std::string real = real_path(root, path + "/" + name);
        std::string_view base = base_of(real);
        std::size_t so = base.find(".so.");
        std::string version = so == std::string::npos ? "" : std::string(base.substr(so + 4));
        toolkit.libraries.push_back({name, real, version});
      }
    }
  }
};

// The component that a library belongs to: "libcublas" of "libcublasLt.so.12".
std::string component_of(std::string_view library) {
  static const std::pair<std::string_view, const char*> stems[] = {
      {"libcublas", "libcublas"},       {"libnvblas", "libcublas"},
      {"libcufft", "libcufft"},         {"libcurand", "libcurand"},
      {"libcusolver", "libcusolver"},   {"libcusparse.", "libcusparse"},
      {"libcudart", "cuda_cudart"},     {"libnvrtc", "cuda_nvrtc"},
      {"libnvJitLink", "libnvjitlink"},
  };
  for (auto [stem, component] : stems) {
    if (library.starts_with(stem)) return component;
  }
  return {};
}

// Releases of CUDA that have this version of a component; none when the tables do not know it.
std::vector<std::string> releases_with(const TomlText& rules, const std::string& component,
                                       const std::string& version) {
  std::vector<std::string> out;
  auto tables = rules.find("release");
  if (tables == rules.end()) return out;
  for (const TomlTable& table : tables->second) {
    for (const std::string& known : toml_values(table, component)) {
      bool same = known == version || known.starts_with(version + ".");
      if (same && std::count(version.begin(), version.end(), '.') >= 2) {
        out.push_back(toml_value(table, "cuda"));
        break;
      }
    }
  }
  return out;
}

std::string package_name(std::string pip, const std::string& release) {
  std::size_t bar = pip.find('|');
  bool old = compare_versions(release, "13") < 0 && !release.empty();
  // Before CUDA 13 the headers of crt/ are in the compiler's package.
  if (bar != std::string::npos) pip = old ? pip.substr(bar + 1) : pip.substr(0, bar);
  return old ? pip + "-cu" + release.substr(0, release.find('.')) : pip;
}

std::string filled(std::string name, const std::string& release) {
  std::string major = release.substr(0, release.find('.'));
  std::string minor = release.substr(std::min(release.size(), major.size() + 1));
  for (auto [mark, value] : {std::pair{std::string("{major}"), major}, {"{minor}", minor}}) {
    std::size_t at = name.find(mark);
    if (at != std::string::npos) name.replace(at, mark.size(), value);
  }
  return name;
}

// What supplies a missing piece: "pip: nvidia-curand; system: libcurand-dev-13-0".
struct Supplier {
  std::string pip, apt;
  bool link = false;
};

Supplier supplier_of(const TomlText& rules, const std::string& piece, const std::string& release) {
  for (const TomlTable& table : rules.find("part")->second) {
    for (const std::string& path : toml_values(table, "paths")) {
      if (path.substr(0, path.find('|')) != piece) continue;
      std::string pip = toml_value(table, "pip");
      return {pip.empty() ? "" : package_name(pip, release),
              release.empty() ? "" : filled(toml_value(table, "apt"), release),
              toml_value(table, "link") == "true"};
    }
  }
  return {};
}

struct Checker {
  const HostFacts& host;
  const TomlText& rules;
  std::vector<ToolkitPick> picks;
  std::vector<Finding> findings;

  Finding& add(const char* id, Severity severity, std::string title) {
    Finding& finding = findings.emplace_back();
    finding.id = id;
    finding.severity = severity;
    finding.title = std::move(title);
    return finding;
  }

  std::vector<const ToolkitPick*> pickers_of(const Toolkit& toolkit, bool builders) const {
    std::vector<const ToolkitPick*> out;
    for (const ToolkitPick& pick : picks) {
      if (pick.toolkit == &toolkit && (!builders || pick.builds)) out.push_back(&pick);
    }
    return out;
  }

  void say_pickers(const Toolkit& toolkit, Finding& finding) const {
    std::set<std::string> names;
    for (const ToolkitPick* pick : pickers_of(toolkit, false)) {
      std::string text =
          fmt::format("{} picks it by {} ({})", pick->consumer, pick->because, pick->start);
      if (names.insert(text).second) finding.evidence.push_back(text);
    }
  }

  // A variable that leads nowhere.
  void check_named() {
    std::map<std::string, std::size_t> said;
    for (const ToolkitPick& pick : picks) {
      if (pick.toolkit || !pick.named) continue;
      auto [known, fresh] = said.emplace(pick.path + pick.because, findings.size());
      if (fresh) {
        Finding& finding =
            add("TKT-001", Severity::error,
                fmt::format("{} names {}, where no CUDA toolkit is", pick.because, pick.path));
        std::string better = fitting_toolkit(host);
        finding.objects = {pick.path};
        finding.fix = better.empty() ? "unset the variable, or install a toolkit there"
                                     : "set it to " + better;
      }
      findings[known->second].evidence.push_back(
          fmt::format("{} ({}) takes it as it is", pick.consumer, pick.start));
    }
  }

  // torch/utils/cpp_extension.py, _check_cuda_version: another major release is an error.
  void check_torch() {
    if (host.torch_cuda.empty()) return;
    std::map<std::string, std::size_t> said;
    for (const ToolkitPick& pick : picks) {
      if (!pick.toolkit || !pick.builds || pick.consumer.starts_with("CMake")) continue;
      const Toolkit& toolkit = *pick.toolkit;
      std::string release = toolkit.nvcc_release.empty() ? toolkit.release : toolkit.nvcc_release;
      if (release.empty() || major_of(release) == major_of(host.torch_cuda)) continue;
      std::string key = toolkit.real + pick.because;
      if (!said.contains(key)) {
        said[key] = findings.size();
        Finding& finding =
            add("TKT-002",
                pick.named     ? Severity::error
                : toolkit.nvcc ? Severity::warning
                               : Severity::note,
                fmt::format("builds would use CUDA {} of {}, torch {} is built for CUDA {}",
                            release, toolkit.path, host.torch, host.torch_cuda));
        finding.objects = {toolkit.path};
        std::string better = fitting_toolkit(host);
        finding.fix = better.empty()
                          ? fmt::format("install the CUDA {} toolkit, or a torch built for CUDA {}",
                                        host.torch_cuda, release)
                          : fmt::format("CUDA_HOME={}", better);
      }
      findings[said[key]].evidence.push_back(
          fmt::format("{} picks it by {} ({})", pick.consumer, pick.because, pick.start));
    }
  }

  // Consumers that read the variables in another order and so take another toolkit.
  void check_agreement() {
    for (const Start& start : host.starts) {
      std::map<const Toolkit*, std::vector<std::string>> by;
      for (const ToolkitPick& pick : picks) {
        if (pick.start != start.name || !pick.toolkit) continue;
        by[pick.toolkit].push_back(
            fmt::format("{}: {} by {}", pick.consumer, pick.toolkit->path, pick.because));
      }
      if (by.size() < 2) continue;
      Finding& finding =
          add("TKT-003", Severity::warning,
              fmt::format("{}: not all who look for a CUDA toolkit find the same one", start.name));
      for (auto& [toolkit, lines] : by) {
        finding.objects.push_back(toolkit->path);
        finding.evidence.insert(finding.evidence.end(), lines.begin(), lines.end());
      }
      std::sort(finding.objects.begin(), finding.objects.end());
      std::sort(finding.evidence.begin(), finding.evidence.end());
      std::string better = fitting_toolkit(host);
      finding.fix = better.empty()
                        ? "set CUDA_HOME and CUDA_PATH to one toolkit, its bin first on PATH"
                        : fmt::format("CUDA_HOME={0} CUDA_PATH={0}, {0}/bin first on PATH", better);
    }
  }

  void check_missing(const Toolkit& toolkit) {
    std::map<std::string, std::vector<std::string>> headers, tools, links;
    for (const std::string& piece : toolkit.missing) {
      Supplier from = supplier_of(rules, piece, toolkit.release);
      std::string by = from.pip.empty() ? "" : "pip: " + from.pip;
      if (!from.apt.empty()) by += (by.empty() ? "system: " : "; system: ") + from.apt;
      (from.link ? links : piece.starts_with("include/") ? headers : tools)[by].push_back(piece);
    }
    // Without a compiler and without a variable that names it, nobody means to build with it.
    std::vector<const ToolkitPick*> builders = pickers_of(toolkit, true);
    bool named = std::any_of(builders.begin(), builders.end(),
                             [](const ToolkitPick* pick) { return pick->named; });
    bool picked = named || (!builders.empty() && toolkit.nvcc);
    report_missing(toolkit, "TKT-004", "headers", headers, picked);
    report_missing(toolkit, "TKT-005", "names to link with", links, picked);
    report_missing(toolkit, "TKT-006", "tools", tools, picked);
  }

  void report_missing(const Toolkit& toolkit, const char* id, const char* what,
                      const std::map<std::string, std::vector<std::string>>& pieces, bool picked) {
    // An image of run-time libraries and the tree of torch's own requirements lack nothing.
    if (pieces.empty() || (!picked && !toolkit.nvcc)) return;
    std::size_t count = 0;
    std::string first;
    for (const auto& [by, paths] : pieces) {
      count += paths.size();
      if (first.empty()) first = paths.front();
    }
    std::string names = count == 1 ? first : fmt::format("{} {}, such as {}", count, what, first);
    Finding& finding =
        add(id, picked ? Severity::warning : Severity::note,
            fmt::format("CUDA {} in {} lacks {}", toolkit.release, toolkit.path, names));
    finding.objects = {toolkit.path};
    for (const auto& [by, paths] : pieces) {
      finding.evidence.push_back(
          fmt::format("{} ({})", fmt::join(paths, ", "), by.empty() ? "no package" : by));
    }
    say_pickers(toolkit, finding);
    bool pip = toolkit.kind == "pip";
    std::vector<std::string> packages;
    for (const auto& [by, paths] : pieces) {
      Supplier from = supplier_of(rules, paths.front(), toolkit.release);
      std::string name = pip ? from.pip : from.apt;
      if (!name.empty()) packages.push_back(name);
    }
    if (packages.empty()) {
      finding.fix =
          pip ? "pip packages bring none of these names: build with a system or conda toolkit"
              : "install the toolkit's development packages";
    } else if (pip) {
      finding.fix = fmt::format("pip install {}", fmt::join(packages, " "));
    } else {
      finding.fix = fmt::format("apt-get install {}", fmt::join(packages, " "));
    }
  }

  // A library, or a header, of another release than the toolkit's.
  void check_releases(const Toolkit& toolkit) {
    std::map<std::string, std::vector<std::string>> wrong;  // component -> what was seen
    auto judge = [&](const std::string& component, const std::string& version, std::string seen) {
      auto listed = toolkit.parts.find(component);
      if (listed != toolkit.parts.end() && std::count(version.begin(), version.end(), '.') >= 2) {
        bool same = (listed->second + ".").starts_with(version + ".") ||
                    (version + ".").starts_with(listed->second + ".");
        if (!same)
          wrong[component].push_back(fmt::format("{}; version.json says {}", seen, listed->second));
        return;
      }
      std::vector<std::string> releases = releases_with(rules, component, version);
      bool fits = releases.empty() || toolkit.release.empty() ||
                  std::find(releases.begin(), releases.end(), toolkit.release) != releases.end();
      if (!fits)
        wrong[component].push_back(
            fmt::format("{}, of CUDA {}", seen, fmt::join(releases, " or ")));
    };
    for (const ToolkitLibrary& library : toolkit.libraries) {
      // What is linked in from elsewhere is said as such.
      bool own = (library.real + "/").starts_with(toolkit.real + "/");
      std::string component = component_of(library.name);
      if (own && !component.empty()) {
        judge(component, library.version, fmt::format("{} is {}", library.name, library.version));
      }
    }
    for (const auto& [component, header] : toolkit.headers) {
      std::string path = toolkit.real + "/" + header.second;
      bool own = (real_path(host.machine.root, path) + "/").starts_with(toolkit.real + "/");
      if (own)
        judge(component, header.first, fmt::format("{} is of {}", header.second, header.first));
    }
    for (auto& [component, seen] : wrong) {
      std::sort(seen.begin(), seen.end());
      seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
      Finding& finding = add("TKT-007", Severity::warning,
                             fmt::format("{} in {} is of another release than the toolkit, CUDA {}",
                                         component, toolkit.path, toolkit.release));
      finding.objects = {toolkit.path};
      finding.evidence = seen;
      finding.fix = reinstall(toolkit, component);
    }
    bool apart = !toolkit.nvcc_release.empty() && !toolkit.header_release.empty() &&
                 toolkit.nvcc_release != toolkit.header_release;
    if (!apart) return;
    Finding& finding = add("TKT-010", Severity::warning,
                           fmt::format("{}: nvcc is of CUDA {}, the runtime's headers of {}",
                                       toolkit.path, toolkit.nvcc_release, toolkit.header_release));
    finding.objects = {toolkit.path};
    say_pickers(toolkit, finding);
    finding.fix = toolkit.kind == "pip"
                      ? fmt::format("pip install {}=={}.*",
                                    package_name("nvidia-cuda-nvcc", toolkit.header_release),
                                    toolkit.header_release)
                      : "install compiler and runtime headers of one release";
  }

  std::string reinstall(const Toolkit& toolkit, std::string component) const {
    std::replace(component.begin(), component.end(), '_', '-');
    if (toolkit.kind == "pip") {
      std::string name = component.starts_with("lib") ? component.substr(3) : component;
      if (name == "cuda-cudart") name = "cuda-runtime";
      return "pip install --force-reinstall " + package_name("nvidia-" + name, toolkit.release);
    }
    return fmt::format("apt-get install --reinstall {} {}",
                       filled(component + "-{major}-{minor}", toolkit.release),
                       filled(component + "-dev-{major}-{minor}", toolkit.release));
  }

  std::string replace_links(const Toolkit& toolkit) const {
    std::string remove = "rm";
    std::set<std::string> packages;
    for (const auto& [link, target] : toolkit.foreign) {
      remove += " " + shell_quoted(link);
      Supplier from = supplier_of(rules, link.substr(toolkit.real.size() + 1), toolkit.release);
      std::string name = toolkit.kind == "pip" ? from.pip : from.apt;
      if (!name.empty()) packages.insert(name);
    }
    if (packages.empty()) return remove;
    return fmt::format("{} && {} {}", remove,
                       toolkit.kind == "pip" ? "pip install" : "apt-get install",
                       fmt::join(packages, " "));
  }

  void check_links(const Toolkit& toolkit) {
    if (!toolkit.foreign.empty()) {
      Finding& finding = add("TKT-008", Severity::warning,
                             fmt::format("{} of {} are links into another toolkit",
                                         toolkit.foreign.size(), toolkit.path));
      if (toolkit.foreign.size() == 1)
        finding.title = toolkit.foreign.front().first + " is a link into another toolkit";
      finding.objects = {toolkit.path};
      for (const auto& [link, target] : toolkit.foreign)
        finding.evidence.push_back(link + " -> " + target);
      finding.fix = replace_links(toolkit);
    }
    if (toolkit.dangling.empty()) return;
    Finding& finding = add("TKT-009", Severity::warning,
                           fmt::format("{} link{} in {} end{} nowhere", toolkit.dangling.size(),
                                       toolkit.dangling.size() == 1 ? "" : "s", toolkit.path,
                                       toolkit.dangling.size() == 1 ? "s" : ""));
    finding.objects = {toolkit.path};
    finding.evidence = toolkit.dangling;
    finding.fix = "reinstall the package that owns what they name";
  }
};

}  // namespace

std::string tool_release(const std::string& root, const std::string& path) {
  std::string text;
  try {
    if (is_file(root, path)) text = read_only_data(on_this_host(root, path));
  } catch (const Unreadable&) {
    return {};
  }
  if (text.empty()) text = text_of(root, path, most_script);
  constexpr std::string_view mark = "Cuda compilation tools, release ";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    std::size_t begin = at + mark.size(), end = begin;
    while (end < text.size() && (text[end] == '.' || (text[end] >= '0' && text[end] <= '9'))) ++end;
    if (end > begin) return text.substr(begin, end - begin);
  }
  return {};
}

std::string on_path(const std::string& root, std::string_view path, std::string_view name) {
  for (std::string_view folder : split_at(path, ':')) {
    if (!folder.starts_with('/')) continue;
    std::string file = fmt::format("{}/{}", folder, name);
    if (is_file(root, file)) return file;
  }
  return {};
}

bool is_link(const std::string& root, const std::string& path) {
  std::string folder = real_path(root, parent_of(path));
  std::error_code error;
  return !folder.empty() &&
         fs::is_symlink(fs::symlink_status(fs::path(root + folder) / base_of(path), error));
}

std::vector<Toolkit> read_toolkits(const HostFacts& host, const TomlText& rules) {
  Reader reader{host, rules, host.machine.root, {}, {}};
  reader.find();
  for (Toolkit& toolkit : reader.found) {
    reader.read_release(toolkit);
    reader.read_headers(toolkit);
    reader.read_missing(toolkit);
    reader.read_files(toolkit);
  }
  return reader.found;
}

std::string fitting_toolkit(const HostFacts& host) {
  const Toolkit* best = nullptr;
  for (const Toolkit& toolkit : host.toolkits) {
    if (!toolkit.nvcc) continue;
    bool fits = host.torch_cuda.empty() || major_of(toolkit.release) == major_of(host.torch_cuda);
    bool exact = toolkit.release == host.torch_cuda;
    if (fits && (!best || (exact && best->release != host.torch_cuda))) best = &toolkit;
  }
  return best ? best->path : std::string();
}

std::vector<ToolkitPick> pick_toolkits(const HostFacts& host, const TomlText& rules) {
  std::vector<ToolkitPick> picks;
  const std::string& root = host.machine.root;
  auto tables = rules.find("consumer");
  if (tables == rules.end()) return picks;
  auto installed = [&](const std::string& name) {
    return std::any_of(host.packages.begin(), host.packages.end(),
                       [&](const HostPackage& each) { return each.name == name; });
  };
  auto runnable = [&](const Start& start, const std::string& program) {
    auto path = start.effective.find("PATH");
    return !program.empty() && path != start.effective.end() &&
           !on_path(root, path->second.value, program).empty();
  };
  for (const Start& start : host.starts) {
    for (const TomlTable& table : tables->second) {
      bool there =
          installed(toml_value(table, "package")) || runnable(start, toml_value(table, "program"));
      if (!there) continue;
      ToolkitPick pick{toml_value(table, "name"),
                       start.name,
                       {},
                       {},
                       nullptr,
                       toml_value(table, "builds") == "true",
                       false};
      for (const std::string& source : toml_values(table, "order")) {
        if (source == "nvcc") {
          auto path = start.effective.find("PATH");
          std::string nvcc =
              path == start.effective.end() ? "" : on_path(root, path->second.value, "nvcc");
          if (nvcc.empty()) continue;
          pick.path = parent_of(parent_of(nvcc));
          pick.because = "nvcc on PATH";
        } else if (source.starts_with('/')) {
          if (!is_folder(root, source)) continue;
          pick.path = source;
          pick.because = "the usual folder";
        } else {
          auto set = start.effective.find(source);
          if (set == start.effective.end() || set->second.value.empty()) continue;
          pick.path = set->second.value;
          pick.because = fmt::format("{} ({})", source, set->second.from);
          pick.named = true;
        }
        break;
      }
      std::string real = pick.path.empty() ? "" : real_path(root, pick.path);
      for (const Toolkit& toolkit : host.toolkits) {
        if (toolkit.real == real) pick.toolkit = &toolkit;
      }
      picks.push_back(std::move(pick));
    }
  }
  return picks;
}

std::vector<Finding> check_toolkits(const HostFacts& host, const TomlText& rules) {
  Checker checker{host, rules, pick_toolkits(host, rules), {}};
  if (host.toolkits.empty()) {
    Finding& finding = checker.add("TKT-011", Severity::note, "no CUDA toolkit was found");
    finding.evidence = {
        "nothing here can compile CUDA code: torch extensions, flashinfer and tvm-ffi run only "
        "what is built already"};
  }
  checker.check_named();
  checker.check_torch();
  checker.check_agreement();
  for (const Toolkit& toolkit : host.toolkits) {
    checker.check_missing(toolkit);
    checker.check_releases(toolkit);
    checker.check_links(toolkit);
  }
  return std::move(checker.findings);
}

}  // namespace wheelvet
