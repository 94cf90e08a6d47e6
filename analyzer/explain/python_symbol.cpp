// A name of the CPython interpreter, and file names that another interpreter looks for.
#include <fmt/format.h>

#include "explain/families.h"
#include "facts/metadata.h"

namespace wheelvet {
namespace {

// "3.6 to 3.12" of the columns that have the name.
std::string column_range(const ExportTable& table, std::uint32_t bits) {
  std::string out;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if ((bits >> i & 1u) == 0) continue;
    std::size_t last = i;
    while (last + 1 < table.columns.size() && (bits >> (last + 1) & 1u) != 0) ++last;
    if (!out.empty()) out += ", ";
    out += table.columns[i];
    if (last > i) out += " to " + table.columns[last];
    i = last;
  }
  return out;
}

// "3.10" of "x.cpython-310-x86_64-linux-gnu.so"; empty for abi3 and plain names.
std::string tag_of(std::string_view file) {
  constexpr std::string_view word = ".cpython-3";
  std::size_t at = file.find(word);
  if (at == std::string_view::npos) return {};
  std::string_view rest = file.substr(at + word.size());
  std::size_t end = 0;
  while (end < rest.size() && rest[end] >= '0' && rest[end] <= '9') ++end;
  bool threaded = end < rest.size() && rest[end] == 't';
  return "3." + std::string(rest.substr(0, end)) + (threaded ? "t" : "");
}

std::string patch_release(const Knowledge& knowledge, const std::string& symbol) {
  for (const SymbolRule& rule : knowledge.explain.symbols) {
    if (rule.owner != "CPython") continue;
    for (const std::string& name : rule.names) {
      if (name == symbol) return rule.since;
    }
  }
  return {};
}

}  // namespace

std::optional<Explanation> explain_python_symbol(Knowledge& knowledge, const Said& said,
                                                 const std::string& symbol) {
  Explanation out;
  out.kind = "python-abi/tag";
  Side wants = wanting_side(knowledge, said);
  std::string who = wants.what.empty() ? "The module" : std::string(base_name(wants.what));
  const ExportTable* table = export_table("python");
  auto row = table ? table->names.find(symbol) : decltype(table->names.end()){};
  bool known = table && row != table->names.end();
  std::string range = known ? column_range(*table, row->second) : "";
  bool in_all = known && (~row->second & ((1u << table->columns.size()) - 1)) == 0;
  std::string patch = patch_release(knowledge, symbol);
  std::string built = tag_of(wants.what);
  out.forms.push_back({symbol, symbol, range.empty() ? "" : "CPython " + range, "", true});
  if (!patch.empty()) {
    out.sentence =
        fmt::format("{} needs {}, which CPython has since {}{}: the interpreter is {}", who, symbol,
                    patch, in_all ? "" : " (and no longer in its newest releases)",
                    in_all ? "an older patch release of the same tag" : "older or newer than that");
    out.repairs.push_back(
        {"CPython", "a Python of " + patch + " or newer, of the same minor release", ""});
  } else if (!known) {
    out.sentence =
        fmt::format("{} needs {}, which no CPython from {} to {} exports", who, symbol,
                    table ? table->columns.front() : "", table ? table->columns.back() : "");
  } else if (in_all) {
    out.sentence = fmt::format(
        "{} needs {}, which every CPython exports: the process is no Python, "
        "or one that hides its names",
        who, symbol);
  } else {
    out.sentence = fmt::format(
        "{} needs {}, which only CPython {} exports: the interpreter is "
        "another minor release",
        who, symbol, range);
    out.repairs.push_back({"CPython", fmt::format("Python {}", built.empty() ? range : built), ""});
  }
  std::string name = wants.owner.name.empty() ? "the package" : wants.owner.name;
  out.repairs.push_back(
      {name, fmt::format("a build of {} for this Python", name),
       wants.owner.name.empty()
           ? ""
           : fmt::format("pip install --force-reinstall --only-binary :all: {}", name)});
  wants.built_for = built.empty()
                        ? (patch.empty() ? "CPython " + range : "CPython " + patch + " or newer")
                        : "CPython " + built;
  out.sides = {std::move(wants),
               Side{"has", "the interpreter", {"interpreter", "CPython", ""}, "another CPython"}};
  out.shows = {"python -c 'import sys; print(sys.version, sys.executable)'"};
  out.unknown.emplace_back("which interpreter it was");
  return out;
}

std::optional<Explanation> explain_module(Knowledge& knowledge, const Said& said) {
  std::string module = part(said, "module");
  std::size_t dot = module.find('.');
  std::string_view last = std::string_view(module).substr(module.rfind('.') + 1);
  // A whole package that is missing needs no explanation of ours; a native part of one does.
  bool native = dot != std::string::npos && (last.starts_with("_") || last.ends_with("_C"));
  if (!native) return std::nullopt;
  std::string package = owner_of_file(knowledge, module.substr(0, dot) + "/x").name;
  Explanation out;
  out.kind = "python-abi/tag";
  out.sentence = fmt::format(
      "Python finds no file for the native module {}: it is for another Python (its name carries "
      "another cpython-3XX suffix), or the package was installed without its compiled part",
      module);
  out.sides = {Side{"wants", module, {"pip package", package, ""}, ""},
               Side{"has", "the interpreter", {"interpreter", "CPython", ""}, ""}};
  out.shows = {
      fmt::format("python -c 'import importlib.machinery as m; print(m.EXTENSION_SUFFIXES)'"),
      fmt::format("pip show -f {} | grep '\\.so'", package)};
  out.repairs = {{package, fmt::format("a wheel of {} for this Python", package),
                  fmt::format("pip install --force-reinstall --only-binary :all: {}", package)}};
  out.unknown.emplace_back("whether its file is there under another suffix (--env PREFIX)");
  return out;
}

}  // namespace wheelvet
