// A C name of CUDA's libraries, NCCL, cuDNN or the driver: the first release that has it, against a
// library of the same soname that does not.
#include <fmt/format.h>

#include <algorithm>

#include "explain/families.h"
#include "facts/metadata.h"
#include "wheelvet/link.h"

namespace wheelvet {
namespace {

// Which releases of a library have a name, as far as the tables tell.
struct Releases {
  bool table = false;               // there is a table by release
  bool known = false;               // it holds the name
  std::vector<std::string> having;  // of the soname's major release, oldest first
  std::vector<std::string> lacking;
};

// "12" of "libcudart.so.12", "2" of "libnccl.so.2".
std::string_view soname_major(std::string_view soname) {
  std::size_t at = soname.find(".so.");
  return at == std::string_view::npos ? std::string_view() : major_of(soname.substr(at + 4));
}

Releases releases_of(const LibraryRule& rule, std::string_view soname, std::string_view symbol) {
  Releases out;
  if (rule.kind == "driver") {
    std::string_view since = table_value("driver_api.txt", symbol);
    out.table = out.known = !since.empty();
    if (out.known) out.having.emplace_back(since);
    return out;
  }
  const ExportTable* table = export_table("releases/" + rule.exports);
  if (!table) table = export_table(rule.exports);
  if (!table || table->columns.empty()) return out;
  out.table = true;
  auto row = table->names.find(symbol);
  out.known = row != table->names.end();
  std::string_view major = soname_major(soname);
  for (std::size_t i = 0; i < table->columns.size(); ++i) {
    if (major_of(table->columns[i]) != major) continue;
    bool has = out.known && (row->second >> i & 1u) != 0;
    (has ? out.having : out.lacking).push_back(table->columns[i]);
  }
  return out;
}

// The library that owns a name: the one of its version, else the one whose table or prefix has it.
std::size_t owner_index(const Knowledge& knowledge, const std::string& node,
                        const std::string& symbol) {
  if (node.find(".so") != std::string::npos) return library_of(knowledge.rules, node);
  std::size_t by_prefix = none;
  std::string major = cuda_major(knowledge);
  for (std::size_t i = 0; i < knowledge.rules.libraries.size(); ++i) {
    const LibraryRule& rule = knowledge.rules.libraries[i];
    bool prefixed = std::any_of(rule.prefixes.begin(), rule.prefixes.end(),
                                [&](const std::string& each) { return symbol.starts_with(each); });
    if (!prefixed || rule.exports.empty()) continue;
    const ExportTable* table = export_table(rule.exports);
    bool holds = table && table->names.contains(symbol);
    bool right_major = major.empty() || soname_major(rule.soname) == major;
    if (holds && (right_major || rule.kind != "cuda")) return i;
    if (by_prefix == none || (holds && !right_major)) by_prefix = i;
  }
  return by_prefix;
}

std::string kind_of(const LibraryRule& rule) {
  if (rule.kind == "nccl") return "nccl";
  if (rule.kind == "driver") return "ptx-jit/driver";
  return "cuda-lib-shadowing";
}

// Releases of cuBLAS, cuRAND and cuDNN are the packages' own, the others' are CUDA's.
std::string release_text(const LibraryRule& rule, const std::string& release) {
  bool of_cuda = rule.exports == "cudart" || rule.exports == "nvrtc" || rule.exports == "nvJitLink";
  if (of_cuda || rule.kind == "driver") return "CUDA " + release;
  if (rule.kind == "nccl") return "NCCL " + release;
  return rule.pip.empty() ? release : rule.pip.front() + " " + release;
}

// "nvidia-nccl-cu12==2.27.5" as the installed torch declares it; empty when it does not.
std::string declared_by_torch(const Knowledge& knowledge, const std::string& package) {
  std::optional<std::uint32_t> build = installed_torch(knowledge);
  if (!build) return {};
  const std::vector<BuildFacts> builds = read_build_facts(knowledge.history);
  for (const std::string& line : builds[*build].requires_dist) {
    std::string_view name = std::string_view(line).substr(0, line.find_first_of(" =<>!~;(["));
    if (normalised_name(name) != package) continue;
    std::size_t equal = line.find("==");
    std::size_t end = line.find_first_of(" ;)", equal);
    if (equal != std::string::npos) return package + line.substr(equal, end - equal);
  }
  return {};
}

void add_driver_answer(const Releases& releases, const std::string& symbol, Explanation& out) {
  std::string since = releases.having.empty() ? "" : releases.having.front();
  out.sentence += since.empty() ? ", a function of a newer NVIDIA driver"
                                : ", which the driver's library has since CUDA " + since;
  std::string major(major_of(since));
  out.repairs.push_back(
      {"NVIDIA driver",
       since.empty() ? "a newer NVIDIA driver" : "an NVIDIA driver for CUDA " + since + " or newer",
       ""});
  out.repairs.push_back(
      {"package", "or a build of the package for the CUDA release of the installed driver", ""});
  out.shows.emplace_back("nvidia-smi");
  out.unknown.push_back("which driver is installed: it lacks " + symbol);
}

// The file that lacks the name is the library itself: somebody asked it by name (dlsym, ctypes).
bool asked_itself(const Side& wants, const LibraryRule& rule) {
  std::string_view file = base_name(wants.what);
  std::string_view stem = std::string_view(rule.soname).substr(0, rule.soname.find(".so"));
  return file.starts_with(stem) && file.substr(stem.size()).starts_with(".so");
}

std::string other_majors(const std::vector<std::string>& pip, const std::string& package) {
  std::string text;
  for (const std::string& name : pip) {
    bool twin = name != package && name.find("-cu1") != std::string::npos;
    if (twin) text += (text.empty() ? "" : " ") + name;
  }
  return text;
}

void add_package_repairs(const Knowledge& knowledge, const LibraryRule& rule, const Side& wants,
                         const Releases& releases, Explanation& out) {
  std::string package = package_for_cuda(rule.pip, cuda_major(knowledge));
  std::string major(soname_major(rule.soname));
  if (package.empty()) return;
  std::string since = releases.having.empty() ? "" : releases.having.front();
  std::string pinned = declared_by_torch(knowledge, package);
  bool torch_asks = wants.owner.name == "torch" && !pinned.empty();
  std::string requirement = torch_asks      ? pinned
                            : since.empty() ? package
                                            : fmt::format("{}>={}", package, since);
  std::string lowest = since.empty() ? "the release that it was built with"
                                     : release_text(rule, since) + " or newer";
  out.repairs.push_back({package, fmt::format("{}: {} that has it", rule.soname, lowest),
                         fmt::format("pip install --force-reinstall --no-deps '{}'", requirement)});
  std::string twins = other_majors(rule.pip, package);
  bool shared_folder = !twins.empty() && rule.path.size() == 1 &&
                       rule.path.front().find("/cu1") == std::string::npos;
  if (shared_folder) {
    out.repairs.push_back(
        {package,
         fmt::format("the packages {} and {} put their file at the same place ({}): keep one",
                     package, twins, rule.path.front()),
         fmt::format("pip uninstall {}", twins)});
  }
  out.repairs.push_back(
      {"configuration",
       "if the package is new enough, another copy is loaded first: from LD_LIBRARY_PATH, from the "
       "system or by an earlier import; unset LD_LIBRARY_PATH, and import torch first",
       "env -u LD_LIBRARY_PATH python ..."});
  if (wants.owner.kind == "build cache") {
    out.repairs.push_back(
        {wants.owner.name,
         fmt::format("or build it anew with the CUDA toolkit of torch's release {}", major),
         fmt::format("rm -r {}", wants.what.substr(0, wants.what.rfind('/')))});
  }
  out.shows.push_back(
      fmt::format("LD_DEBUG=libs python -c 'import torch' 2>&1 | grep {}", rule.soname));
  if (rule.kind == "nccl") {
    out.shows.emplace_back("python -c 'import torch; print(torch.cuda.nccl.version())'");
  }
}

std::string missing_text(const LibraryRule& rule, const Releases& releases) {
  if (!releases.table) return "is not exported by the one in the process";
  if (!releases.known) {
    return "is no name of its interface: the libraries that share it must be of one release, and "
           "are not";
  }
  if (releases.having.empty()) {
    return "is not in any release with that soname";
  }
  if (releases.lacking.empty()) {
    return fmt::format(
        "is in every release since {}: the one in the process is older, or is no "
        "genuine {}",
        release_text(rule, releases.having.front()), rule.soname);
  }
  return fmt::format("is there since {}: the one in the process is older",
                     release_text(rule, releases.having.front()));
}

}  // namespace

std::optional<Explanation> explain_library_symbol(Knowledge& knowledge, const Said& said,
                                                  const std::string& symbol) {
  std::string node = part(said, "node").empty() ? part(said, "library") : part(said, "node");
  std::size_t index = owner_index(knowledge, node, symbol);
  if (index == none) return std::nullopt;
  LibraryRule rule = knowledge.rules.libraries[index];
  if (rule.pip.empty() && rule.kind != "driver") return std::nullopt;
  if (node.find(".so") != std::string::npos) rule.soname = node;
  Releases releases = releases_of(rule, rule.soname, symbol);
  Explanation out;
  out.kind = kind_of(rule);
  Side wants = wanting_side(knowledge, said);
  std::string who = wants.what.empty() ? "The module" : std::string(base_name(wants.what));
  bool itself = asked_itself(wants, rule);
  out.forms.push_back({symbol, symbol, "", "", true});
  if (!releases.having.empty()) {
    out.forms.front().releases = release_text(rule, releases.having.front()) + " and newer";
  }
  if (rule.kind == "driver") {
    out.sentence = fmt::format("{} needs {}", who, symbol);
    add_driver_answer(releases, symbol, out);
  } else {
    out.sentence = itself ? fmt::format("{} was asked for {}, which {}", who, symbol,
                                        missing_text(rule, releases))
                          : fmt::format("{} needs {} of {}, which {}", who, symbol, rule.soname,
                                        missing_text(rule, releases));
    add_package_repairs(knowledge, rule, wants, releases, out);
  }
  Side has{"has", rule.soname, owner_of_file(knowledge, rule.soname), ""};
  if (!releases.having.empty() && !releases.lacking.empty()) {
    wants.built_for = release_text(rule, releases.having.front()) + " or newer";
    has.built_for = "older than " + release_text(rule, releases.having.front());
  }
  if (itself) wants = Side{"wants", "a program", {}, wants.built_for};
  out.sides = {std::move(wants), std::move(has)};
  out.unknown.push_back(
      fmt::format("which {} the process has loaded, and from where", rule.soname));
  return out;
}

}  // namespace wheelvet
