// CUDA's libraries: of which release, where they lie, and why they are not found.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "checks/checks.h"
#include "checks/cuda_closure.h"
#include "facts/metadata.h"
#include "link/search_path.h"
#include "rules/cuda_rules.h"

namespace wheelvet {
namespace {

const LibraryRule* cuda_rule(const Run& run, const std::string& soname) {
  std::size_t index = library_of(*run.scene.rules, soname);
  if (index == none) return nullptr;
  const LibraryRule& rule = run.scene.rules->libraries[index];
  return rule.kind == "cuda" || rule.kind == "nccl" ? &rule : nullptr;
}

// A root's load asks for a library in vain.
struct Asked {
  const RootView* view = nullptr;
  const PlannedObject* object = nullptr;
};
using Missing = std::map<std::string, std::vector<Asked>>;

Missing missing_libraries(const Run& run, const std::vector<RootView>& roots) {
  Missing out;
  for (const RootView& view : roots) {
    for (std::size_t index : view.objects) {
      const PlannedObject& object = view.object(index);
      bool absent = object.found == Found::absent && object.file == none;
      if (absent && cuda_rule(run, object.name)) out[object.name].push_back({&view, &object});
    }
  }
  return out;
}

// The library that a LIB-001 is about; empty for another finding. Titles begin with the name.
std::string missing_name(const Finding& finding, const Missing& missing) {
  if (finding.id != "LIB-001") return {};
  std::string name = finding.title.substr(0, finding.title.find(' '));
  return missing.contains(name) ? name : std::string();
}

// True when a pip package would put the library where the search has looked: "site-packages" stands
// before what is below it in the inputs' own terms only.
std::string package_that_serves(const LibraryRule& rule, const std::vector<Asked>& asked) {
  for (const Asked& each : asked) {
    bool looked = std::any_of(rule.path.begin(), rule.path.end(), [&](const std::string& folder) {
      const std::vector<std::string>& places = each.object->looked_in;
      return std::find(places.begin(), places.end(), folder) != places.end();
    });
    if (!looked) return {};
  }
  return rule.pip.empty() ? std::string() : rule.pip.front();
}

// "13-0" of "/usr/local/cuda-13.0/lib64": a file name for the line.
std::string conf_name(const Remedy& remedy) {
  std::string release = remedy.release.empty() ? "toolkit" : remedy.release;
  std::replace(release.begin(), release.end(), '.', '-');
  return fmt::format("/etc/ld.so.conf.d/cuda-{}.conf", release);
}

void note_remedy(const Run& run, const Remedy& remedy, const std::string& name,
                 const std::vector<Asked>& asked, Finding& finding) {
  const LibraryRule& rule = *cuda_rule(run, name);
  std::string package = package_that_serves(rule, asked);
  std::string path = fmt::format("{}/{}", remedy.folder, name);
  if (remedy.toolkit) {
    finding.id = "CUDA-002";
    finding.title =
        fmt::format("{} is there in a CUDA toolkit, where the loader does not look", name);
    add_once(finding.evidence, fmt::format("there is {}", path));
    finding.cause = fmt::format(
        "no RPATH or RUNPATH names {}, and no line of /etc/ld.so.conf.d puts it in the cache",
        remedy.folder);
    finding.fix = fmt::format("the line {} in {}, then ldconfig", remedy.folder, conf_name(remedy));
    if (!package.empty()) finding.fix += fmt::format("; or pip install {}", package);
  } else {
    finding.fix = fmt::format("import first what opens it, or LD_LIBRARY_PATH={}", remedy.folder);
  }
  std::size_t mended = 0;
  for (const std::string& root : finding.roots) mended += remedy.mended.contains(root);
  finding.fix_verified = mended == finding.roots.size();
  add_once(finding.evidence, fmt::format("with it {} of {} load", mended, finding.roots.size()));
}

void note_remedies(const Run& run, const Missing& missing, std::vector<Finding>& findings) {
  for (Finding& finding : findings) {
    std::string name = missing_name(finding, missing);
    for (const Remedy& remedy : run.remedies) {
      if (!name.empty() && remedy.libraries.contains(name)) {
        note_remedy(run, remedy, name, missing.at(name), finding);
      }
    }
  }
}

// What is there of CUDA, by major: from files, from packages, and from what is declared and may
// still come.
std::map<std::string, std::set<std::string>> majors_there(const Run& run) {
  std::map<std::string, std::set<std::string>> out;
  for (std::size_t i = 0; i < run.scene.files.size(); ++i) {
    const FileFacts& facts = *run.scene.files[i].facts;
    if (!is_object(run.scene.files[i]) || facts.path.find("/stubs/") != std::string::npos) continue;
    // By the name of the file: no search finds a bundled copy under a name of its own, whatever
    // DT_SONAME it kept.
    const LibraryRule* rule = cuda_rule(run, std::string(base_name(facts.path)));
    if (!rule) continue;
    std::vector<std::string> majors = cuda_majors(*rule);
    if (majors.size() == 1) out[majors.front()].insert(cuda_owner_of(run, i));
  }
  for (const auto& [name, declared] : run.scene.declared) {
    std::string major = cuda_major_of_package(name);
    bool suffix = name.rfind("-cu") != std::string::npos;
    if (declared.settled || major.empty()) continue;
    for (const LibraryRule& rule : run.scene.rules->libraries) {
      std::vector<std::string> majors = cuda_majors(rule);
      bool ships = std::find(rule.pip.begin(), rule.pip.end(), name) != rule.pip.end();
      if (ships && (suffix || majors.size() == 1)) out[major].insert(name);
    }
  }
  return out;
}

// What one finding says in place of one per library.
struct Folded {
  Finding finding;
  std::set<std::string> names;
};

// Takes the findings about some libraries out of the list. What is left of them is one per key.
std::map<std::string, Folded> fold(const std::set<std::string>& names, const Missing& missing,
                                   const std::function<std::string(const RootView&)>& key_of,
                                   std::vector<Finding>& findings) {
  std::set<std::pair<std::string, std::string>> told;  // name and root
  std::erase_if(findings, [&](const Finding& finding) {
    std::string name = missing_name(finding, missing);
    for (const std::string& root : finding.roots) told.emplace(name, root);
    return names.contains(name);
  });
  std::map<std::string, Folded> out;
  for (const std::string& name : names) {
    std::map<std::string, std::vector<std::string>> needed_by;
    for (const Asked& asked : missing.at(name)) {
      if (!told.contains({name, asked.view->path})) continue;
      std::string key = key_of(*asked.view);
      Folded& folded = out[key];
      folded.finding.severity = Severity::error;
      folded.names.insert(name);
      add_once(folded.finding.roots, asked.view->path);
      if (asked.object->requested_by == none) continue;
      const std::string& requester = asked.view->object(asked.object->requested_by).name;
      add_once(folded.finding.objects, requester);
      add_once(needed_by[key], requester);
    }
    for (const auto& [key, objects] : needed_by) {
      add_once(out[key].finding.evidence,
               fmt::format("{}: needed by {}", name, fmt::join(objects, ", ")));
    }
  }
  return out;
}

// The names that still have a LIB-001 of their own.
std::set<std::string> names_left(const Missing& missing, const std::vector<Finding>& findings) {
  std::set<std::string> out;
  for (const Finding& finding : findings) {
    std::string name = missing_name(finding, missing);
    if (!name.empty()) out.insert(name);
  }
  return out;
}

// Packages of a major that ship libraries, for one pip command.
std::string packages_for(const Run& run, const std::set<std::string>& names,
                         const std::string& major) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    for (const std::string& package : cuda_rule(run, name)->pip) {
      if (cuda_major_of_package(package) != major) continue;
      add_once(out, package);
      break;
    }
  }
  return fmt::format("{}", fmt::join(out, " "));
}

