// Messages in which a program compares releases itself, or names an operator or variant.
#include <fmt/format.h>

#include <algorithm>

#include "explain/families.h"
#include "facts/metadata.h"

namespace wheelvet {
namespace {

// "8.7.0" of "8, 7, 0".
std::string dotted(std::string text) {
  std::string out;
  for (char c : text) {
    if (c == ',') c = '.';
    if (c != ' ') out += c;
  }
  return out;
}

// "2.10" of "2.10.0+cu128".
std::string minor_release(const std::string& version) {
  std::size_t dot = version.find('.');
  std::size_t next = dot == std::string::npos ? dot : version.find('.', dot + 1);
  return version.substr(0, std::min(next, version.find('+')));
}

// The releases of torch that a release of a package belongs to.
std::string torch_of(const Knowledge& knowledge, std::string_view package,
                     const std::string& version) {
  for (const ReleasePair& rule : knowledge.explain.pairs) {
    if (rule.package != package) continue;
    for (const auto& [release, with] : rule.releases) {
      if (release == minor_release(version)) return with;
    }
  }
  return {};
}

void add_data(const Said& said, const Parts& parts, Explanation& out) {
  for (const MessageFix& fix : said.rule->fixes) {
    std::optional<std::string> say = filled(fix.say, parts), run = filled(fix.run, parts);
    if (!say) continue;
    out.repairs.push_back({filled(fix.side, parts).value_or(fix.side), *say, run.value_or("")});
  }
  for (const std::string& show : said.rule->shows) {
    if (std::optional<std::string> text = filled(show, parts)) out.shows.push_back(*text);
  }
  for (const std::string& unknown : said.rule->unknown) {
    if (std::optional<std::string> text = filled(unknown, parts)) out.unknown.push_back(*text);
  }
}

}  // namespace

std::optional<Explanation> explain_plain(Knowledge& knowledge, const Said& said) {
  Explanation out;
  out.kind = said.rule->kind;
  out.hidden = said.rule->hides;
  Side wants = wanting_side(knowledge, said);
  Parts parts = said.parts;
  std::string file = part(said, "file");
  parts.emplace("name", file.empty() ? "the library" : std::string(base_name(file)));
  if (file.empty()) parts["file"] = "FILE";
  parts.emplace("package", wants.owner.name.empty() ? "PACKAGE" : wants.owner.name);
  for (const auto& [name, release] : knowledge.packages) parts.emplace(name, release);
  out.sentence = filled(said.rule->say, parts).value_or(said.rule->say);
  add_data(said, parts, out);
  Side has{"has", filled(said.rule->has, parts).value_or(""), {}, ""};
  std::string what = filled(said.rule->wants, parts).value_or("");
  if (wants.what.empty()) {
    wants.what = what;
  } else {
    wants.built_for = what;
  }
  if (!wants.what.empty()) out.sides.push_back(std::move(wants));
  if (!has.what.empty()) out.sides.push_back(std::move(has));
  return out;
}

std::optional<Explanation> explain_versions(Knowledge& knowledge, const Said& said) {
  Explanation out;
  out.kind = said.rule->kind;
  std::string wanted = dotted(part(said, "wanted")), found = dotted(part(said, "found"));
  std::string library = part(said, "library"), soname;
  for (const LibraryRule& rule : knowledge.rules.libraries) {
    bool release = rule.soname == library + ".so." + std::string(major_of(wanted));
    if (release) soname = rule.soname;
  }
  if (soname.empty()) soname = library + ".so." + std::string(major_of(wanted));
  FileOwner owner = owner_of_file(knowledge, soname);
  Side wants = wanting_side(knowledge, said);
  std::string who = wants.owner.name.empty() ? "The program" : wants.owner.name;
  out.sentence = fmt::format("{} was compiled with {} {}, and {} {} is the one that is loaded", who,
                             library, wanted, library, found);
  bool older = compare_versions(found, wanted) < 0;
  std::string package = owner.name.empty() ? library : owner.name;
  std::string major(major_of(wanted));
  out.repairs.push_back(
      {package, fmt::format("{} {} {}", library, older ? "at least" : "of release", wanted),
       fmt::format("pip install '{}>={},<{}'", package, wanted, leading_number(major) + 1)});
  out.repairs.push_back(
      {"configuration",
       fmt::format("an older {} comes first on the loader's path: take its folder out "
                   "of LD_LIBRARY_PATH",
                   soname),
       "env -u LD_LIBRARY_PATH python ..."});
  out.shows = {fmt::format("LD_DEBUG=libs python ... 2>&1 | grep {}", soname)};
  wants.what = who;
  wants.built_for = library + " " + wanted;
  owner.version = found;
  out.sides = {std::move(wants), Side{"has", soname, owner, library + " " + found}};
  return out;
}

std::optional<Explanation> explain_pair(Knowledge& knowledge, const Said& said) {
  Explanation out;
  out.kind = said.rule->kind;
  std::string package = part(said, "package"), found = part(said, "found");
  std::string version = part(said, "version"), built = part(said, "built");
  std::string with = built.empty() ? torch_of(knowledge, package, version) : built;
  out.sentence = filled(said.rule->say, said.parts).value_or(said.rule->say);
  if (!with.empty() && built.empty()) {
    out.sentence += fmt::format("; {} {} belongs to torch {}", package, version, with);
  }
  std::string paired = paired_release(knowledge, package, found);
  out.repairs.push_back({package,
                         fmt::format("the {} that was built for torch {}{}", package, found,
                                     paired.empty() ? "" : ": " + paired),
                         fmt::format("pip install --upgrade '{}{}'", package,
                                     paired.empty() ? "" : "==" + paired + ".*")});
  std::string label = with.empty() ? "" : with.substr(0, with.find('+'));
  bool minor_only = label.find('.') == label.rfind('.');
  bool same_release = compare_versions(label, found) == 0;
  std::string torch = label.empty() ? "pip install --upgrade torch"
                      : same_release
                          ? fmt::format("pip install --force-reinstall 'torch=={}'", label)
                          : fmt::format("pip install 'torch=={}{}'", label, minor_only ? ".*" : "");
  out.repairs.push_back(
      {"torch",
       fmt::format("or the torch that it was built for{}{}", with.empty() ? "" : ": ", with),
       torch});
  out.sides = {Side{"wants",
                    package,
                    {"pip package", package, version},
                    with.empty() ? "another torch" : "torch " + with},
               Side{"has", "torch", {"pip package", "torch", found}, "torch " + found}};
  if (with.empty()) {
    out.unknown.push_back(fmt::format("which torch {} {} was built for", package, version));
  }
  return out;
}

std::optional<Explanation> explain_operator(Knowledge& knowledge, const Said& said) {
  std::string library = part(said, "library"), op = part(said, "operator");
  Explanation out;
  out.kind = "op-registration/silent-abi";
  FileOwner owner = owner_of_file(knowledge, library + "/x");
  std::string name = owner.name.empty() ? library : owner.name;
  std::string torch = installed_release(knowledge, "torch");
  std::string installed = installed_release(knowledge, name);
  out.hidden = true;
  out.sentence = fmt::format(
      "torch knows no operator {}::{}: the compiled part of {} was not loaded, or failed to load "
      "without "
      "a word; the loader's own message is hidden",
      library, op, name);
  std::string belongs = torch_of(knowledge, name, installed);
  if (!belongs.empty() && !torch.empty() && minor_release(torch) != belongs) {
    out.sentence += fmt::format("; {} {} belongs to torch {}, and torch {} is installed", name,
                                installed, belongs, torch);
  }
  std::string paired = torch.empty() ? "" : paired_release(knowledge, name, torch);
  out.repairs.push_back({name,
                         fmt::format("the {} made for the installed torch{}", name,
                                     paired.empty() ? "" : ": " + paired),
                         paired.empty() ? fmt::format("pip install --upgrade torch {}", name)
                                        : fmt::format("pip install '{}=={}.*'", name, paired)});
  if (!belongs.empty()) {
    out.repairs.push_back({"torch",
                           fmt::format("or the torch that {} {} belongs to", name, installed),
                           fmt::format("pip install 'torch=={}.*'", belongs)});
  }
  out.shows = {
      fmt::format("python -c 'import torch, glob, sysconfig, ctypes; [ctypes.CDLL(f) for f in "
                  "glob.glob(sysconfig.get_path(\"purelib\") + \"/{}/*.so\")]'",
                  library)};
  Side wants{"wants", library + "::" + op, owner, belongs.empty() ? "" : "torch " + belongs};
  out.sides = {
      std::move(wants),
      Side{"has", "torch", {"pip package", "torch", torch}, torch.empty() ? "" : "torch " + torch}};
  if (torch.empty()) out.unknown.emplace_back("which torch is in the process (--env PREFIX)");
  return out;
}

// bitsandbytes has a library per CUDA release: "libbitsandbytes_cuda116.so".
std::optional<Explanation> explain_variant(Knowledge& knowledge, const Said& said) {
  std::string library = part(said, "library"), package = part(said, "package");
  std::size_t at = library.find("_cuda");
  std::string digits = at == std::string::npos ? "" : library.substr(at + 5, 3);
  bool numbers = digits.size() == 3 && std::all_of(digits.begin(), digits.end(),
                                                   [](char c) { return c >= '0' && c <= '9'; });
  std::string cuda = numbers ? digits.substr(0, 2) + "." + digits.substr(2) : "";
  Explanation out;
  out.kind = "missing-library";
  out.sentence = fmt::format(
      "{} has a library per CUDA release and looks for {}{}; the wheel has none of "
      "that name",
      package, library, cuda.empty() ? "" : ", CUDA " + cuda + "'s");
  std::string release = installed_release(knowledge, package);
  out.repairs.push_back({package,
                         fmt::format("a release of {} with a library for {}", package,
                                     cuda.empty() ? "this CUDA" : "CUDA " + cuda),
                         fmt::format("pip install --upgrade {}", package)});
  out.repairs.push_back(
      {"torch", "or a torch for one of the CUDA releases that it has libraries for", ""});
  out.shows = {fmt::format("pip show -f {} | grep '\\.so'", package),
               fmt::format("python -m {}", package)};
  out.sides = {
      Side{"wants", library, {"pip package", package, release}, cuda.empty() ? "" : "CUDA " + cuda},
      Side{"has", "the wheel's own files", {"pip package", package, release}, "without it"}};
  return out;
}

}  // namespace wheelvet
