// What the tags and the version of a wheel promise, against what its objects are.
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "checks/alternatives.h"
#include "checks/checks.h"
#include "link/demangle.h"

namespace wheelvet {
namespace {

// The files of one package (or of a target without metadata) and what is promised of them.
struct Labelled {
  const Run& run;
  std::string owner;  // "sgl-kernel 0.3.21"
  std::string version;
  std::string name;
  std::vector<std::string> tags;
  std::vector<const SceneFile*> files;  // all that look like libraries, objects or not

  bool any_tag(auto&& fits) const {
    return std::any_of(tags.begin(), tags.end(),
                       [&](const std::string& tag) { return fits(read_tag(tag)); });
  }
  bool all_tags(auto&& fits) const {
    return !tags.empty() && !any_tag([&](TagView tag) { return !fits(tag); });
  }
};

std::vector<Labelled> labelled_packages(const Run& run) {
  std::map<std::pair<std::size_t, std::size_t>, Labelled> out;
  for (std::size_t i = 0; i < run.scene.files.size(); ++i) {
    const SceneFile& file = run.scene.files[i];
    if (!file.target) continue;
    auto [place, fresh] =
        out.try_emplace({file.input, file.package}, Labelled{run, {}, {}, {}, {}, {}});
    Labelled& package = place->second;
    if (fresh) {
      package.owner = owner_of(run, i);
      package.tags = tags_of(run, file);
      if (file.package != none) {
        package.name = run.scene.packages[file.package].facts->name;
        package.version = run.scene.packages[file.package].facts->version;
      }
    }
    package.files.push_back(&file);
  }
  std::vector<Labelled> list;
  for (auto& [key, package] : out) list.push_back(std::move(package));
  return list;
}

// A platform-independent wheel with code for one platform.
void code_in_any(const Labelled& package, FindingSet& found) {
  if (!package.all_tags([](TagView tag) { return tag.platform == "any"; })) return;
  for (const SceneFile* file : package.files) {
    if (!is_object(*file)) continue;
    bool module = is_module(*file->facts);
    Finding& finding = found.at(package.owner, "TAG-001", Severity::note);
    if (module) finding.severity = Severity::warning;
    finding.title =
        fmt::format("{} holds native code and its tag is for any platform", package.owner);
    finding.cause = "installers put it on every system and machine; the code is for one";
    finding.fix = "a wheel per platform, with the tag of each";
    add_once(finding.objects, file->facts->path);
  }
}

// "GLIBC_2.34" of all objects, as the floors that the tag should name.
std::string floors_of(const Labelled& package) {
  std::map<std::string, std::string> floors;
  for (const SceneFile* file : package.files) {
    for (const VersionNeed& need : file->facts->elf.version_needs) {
      for (const NeededVersion& version : need.versions) {
        for (std::string_view prefix : {"GLIBC", "GLIBCXX", "CXXABI"}) {
          std::string number =
              version.name.substr(std::min(prefix.size() + 1, version.name.size()));
          bool is = version.name.starts_with(std::string(prefix) + "_") && !number.empty() &&
                    number.find_first_not_of("0123456789.") == std::string::npos;
          if (!is) continue;
          std::string& floor = floors[std::string(prefix)];
          if (floor.empty() || compare_versions(floor, number) < 0) floor = number;
        }
      }
    }
  }
  std::vector<std::string> parts;
  for (const auto& [prefix, number] : floors) parts.push_back(fmt::format("{} {}", prefix, number));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void plain_linux_tag(const Labelled& package, FindingSet& found) {
  if (!package.all_tags([](TagView tag) { return tag.platform.starts_with("linux_"); })) return;
  bool archive = package.run.inputs[package.files.front()->input].kind != InputKind::folder;
  std::string floors = floors_of(package);
  if (!archive || floors.empty()) return;
  Finding& finding = found.at(package.owner, "TAG-002", Severity::note);
  finding.title = fmt::format("{} does not say how new a system it needs", package.owner);
  finding.evidence = {fmt::format("its objects need {}", floors)};
  finding.cause = "a linux_* tag is accepted by every Linux of that machine, however old";
  finding.fix = "auditwheel repair, which gives the tag that fits";
}

std::string_view machine_of_platform(std::string_view platform) {
  for (std::string_view machine : {"x86_64", "aarch64"}) {
    if (platform.ends_with(machine) && platform.find("linux") != std::string_view::npos) {
      return machine;
    }
  }
  return {};
}

std::string_view machine_of(const SceneFile& file) {
  if (!is_object(file)) return {};
  return file.facts->elf.machine == EM_AARCH64 ? "aarch64" : "x86_64";
}

std::string stem_of(const std::string& path) {
  return path.substr(0, path.find('.', path.find_last_of('/') + 1));
}

// Objects for a machine that the tags do not name. Some packages carry the libraries of several
// on purpose; a module that has no counterpart, or a wheel with nothing for its own, is a fault.
void other_machines(const Labelled& package, FindingSet& found) {
  std::set<std::string_view> promised;
  for (const std::string& tag : package.tags)
    promised.insert(machine_of_platform(read_tag(tag).platform));
  promised.erase("");
  if (promised.empty()) return;
  std::set<std::string> good;
  std::vector<const SceneFile*> foreign;
  for (const SceneFile* file : package.files) {
    bool elf_elsewhere = file->facts->kind == FileKind::other_machine ||
                         file->facts->kind == FileKind::other_class ||
                         file->facts->kind == FileKind::other_endian;
    if (promised.contains(machine_of(*file))) good.insert(stem_of(file->facts->path));
    if (elf_elsewhere || (is_object(*file) && !promised.contains(machine_of(*file)))) {
      foreign.push_back(file);
    }
  }
  for (const SceneFile* file : foreign) {
    bool module = is_module(*file->facts) && !good.contains(stem_of(file->facts->path));
    bool fails = module || good.empty();
    Finding& finding = found.at(package.owner + (fails ? "!" : ""), "TAG-003",
                                fails ? Severity::error : Severity::note);
    finding.title = fmt::format("{} holds objects for another machine than {}", package.owner,
                                fmt::join(promised, ", "));
    finding.cause = fails ? "the tag sends them to hosts whose loader does not take them"
                          : "beside those for the machine of the tag";
    finding.fix = fails ? "fetch the wheel for this machine; the maker should mend the tag"
                        : "none, where the package picks the right one";
    add_once(finding.objects, file->facts->path);
  }
}

bool needs(const SceneFile& file, std::string_view prefix) {
  const std::vector<std::string>& needed = file.facts->elf.needed;
  return is_object(file) && std::any_of(needed.begin(), needed.end(), [&](const std::string& name) {
           return name.starts_with(prefix);
         });
}

// glibc's and musl's names differ, and neither system has the other's.
void other_libc(const Labelled& package, FindingSet& found) {
  bool musl = package.all_tags([](TagView tag) { return tag.platform.starts_with("musllinux"); });
  bool glibc = package.all_tags([](TagView tag) { return tag.platform.starts_with("manylinux"); });
  if (!musl && !glibc) return;
  for (const SceneFile* file : package.files) {
    bool wrong = musl ? needs(*file, "libc.so.6") || needs(*file, "ld-linux-")
                      : needs(*file, "libc.musl-") || needs(*file, "ld-musl-");
    if (!wrong) continue;
    Finding& finding = found.at(package.owner, "TAG-004", Severity::warning);
    finding.title = fmt::format("{} is tagged for {} and holds objects for {}", package.owner,
                                musl ? "musl" : "glibc", musl ? "glibc" : "musl");
    finding.cause = "hosts of the tag do not have the C library that they need";
    finding.fix = "fetch the wheel for this kind of system; the maker should mend the tag";
    add_once(finding.objects, file->facts->path);
  }
}

// A module for one CPython under a tag that more of them accept.
void narrow_suffix(const Labelled& package, FindingSet& found) {
  bool wide = package.all_tags([](TagView tag) { return tag.abi == "abi3" || tag.abi == "none"; });
  if (!wide) return;
  std::map<std::string, std::set<std::string>> releases;  // stem -> interpreters, "" for all
  std::map<std::string, std::string> paths;
  for (const SceneFile* file : package.files) {
    if (!is_module(*file->facts)) continue;
    std::string stem = stem_of(file->facts->path);
    releases[stem].insert(interpreter_of(file->facts->path));
    paths.emplace(stem, file->facts->path);
  }
  for (const auto& [stem, interpreters] : releases) {
    // Where the interpreter of this run is another one, PY-001 says it.
    if (interpreters.contains("") || !interpreters.contains(package.run.scene.python)) continue;
    std::string list = fmt::format("{}", fmt::join(interpreters, ", "));
    // A build for each release known is a choice; one for a single release was forgotten to be
    // told.
    Finding& finding = found.at(package.owner + list, "PY-002",
                                interpreters.size() > 1 ? Severity::note : Severity::warning);
    finding.title = fmt::format("{} has modules for CPython {} only, and its tag is for more",
                                package.owner, list);
    finding.cause = fmt::format("other interpreters that accept {} do not see modules of that name",
                                fmt::join(package.tags, " "));
    finding.fix = fmt::format("run it with CPython {}", list);
    add_once(finding.objects, paths[stem]);
  }
}

void linked_interpreter(const Labelled& package, FindingSet& found) {
  for (const SceneFile* file : package.files) {
    if (!needs(*file, "libpython3.") || !is_module(*file->facts)) continue;
    Finding& finding = found.at(package.owner, "PY-003", Severity::warning);
    finding.title =
        fmt::format("modules of {} need the interpreter as a shared library", package.owner);
    finding.cause =
        "many interpreters are one executable without libpython; there the import fails, or a "
        "second interpreter is loaded";
    finding.fix = "build the modules without linking libpython";
    add_once(finding.objects, file->facts->path);
  }
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Words of a name or local version: "x-cu12" has "x" and "cu12".
std::vector<std::string> label_words(const std::string& text) {
  std::vector<std::string> out(1);
  for (char c : text) {
    bool separator = c == '-' || c == '_' || c == '.' || c == '+';
    if (separator) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

// "12" of cu12, cu128, cuda12x; empty when the word is no such label.
std::string cuda_label(std::string_view word) {
  if (word.starts_with("cuda")) {
    word.remove_prefix(4);
    if (word.ends_with('x')) word.remove_suffix(1);
  } else if (word.starts_with("cu")) {
    word.remove_prefix(2);
  }
  bool fits = all_digits(word) && (word.size() == 2 || word.size() == 3) && word[0] == '1';
  return fits ? std::string(word.substr(0, 2)) : std::string();
}

// The major release that a needed library is of, where its name tells (the names of cuRAND,
// cuSPARSE, cuSOLVER, cuFFT, cuDNN and NCCL are shared by two releases or count by themselves).
std::string cuda_of_needed(std::string_view name) {
  for (std::string_view library :
       {"libcudart.so.", "libcublas.so.", "libcublasLt.so.", "libnvrtc.so.", "libnvJitLink.so.",
        "libnppc.so.", "libnvjpeg.so."}) {
    if (!name.starts_with(library)) continue;
    std::string_view number = name.substr(library.size());
    number = number.substr(0, number.find('.'));
    return all_digits(number) ? std::string(number) : std::string();
  }
  return {};
}

void cuda_labels(const Labelled& package, FindingSet& found) {
  std::size_t plus = package.version.find('+');
  std::string local = plus == std::string::npos ? "" : package.version.substr(plus + 1);
  std::set<std::string> labels;
  bool for_cpu = false;
  for (const std::string& text : {package.name, local}) {
    for (const std::string& word : label_words(text)) {
      if (std::string label = cuda_label(word); !label.empty()) labels.insert(label);
      for_cpu = for_cpu || (&text != &package.name && word == "cpu");
    }
  }
  if (labels.empty() && !for_cpu) return;
  std::map<std::string, std::vector<std::string>> needed;  // release -> objects
  for (const SceneFile* file : package.files) {
    if (!is_object(*file)) continue;
    for (const std::string& name : file->facts->elf.needed) {
      std::string release = cuda_of_needed(name);
      if (!release.empty())
        add_few(needed[release], fmt::format("{} needs {}", file->facts->path, name));
    }
  }
  bool kept = std::any_of(labels.begin(), labels.end(),
                          [&](const std::string& label) { return needed.contains(label); });
  if (needed.empty() || kept) return;
  Finding& finding = found.at(package.owner, "TAG-005", Severity::warning);
  finding.title =
      for_cpu && labels.empty()
          ? fmt::format("{} is labelled for CPUs and needs CUDA libraries", package.owner)
          : fmt::format("{} is labelled for CUDA {} and needs libraries of CUDA {}", package.owner,
                        fmt::join(labels, ", "), needed.begin()->first);
  for (const auto& [release, objects] : needed) {
    for (const std::string& line : objects) {
      if (finding.evidence.size() < 20) finding.evidence.push_back(line);
    }
  }
  finding.cause = "name or version say what the objects do not";
  finding.fix = "choose the build by what it needs; the maker should mend the label";
}

// What the imports of torch's C++ symbols say of std::string: 'n' new, 'o' old spelling, else 0.
char string_abi_of(std::string_view symbol) {
  bool torch = false;
  int seen = 0;
  each_identifier(symbol, [&](std::string_view word) {
    torch = word == "c10" || word == "at" || word == "torch";
    return !torch && ++seen < 1;
  });
  if (!torch) return 0;
  if (symbol.find("NSt7__cxx1112basic_string") != std::string_view::npos) return 'n';
  if (symbol.find("Ss") == std::string_view::npos) return 0;  // may stand in an identifier
  std::string readable = demangled(symbol);
  bool spelled = readable.find("std::string") != std::string::npos ||
                 readable.find("std::basic_string<") != std::string::npos;
  return spelled && readable.find("std::string_view") == std::string::npos ? 'o' : char{0};
}

void string_abi_label(const Labelled& package, FindingSet& found) {
  bool says_new = package.version.find("cxx11abiTRUE") != std::string::npos ||
                  package.version.find("cxx11abitrue") != std::string::npos;
  bool says_old = package.version.find("cxx11abiFALSE") != std::string::npos ||
                  package.version.find("cxx11abifalse") != std::string::npos;
  if (says_new == says_old) return;
  std::string example;
  for (const SceneFile* file : package.files) {
    if (!is_object(*file)) continue;
    const SymbolTable& symbols = file->facts->elf.symbols;
    for (std::size_t i = 1; i < symbols.count; ++i) {
      if (!symbols.undefined(i) || symbols.relocations[i] == used_by_none) continue;
      char abi = string_abi_of(symbols.name(i));
      if (abi == (says_new ? 'n' : 'o')) return;  // as labelled
      if (abi != 0 && example.empty()) example = symbols.name(i);
    }
  }
  if (example.empty()) return;
  Finding& finding = found.at(package.owner, "TAG-006", Severity::warning);
  finding.title = fmt::format("{} is labelled for the {} string ABI and uses the other one",
                              package.owner, says_new ? "new" : "old");
  finding.evidence = {fmt::format("imports {}", example)};
  finding.cause = "the label cxx11abi in its version is not what the objects were built with";
  finding.fix = "choose the build by what it imports; the maker should mend the label";
}

// "torch2.8" in a version, against the torch that is beside it.
void torch_label(const Labelled& package, FindingSet& found) {
  std::size_t at = package.version.find("torch");
  if (at == std::string::npos) return;
  std::string label = package.version.substr(at + 5);
  label = label.substr(0, label.find_first_not_of("0123456789."));
  if (label.find('.') == std::string::npos) return;
  for (const ScenePackage& other : package.run.scene.packages) {
    if (other.replaced || normalised_name(other.facts->name) != "torch") continue;
    std::string version = other.facts->version;
    if (version == label || version.starts_with(label + ".")) continue;
    Finding& finding = found.at(package.owner, "TAG-007", Severity::warning);
    finding.title = fmt::format("{} is labelled for torch {}, and torch {} is beside it",
                                package.owner, label, version);
    finding.cause =
        "layouts may differ where every symbol is found: what was built for one release of torch "
        "is not known to run with another";
    finding.fix = fmt::format("a build labelled for torch {}, or torch {}", version, label);
  }
}

}  // namespace

std::vector<Finding> check_labels(const Run& run) {
  FindingSet found;
  for (const Labelled& package : labelled_packages(run)) {
    code_in_any(package, found);
    plain_linux_tag(package, found);
    other_machines(package, found);
    other_libc(package, found);
    narrow_suffix(package, found);
    linked_interpreter(package, found);
    cuda_labels(package, found);
    string_abi_label(package, found);
    torch_label(package, found);
  }
  return found.take();
}

}  // namespace wheelvet