using Majors = std::map<std::string, std::set<std::string>>;

void describe_clash(const Run& run, const std::string& major, const Majors& there, Folded& folded) {
  Finding& out = folded.finding;
  out.id = "CUDA-001";
  std::vector<std::string> others;
  for (const auto& [other, owners] : there) {
    others.push_back(other);
    add_once(out.evidence, fmt::format("CUDA {} is there: {}", other, *owners.rbegin()));
  }
  out.title = fmt::format("built for CUDA {}, and only CUDA {} is there", major,
                          fmt::join(others, " and "));
  bool one = folded.names.size() == 1;
  out.cause = fmt::format(
      "{} {} nowhere among the inputs or on the machine, and no package here declares {}",
      one ? *folded.names.begin()
          : fmt::format("{} libraries of CUDA {}", folded.names.size(), major),
      one ? "is" : "are", one ? "it" : "them");
  out.fix = fmt::format("a build for CUDA {}; or pip install {} beside", fmt::join(others, " or "),
                        packages_for(run, folded.names, major));
}

// Built for one major where another one is: one answer for all its libraries.
void fold_clash(const Run& run, const Missing& missing, std::vector<Finding>& findings) {
  Majors there = majors_there(run);
  std::map<std::string, std::set<std::string>> lacking;  // major -> names
  for (const std::string& name : names_left(missing, findings)) {
    std::vector<std::string> majors = cuda_majors(*cuda_rule(run, name));
    if (majors.size() == 1 && !there.contains(majors.front())) lacking[majors.front()].insert(name);
  }
  for (auto& [major, names] : lacking) {
    if (there.empty()) return;
    // Names that tell no major, when a root that lacks others of this one lacks them.
    std::set<const RootView*> views;
    for (const std::string& name : names) {
      for (const Asked& asked : missing.at(name)) views.insert(asked.view);
    }
    for (const std::string& name : names_left(missing, findings)) {
      bool shared = cuda_majors(*cuda_rule(run, name)).size() > 1;
      const std::vector<Asked>& list = missing.at(name);
      bool same = std::all_of(list.begin(), list.end(),
                              [&](const Asked& asked) { return views.contains(asked.view); });
      if (shared && same) names.insert(name);
    }
    // Per package of the roots: what one lacks is not the other's fault.
    auto owner = [&](const RootView& view) { return owner_of(run, view.root->file); };
    for (auto& [package, folded] : fold(names, missing, owner, findings)) {
      describe_clash(run, major, there, folded);
      findings.push_back(std::move(folded.finding));
    }
  }
}

