#include "checks/cuda_closure.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "checks/alternatives.h"
#include "facts/dlopen_note.h"
#include "facts/metadata.h"
#include "link/lookup.h"
#include "link/search_path.h"
#include "rules/cuda_rules.h"

namespace wheelvet {
namespace {

const LibraryRule* rule_for(const Run& run, std::string_view soname) {
  std::size_t index = library_of(*run.scene.rules, soname);
  return index == none ? nullptr : &run.scene.rules->libraries[index];
}

bool of_cuda(const LibraryRule* rule) {
  return rule && (rule->kind == "cuda" || rule->kind == "nccl" || rule->kind == "driver");
}

// "10.4.0.35" of libcurand.so.10.4.0.35; what has no dot tells no more than the soname.
std::string version_in_name(std::string_view name) {
  std::size_t at = name.find(".so.");
  if (at == std::string_view::npos) return {};
  std::string_view version = name.substr(at + 4);
  bool number = version.find_first_not_of("0123456789.") == std::string_view::npos;
  return number && version.find('.') != std::string_view::npos ? std::string(version)
                                                               : std::string();
}

std::string unrenamed(const Run& run, std::size_t file, const std::string& name) {
  std::size_t package = run.scene.files[file].package;
  std::string owner = package == none ? "" : run.scene.packages[package].facts->name;
  std::string before = bundled_from(name, owner);
  if (!before.empty()) return before;
  // "libcudart.41118559.so.12": torch's own repair puts the hash behind a dot.
  std::size_t end = name.find(".so"), dot = name.find('.');
  if (dot == std::string::npos || end == std::string::npos || end != dot + 9) return name;
  bool hash = name.substr(dot + 1, 8).find_first_not_of("0123456789abcdef") == std::string::npos;
  return hash ? name.substr(0, dot) + name.substr(end) : name;
}

class Closure {
 public:
  explicit Closure(const Run& run) : run_(run) {}

  void add_root(const RootView& view) {
    for (std::size_t index : view.objects) {
      add_object(view, view.object(index));
      add_opened(view, index);
    }
  }

  std::vector<CudaLibrary> take() {
    std::vector<CudaLibrary> out;
    for (auto& [key, library] : libraries_) out.push_back(std::move(library));
    return out;
  }

 private:
  CudaLibrary& at(const RootView& view, const std::string& soname, const std::string& how,
                  const std::string& path) {
    CudaLibrary& library = libraries_[soname + "\n" + how + "\n" + path];
    library.soname = soname;
    library.how = how;
    library.path = path;
    add_once(library.roots, view.path);
    return library;
  }

  // The table is long, and every process asks for the same names.
  const LibraryRule* rule_of(const std::string& soname) {
    auto [known, fresh] = rules_.try_emplace(soname);
    if (fresh) known->second = rule_for(run_, soname);
    return known->second;
  }

  void describe_file(CudaLibrary& library, std::size_t file) const {
    library.owner = cuda_owner_of(run_, file);
    library.version = version_of(run_, file);
    library.major = cuda_major_of(run_, file);
  }

  // What is known without a file: its owner by the tables, and where it lies unreachable.
  void describe_name(CudaLibrary& library, const LibraryRule& rule, bool assumed) const {
    std::vector<std::string> majors = cuda_majors(rule);
    if (majors.size() == 1) library.major = majors.front();
    library.state = assumed ? "assumed" : "missing";
    if (rule.kind == "driver") {
      library.owner = "NVIDIA driver";
    } else if (const Declared* declared = declared_for(run_, library.soname)) {
      library.owner = declared->name;
    }
    if (assumed) return;
    auto there = run_.scene.by_name.find(library.soname);
    if (there != run_.scene.by_name.end()) {
      library.state = "unreachable";
      library.path = run_.scene.files[there->second].facts->path;
      describe_file(library, there->second);
    } else if (const ToolkitFolder* toolkit = toolkit_with(*run_.scene.machine, library.soname)) {
      library.state = "unreachable";
      library.path = toolkit->path + "/" + library.soname;
      library.owner = fmt::format("CUDA toolkit {}", toolkit->release);
      library.version = version_in_name(toolkit->files.at(library.soname));
      if (library.major.empty())
        library.major = toolkit->release.substr(0, toolkit->release.find('.'));
    }
  }

