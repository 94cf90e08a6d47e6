// Versions of glibc and libstdc++ that the system lacks, as a version node or as a name.
#include <fmt/format.h>

#include <algorithm>

#include "explain/families.h"
#include "facts/metadata.h"
#include "link/demangle.h"

namespace wheelvet {
namespace {

const NodeRule* node_rule(const Knowledge& knowledge, std::string_view node) {
  for (const NodeRule& rule : knowledge.explain.nodes) {
    if (rule.node == node) return &rule;
  }
  return nullptr;
}

// The oldest distributions whose glibc or GCC runtime suffices: "Ubuntu 22.04, Debian 12".
std::string distributions(const Knowledge& knowledge, std::string_view release, bool glibc) {
  std::string out;
  int shown = 0;
  for (const DistroRule& rule : knowledge.explain.distributions) {
    if (compare_versions(glibc ? rule.glibc : rule.gcc, release) < 0 || shown == 4) continue;
    out += (out.empty() ? "" : ", ") + rule.name;
    ++shown;
  }
  return out;
}

void add_glibc_repairs(const Knowledge& knowledge, const Side& wants, std::string_view release,
                       Explanation& out) {
  std::string name = wants.owner.name.empty() ? "the package" : wants.owner.name;
  std::string tag(release);
  std::replace(tag.begin(), tag.end(), '.', '_');
  std::string command;
  if (!wants.owner.name.empty() && !is_off_index(wants.owner)) {
    command = fmt::format("pip install --upgrade --only-binary :all: {}", name);
  } else if (!wants.owner.name.empty()) {
    command = fmt::format("pip install --no-build-isolation --no-binary {} {}", name, name);
  }
  out.repairs.push_back({name,
                         fmt::format("a wheel of {} for an older glibc (a manylinux tag below {}), "
                                     "or build it on this system",
                                     name, tag),
                         command});
  std::string systems = distributions(knowledge, release, true);
  out.repairs.push_back({"glibc",
                         fmt::format("a system with glibc {} or newer{}{}; glibc itself cannot be "
                                     "exchanged inside one",
                                     release, systems.empty() ? "" : ": ", systems),
                         ""});
  out.shows = {"ldd --version | head -1"};
}

void add_runtime_repairs(const Knowledge& knowledge, std::string_view library, const NodeRule* rule,
                         Explanation& out) {
  std::string gcc = rule ? rule->gcc : "";
  FileOwner owner = owner_of_file(knowledge, library);
  std::string newest = gcc.empty() ? "" : "=" + gcc;
  if (owner.kind == "conda") {
    out.repairs.push_back(
        {"libstdcxx-ng",
         fmt::format("conda's libstdc++ of GCC {} or newer, in that environment", gcc),
         fmt::format("conda install -c conda-forge 'libstdcxx-ng>={}'", gcc)});
  } else {
    std::string systems = distributions(knowledge, gcc, false);
    out.repairs.push_back({"libstdc++",
                           fmt::format("a newer libstdc++.so.6, of GCC {} or newer{}{}; in a conda "
                                       "environment its own, found first",
                                       gcc, systems.empty() ? "" : ": ", systems),
                           fmt::format("conda install -c conda-forge 'libstdcxx-ng>={}'", gcc)});
  }
  out.repairs.push_back(
      {"configuration",
       "a newer copy that lies elsewhere (conda's lib folder, or the system's) has "
       "to be the first that is loaded",
       "LD_PRELOAD=\"$CONDA_PREFIX/lib/libstdc++.so.6\" python ..."});
  std::string file =
      library.find('/') != std::string_view::npos ? std::string(library) : "libstdc++.so.6";
  out.shows = {fmt::format("strings {} | grep -E '^(GLIBCXX|CXXABI)_' | sort -V | tail -3", file)};
}

}  // namespace

std::optional<Explanation> explain_floor(Knowledge& knowledge, const Said& said) {
  std::string library = part(said, "library"), node = part(said, "node");
  std::size_t under = node.find('_');
  std::string family = node.substr(0, under);
  bool glibc = family == "GLIBC", runtime = family == "GLIBCXX" || family == "CXXABI";
  Explanation out;
  out.kind = "symbol-version-floor";
  Side wants = wanting_side(knowledge, said);
  std::string who = wants.what.empty() ? "A library" : std::string(base_name(wants.what));
  std::string release = under == std::string::npos ? node : node.substr(under + 1);
  Side has{"has", library, owner_of_file(knowledge, library), ""};
  if (glibc) {
    out.sentence =
        fmt::format("{} was linked on a system with glibc {}; this one's is older", who, release);
    wants.built_for = "glibc " + release + " or newer";
    has.built_for = "an older glibc";
    add_glibc_repairs(knowledge, wants, release, out);
  } else if (runtime) {
    const NodeRule* rule = node_rule(knowledge, node);
    std::string gcc = rule ? " (of GCC " + rule->gcc + ")" : "";
    out.sentence = fmt::format("{} needs {}{}; {}, the libstdc++ that is loaded, is older", who,
                               node, gcc, library);
    wants.built_for = rule ? "libstdc++ of GCC " + rule->gcc + " or newer" : node;
    has.built_for = "an older libstdc++";
    add_runtime_repairs(knowledge, library, rule, out);
    if (!rule) out.unknown.push_back("which GCC release brought " + node);
  } else {
    out.sentence = fmt::format(
        "{} needs version {} of {}, which the one that is loaded does not "
        "define: it is of another release",
        who, node, library);
    std::string name = has.owner.name;
    if (!name.empty()) {
      bool pip = has.owner.kind == "pip package";
      out.repairs.push_back({name, fmt::format("the release of {} that defines {}", name, node),
                             pip ? fmt::format("pip install --upgrade {}", name) : ""});
    }
    out.shows = {fmt::format("readelf -V {} | grep {}", library, node)};
  }
  out.sides = {std::move(wants), std::move(has)};
  return out;
}

std::optional<Explanation> explain_standard_symbol(Knowledge& knowledge, const Said& said,
                                                   const std::string& symbol) {
  const ExportTable* table = export_table("libstdcxx");
  std::string node(table_value("versions/libstdcxx.txt", symbol));
  bool known = !node.empty() || (table && table->names.contains(symbol));
  Explanation out;
  out.kind = "compiler-mangling/libstdc++-symbol";
  Side wants = wanting_side(knowledge, said);
  std::string who = wants.what.empty() ? "The module" : std::string(base_name(wants.what));
  const NodeRule* rule = node_rule(knowledge, node);
  std::string readable = demangled(symbol);
  std::string gcc = rule ? " of GCC " + rule->gcc + " and newer" : "";
  out.forms.push_back({symbol, readable, node, "", true});
  if (!known) {
    out.sentence = fmt::format(
        "{} needs {}, a name of the C++ library that no libstdc++ up to GCC 16 "
        "exports: it was built with another compiler or library",
        who, readable);
  } else {
    out.sentence = fmt::format(
        "{} needs {}, which libstdc++{} exports{}; the libstdc++ in the process is older, or the "
        "file "
        "was linked without it (no version in the message), against a library that had a copy of "
        "the "
        "name",
        who, readable, gcc, node.empty() ? "" : " as " + node);
  }
  add_runtime_repairs(knowledge, "libstdc++.so.6", rule, out);
  std::string name = wants.owner.name.empty() ? "the package" : wants.owner.name;
  out.repairs.push_back(
      {name,
       fmt::format("or a build of {} that is linked with libstdc++ (g++, not ld; "
                   "-lstdc++fs for std::filesystem before GCC 9), beside the torch "
                   "it was built with",
                   name),
       ""});
  wants.built_for = rule ? "libstdc++ of GCC " + rule->gcc + " or newer" : "";
  out.sides = {std::move(wants),
               Side{"has", "libstdc++.so.6", owner_of_file(knowledge, "libstdc++.so.6"), ""}};
  out.unknown.emplace_back("which libstdc++ is loaded");
  return out;
}

}  // namespace wheelvet