// "nvidia-cublas-cu12==12.8.4.1" as the package that declares it pins it.
std::string pinned(const Declared& declared) {
  if (declared.pinned.empty()) return declared.name;
  return fmt::format("{}=={}", declared.name, declared.pinned);
}

// Declared by an installed package, and not there: one answer per package that declares them.
void fold_undelivered(const Run& run, const Missing& missing, std::vector<Finding>& findings) {
  std::map<std::string, std::set<std::string>> by;  // "torch 2.9.1" -> names
  for (const std::string& name : names_left(missing, findings)) {
    const Declared* declared = declared_for(run, name);
    if (declared && declared->settled && !run.scene.by_name.contains(name))
      by[declared->by].insert(name);
  }
  for (const auto& [package, names] : by) {
    if (names.size() < 2) continue;
    auto all = [](const RootView&) { return std::string(); };
    Finding out = std::move(fold(names, missing, all, findings).begin()->second.finding);
    out.id = "CUDA-003";
    out.title = fmt::format("{} libraries of packages that {} requires are not there", names.size(),
                            package);
    out.cause = fmt::format("{} declares the packages and they are not installed", package);
    std::vector<std::string> pins;
    for (const std::string& name : names) add_once(pins, pinned(*declared_for(run, name)));
    out.fix = fmt::format("pip install {}", fmt::join(pins, " "));
    findings.push_back(std::move(out));
  }
}

// A soname that two majors share, there in both.
struct Copy {
  std::size_t file = none;
  std::string major;
};

// True for a further name of a file that is among the copies.
bool same_copy(const Run& run, const std::vector<Copy>& copies, std::size_t file) {
  const FileFacts& facts = *run.scene.files[file].facts;
  return std::any_of(copies.begin(), copies.end(), [&](const Copy& copy) {
    const FileFacts& other = *run.scene.files[copy.file].facts;
    return facts.inode != 0 && facts.inode == other.inode && facts.device == other.device;
  });
}

std::map<std::string, std::vector<Copy>> shared_copies(const Run& run) {
  std::map<std::string, std::vector<Copy>> out;
  for (const SharedSoname& shared : cuda_rules().shared) {
    std::vector<Copy> copies;
    std::set<std::string> majors;
    for (std::size_t i = 0; i < run.scene.files.size(); ++i) {
      if (!is_object(run.scene.files[i]) || known_name(run, i) != shared.soname) continue;
      if (same_copy(run, copies, i)) continue;
      copies.push_back({i, cuda_major_of(run, i)});
      if (!copies.back().major.empty()) majors.insert(copies.back().major);
    }
    if (majors.size() > 1) out.emplace(shared.soname, std::move(copies));
  }
  return out;
}

// The major of the CUDA runtime in a root's process; empty for none, and for two.
std::string runtime_in(const Run& run, const RootView& view) {
  std::set<std::string> majors;
  for (std::size_t index : view.objects) {
    std::string name = known_name(run, view.object(index));
    if (!name.starts_with("libcudart.so.")) continue;
    std::string number = name.substr(name.find(".so.") + 4);
    majors.insert(number.substr(0, number.find('.')));
  }
  return majors.size() == 1 ? *majors.begin() : std::string();
}