  void add_object(const RootView& view, const PlannedObject& object) {
    std::string soname = known_name(run_, object);
    const LibraryRule* rule = rule_of(soname);
    const ElfFacts* elf = elf_of(run_.scene, object);
    if (elf && !soname.starts_with("libcudart.so") && gives_out_runtime(object.file, *elf)) {
      CudaLibrary& linked = at(view, "libcudart", "linked statically", object.name);
      linked.kind = "cuda";
      linked.state = "found";
      describe_file(linked, object.file);
    }
    if (!of_cuda(rule)) return;
    CudaLibrary& library =
        at(view, soname, "needed", object.file == none ? object.from_path : object.name);
    if (!library.state.empty()) return;  // another root's, described already
    library.kind = rule->kind;
    if (object.file != none) {
      library.state = "found";
      describe_file(library, object.file);
    } else {
      describe_name(library, *rule, object.found != Found::absent);
    }
    if (const Declared* declared = declared_for(run_, soname)) library.declared_by = declared->by;
  }

  // cudart's own functions, given out by something that is not cudart: they were linked in, and
  // what linked them in did not hide them. Hidden ones leave no trace in the loader's tables.
  bool gives_out_runtime(std::size_t file, const ElfFacts& elf) {
    auto [known, fresh] = gives_out_runtime_.try_emplace(file);
    if (fresh) {
      LookupName launch("cudaLaunchKernel");
      VersionNames versions(elf);
      known->second = find_definition(elf, versions, launch, std::nullopt).has_value();
    }
    return known->second;
  }

  void add_opened(const RootView& view, std::size_t index) {
    const ElfFacts* elf = elf_of(run_.scene, view.object(index));
    if (!elf) return;
    for (const DlopenRule& rule : run_.scene.rules->dlopens) {
      if (!matches(rule.by, elf->soname)) continue;
      for (const std::string& name : rule.opens) add_name(view, index, name);
    }
    for (const std::string& text : elf->dlopen_notes) {
      for (const DlopenWish& wish : read_dlopen_note(text)) {
        for (const std::string& name : wish.sonames) add_name(view, index, name);
      }
    }
  }

  void add_name(const RootView& view, std::size_t opener, const std::string& pattern) {
    std::string name = pattern;
    for (const auto& [known, file] : run_.scene.by_name) {
      if (name.find('*') != std::string::npos && matches(pattern, known)) name = known;
    }
    const LibraryRule* rule = rule_of(name);
    if (!of_cuda(rule)) return;
    CudaLibrary& library = at(view, name, "opened", {});
    library.kind = rule->kind;
    Found found = found_by(run_.scene, view.root->link.plan, opener, name);
    bool assumed = found == Found::declared || found == Found::driver || found == Found::system;
    describe_name(library, *rule, assumed);
    if (found != Found::absent && !assumed) library.state = "found";
    if (const Declared* declared = declared_for(run_, name)) library.declared_by = declared->by;
  }

  const Run& run_;
  std::map<std::string, CudaLibrary> libraries_;
  std::map<std::size_t, bool> gives_out_runtime_;
  std::map<std::string, const LibraryRule*> rules_;
};

// "12" of libcudart.so.12, "11" of libcudart.so.11.0; else of another library whose soname tells.
std::string runtime_of(const Run& run, const ElfFacts& elf) {
  std::string major;
  for (const std::string& name : elf.needed) {
    constexpr std::string_view runtime = "libcudart.so.";
    if (name.starts_with(runtime)) {
      std::string_view number = std::string_view(name).substr(runtime.size());
      return std::string(number.substr(0, number.find('.')));
    }
    const LibraryRule* rule = rule_for(run, name);
    std::vector<std::string> majors = rule ? cuda_majors(*rule) : std::vector<std::string>();
    if (majors.size() == 1 && rule->kind == "cuda") major = majors.front();
  }
  return major;
}

// Strong imports whose names begin so and stand in a table.
template <class Known>
std::vector<std::string> imports_of(const ElfFacts& elf, std::string_view prefix, Known&& known) {
  std::vector<std::string> out;
  for (std::size_t i = 1; i < elf.symbols.count; ++i) {
    if (!elf.symbols.undefined(i)) continue;
    std::string_view name = elf.symbols.name(i);
    if (!name.starts_with(prefix) || !known(name)) continue;
    Symbol symbol = elf.symbols.at(i);
    if (symbol.binding != STB_WEAK && symbol.relocations != used_by_none) out.emplace_back(name);
  }
  return out;
}

// The driver that a module asks for: of the runtime's major, or of what it calls of the driver.
void add_driver(const ElfFacts& elf, CudaModule& module) {
  const auto& functions = driver_rules().functions;
  std::vector<std::string> names =
      imports_of(elf, "cu", [&](std::string_view name) { return functions.contains(name); });
  std::string newest;
  for (const std::string& name : names) {
    std::string release(functions.at(name));
    int order = newest.empty() ? 1 : compare_versions(release, newest);
    if (order > 0) {
      newest = release;
      module.driver_functions.clear();
    }
    if (order >= 0) module.driver_functions.push_back(name);
  }
  module.driver = driver_of_major(module.runtime);
  if (!module.driver.empty()) module.because = fmt::format("CUDA {}", module.runtime);
  std::string wanted = newest.empty() ? std::string() : driver_of_release(newest);
  if (compare_versions(wanted, module.driver) <= 0) {
    module.driver_functions.clear();
    return;
  }
  module.driver = wanted;
  module.because =
      fmt::format("{} came with CUDA {}", fmt::join(module.driver_functions, ", "), newest);
}

void add_nccl(const ElfFacts& elf, CudaModule& module) {
  const ExportTable* table = export_table("nccl");
  std::vector<std::string> names = imports_of(
      elf, "nccl", [&](std::string_view name) { return table && table->names.contains(name); });
  if (names.empty()) return;
  module.nccl = nccl_releases(names).first;
  for (const std::string& name : names) {
    if (nccl_releases({name}).first == module.nccl) module.nccl_functions.push_back(name);
  }
  // The table's oldest release is where it begins, not where those functions came in.
  if (!table->columns.empty() && module.nccl == table->columns.front()) {
    module.nccl.clear();
    module.nccl_functions.clear();
  }
}

std::vector<CudaModule> modules_of(const Run& run) {
  std::vector<CudaModule> out;
  for (const SceneFile& file : run.scene.files) {
    if (!file.target || !is_object(file)) continue;
    const ElfFacts& elf = file.facts->elf;
    CudaModule module;
    module.path = file.facts->path;
    module.runtime = runtime_of(run, elf);
    add_driver(elf, module);
    add_nccl(elf, module);
    bool asks = !module.runtime.empty() || !module.driver.empty() || !module.nccl.empty();
    if (asks) out.push_back(std::move(module));
  }
  std::sort(out.begin(), out.end(),
            [](const CudaModule& a, const CudaModule& b) { return a.path < b.path; });
  return out;
}

void raise(CudaReport& report, const std::string& driver, const std::string& because) {
  if (compare_versions(driver, report.driver) <= 0) return;
  report.driver = driver;
  report.driver_because = because;
}

}  // namespace

std::string known_name(const Run& run, std::size_t file) {
  const FileFacts& facts = *run.scene.files[file].facts;
  std::string name =
      facts.elf.soname.empty() ? std::string(base_name(facts.path)) : facts.elf.soname;
  return unrenamed(run, file, name);
}

std::string known_name(const Run& run, const PlannedObject& object) {
  return object.file == none ? std::string(base_name(object.name)) : known_name(run, object.file);
}

const ToolkitFolder* toolkit_of(const Machine& machine, const std::string& path) {
  for (const ToolkitFolder& toolkit : machine.toolkits) {
    // One toolkit has several names for its folder: lib, lib64, targets/x86_64-linux/lib.
    std::string home = fmt::format("/cuda-{}/", toolkit.release);
    bool inside = !toolkit.release.empty() && path.find(home) != std::string::npos;
    if (inside || folder_of(path) == toolkit.path) return &toolkit;
  }
  return nullptr;
}

std::string version_of(const Run& run, std::size_t file) {
  const FileFacts& facts = *run.scene.files[file].facts;
  std::string name(base_name(facts.path));
  if (const ToolkitFolder* toolkit = toolkit_of(*run.scene.machine, facts.path)) {
    auto real = toolkit->files.find(name);
    if (real != toolkit->files.end()) name = real->second;
  }
  std::string version = version_in_name(name);
  if (!version.empty()) return version;
  if (!facts.release.empty()) return facts.release.substr(0, facts.release.find('+'));
  std::size_t package = run.scene.files[file].package;
  const LibraryRule* rule = rule_for(run, known_name(run, file));
  if (package == none || !rule) return {};
  const PackageFacts& owner = *run.scene.packages[package].facts;
  bool ships =
      std::find(rule->pip.begin(), rule->pip.end(), normalised_name(owner.name)) != rule->pip.end();
  return ships ? owner.version : std::string();
}

std::string cuda_major_of(const Run& run, std::size_t file) {
  std::string name = known_name(run, file);
  const LibraryRule* rule = rule_for(run, name);
  std::vector<std::string> majors = rule ? cuda_majors(*rule) : std::vector<std::string>();
  if (majors.size() == 1) return majors.front();
  std::string major = major_by_version(name, version_of(run, file));
  if (!major.empty()) return major;
  const FileFacts& facts = *run.scene.files[file].facts;
  std::size_t built = facts.release.find("+cuda");
  if (built != std::string::npos) {
    std::string release = facts.release.substr(built + 5);
    return release.substr(0, release.find('.'));
  }
  std::size_t package = run.scene.files[file].package;
  if (package != none) {
    major = cuda_major_of_package(normalised_name(run.scene.packages[package].facts->name));
    if (!major.empty()) return major;
  }
  const ToolkitFolder* toolkit = toolkit_of(*run.scene.machine, facts.path);
  return toolkit ? toolkit->release.substr(0, toolkit->release.find('.')) : std::string();
}

std::string cuda_owner_of(const Run& run, std::size_t file) {
  const SceneFile& of = run.scene.files[file];
  if (const ToolkitFolder* toolkit = toolkit_of(*run.scene.machine, of.facts->path)) {
    return fmt::format("CUDA toolkit {}", toolkit->release);
  }
  return owner_of(run, file);
}

const Declared* declared_for(const Run& run, const std::string& soname) {
  const LibraryRule* rule = rule_for(run, soname);
  return rule ? who_declares(run.scene.declared, *rule) : nullptr;
}

CudaReport cuda_closure(const Run& run, const std::vector<RootView>& roots) {
  CudaReport out;
  Closure closure(run);
  for (const RootView& view : roots) closure.add_root(view);
  out.libraries = closure.take();
  out.modules = modules_of(run);
  // Of files that differ only in a version in their path a package takes the one that fits.
  std::map<std::string, const CudaModule*> lowest;
  for (const CudaModule& module : out.modules) {
    auto [known, fresh] = lowest.emplace(without_variant(module.path), &module);
    bool lower = compare_versions(module.driver, known->second->driver) < 0;
    if (!fresh && lower) known->second = &module;
  }
  for (const auto& [path, module] : lowest) {
    raise(out, module->driver, fmt::format("{}: {}", module->path, module->because));
  }
  for (const CudaLibrary& library : out.libraries) {
    bool runtime = library.soname.starts_with("libcudart.so") && library.how == "needed";
    bool always = std::any_of(library.roots.begin(), library.roots.end(),
                              [](const auto& root) { return without_variant(root) == root; });
    if (!runtime || !always) continue;
    raise(out, driver_of_major(library.major), fmt::format("CUDA {}", library.major));
  }
  return out;
}

}  // namespace wheelvet