std::size_t imports_missing_of(const Run& run, const RootView& view, const std::string& soname) {
  const LibraryRule* rule = cuda_rule(run, soname);
  return static_cast<std::size_t>(
      std::count_if(view.unbound.begin(), view.unbound.end(), [&](const Binding* binding) {
        const ElfFacts* elf = elf_of(run.scene, view.object(binding->object));
        std::string_view name = elf->symbols.name(binding->symbol);
        return binding->outcome == Outcome::missing &&
               std::any_of(rule->prefixes.begin(), rule->prefixes.end(),
                           [&](const std::string& prefix) { return name.starts_with(prefix); });
      }));
}

std::string describe(const Run& run, const Copy& copy) {
  const std::string version = version_of(run, copy.file);
  return fmt::format("{} ({}{}{})", run.scene.files[copy.file].facts->path,
                     cuda_owner_of(run, copy.file),
                     version.empty() ? "" : fmt::format(", file version {}", version),
                     copy.major.empty() ? "" : fmt::format(", CUDA {}", copy.major));
}

void shared_soname(const Run& run, const std::vector<RootView>& roots, const std::string& soname,
                   const std::vector<Copy>& copies, FindingSet& found) {
  for (const RootView& view : roots) {
    for (std::size_t index : view.objects) {
      const PlannedObject& object = view.object(index);
      if (object.file == none || index == view.root->root) continue;  // opened for itself
      auto taken = std::find_if(copies.begin(), copies.end(), [&](const Copy& copy) {
        return copy.file == object.file || same_copy(run, {copy}, object.file);
      });
      if (taken == copies.end()) continue;
      std::string runtime = runtime_in(run, view);
      bool mixed = !runtime.empty() && !taken->major.empty() && runtime != taken->major;
      Finding& finding = found.at(fmt::format("{}\n{}\n{}", soname, taken->file, mixed), "CUDA-004",
                                  mixed ? Severity::warning : Severity::note);
      finding.title =
          fmt::format("{} is there {} times, of more than one CUDA; the one taken is of CUDA {}",
                      soname, copies.size(), taken->major.empty() ? "?" : taken->major);
      add_once(finding.evidence, "taken: " + describe(run, *taken));
      for (const Copy& copy : copies) {
        if (copy.file != taken->file)
          add_once(finding.evidence, "not taken: " + describe(run, copy));
      }
      std::size_t lacking = imports_missing_of(run, view, soname);
      add_once(finding.evidence, lacking == 0
                                     ? "every import of it is found"
                                     : fmt::format("{} imports of it are missing", lacking));
      finding.cause = mixed ? fmt::format(
                                  "the CUDA runtime of these processes is of CUDA {}; the "
                                  "soname does not tell the two apart",
                                  runtime)
                            : "the soname does not tell them apart: the first one found is taken";
      finding.fix =
          mixed ? fmt::format("uninstall the other copy, or put that of CUDA {} first", runtime)
                : "none, where it is the one meant";
      add_once(finding.objects, object.name);
      add_once(finding.roots, view.path);
    }
  }
}

// The toolkit's libcuda.so has the driver's soname and no driver in it: it is for linking alone.
void stub_driver(const Run& run, const RootView& view, FindingSet& found) {
  for (std::size_t index : view.objects) {
    const PlannedObject& object = view.object(index);
    const ElfFacts* elf = elf_of(run.scene, object);
    bool stub = elf && object.name.find("/stubs/") != std::string::npos &&
                (elf->soname == "libcuda.so.1" || elf->soname == "libnvidia-ml.so.1");
    if (!stub) continue;
    Finding& finding = found.at(object.name, "CUDA-005", Severity::error);
    finding.title = fmt::format("{} is the toolkit's stub, not the driver", object.name);
    finding.cause = "every call into it fails (error 34, cudaErrorStubLibrary)";
    finding.fix = "take the stubs folder out of LD_LIBRARY_PATH, ld.so.conf.d or the RPATH";
    add_once(finding.objects, object.name);
    add_once(finding.roots, view.path);
  }
}

}  // namespace

void explain_cuda_libraries(const Run& run, const std::vector<RootView>& roots,
                            std::vector<Finding>& findings) {
  Missing missing = missing_libraries(run, roots);
  if (missing.empty()) return;
  note_remedies(run, missing, findings);
  fold_undelivered(run, missing, findings);
  fold_clash(run, missing, findings);
}

std::vector<Finding> check_cuda(const Run& run, const std::vector<RootView>& roots) {
  FindingSet found;
  for (const auto& [soname, copies] : shared_copies(run)) {
    shared_soname(run, roots, soname, copies, found);
  }
  for (const RootView& view : roots) stub_driver(run, view, found);
  return found.take();
}

}  // namespace wheelvet
