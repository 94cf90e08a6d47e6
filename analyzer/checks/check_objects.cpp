// Objects that load on some hosts only, or that look for libraries where they should not.
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>

#include "checks/checks.h"
#include "link/search_path.h"

namespace wheelvet {
namespace {

// A finding about the objects of one package, and one of them.
Finding& add(FindingSet& found, const std::string& owner, const SceneFile& file,
             const std::string& id, Severity severity) {
  Finding& finding = found.at(owner, id, severity);
  add_once(finding.objects, file.facts->path);
  return finding;
}

// Without PT_GNU_STACK the stack is executable on x86-64 and not on aarch64 (glibc stackinfo.h).
void executable_stack(const SceneFile& file, const std::string& owner, FindingSet& found) {
  const ElfFacts& elf = file.facts->elf;
  bool wanted = elf.stack_flags ? (*elf.stack_flags & PF_X) != 0 : elf.machine == EM_X86_64;
  if (!wanted) return;
  Finding& finding = add(found, owner, file, "OBJ-001", Severity::warning);
  finding.title = fmt::format("{} has objects that ask for an executable stack", owner);
  finding.cause =
      "glibc 2.41 and newer refuse to make the stack executable for dlopen: 'cannot enable "
      "executable stack as shared object requires'";
  finding.fix = "link with -z noexecstack; patchelf --clear-execstack on the file";
}

void writable_code(const SceneFile& file, const std::string& owner, FindingSet& found) {
  const ElfFacts& elf = file.facts->elf;
  if (elf.writable_code) {
    Finding& finding = add(found, owner, file, "OBJ-002", Severity::warning);
    finding.title = fmt::format("{} has objects with segments both writable and executable", owner);
    finding.cause = "hosts with SELinux or PaX in force may refuse to map them";
    finding.fix = "link without -N and -z separate-code off";
  }
  if (elf.text_relocations) {
    Finding& finding = add(found, owner, file, "OBJ-003", Severity::warning);
    finding.title = fmt::format("{} has objects with text relocations", owner);
    finding.cause = "the loader must write into code; SELinux (execmod) and PaX refuse it";
    finding.fix = "compile every part with -fPIC";
  }
}

bool any_user_may_write(std::string_view folder) {
  for (std::string_view open : {"/tmp", "/var/tmp", "/dev/shm"}) {
    if (folder == open || folder.starts_with(std::string(open) + "/")) return true;
  }
  return false;
}

void check_folder(const SceneFile& file, const std::string& owner, std::string_view folder,
                  FindingSet& found) {
  std::string line = fmt::format("{}: {}", file.facts->path,
                                 folder.empty() ? std::string_view("(empty)") : folder);
  if (folder.starts_with("/")) {
    bool open = any_user_may_write(folder);
    Finding& finding = add(found, owner + (open ? "!" : ""), file, "OBJ-004",
                           open ? Severity::warning : Severity::note);
    finding.title =
        fmt::format("{} looks for libraries in folders of the machine that built it", owner);
    finding.cause = open ? "every user of a host may put a library there, which is then loaded"
                         : "if the host has such a folder, its libraries are taken first";
    finding.fix = "build with an RPATH of $ORIGIN only";
    add_few(finding.evidence, line);
    return;
  }
  bool from_origin = folder.starts_with("$ORIGIN") || folder.starts_with("${ORIGIN}");
  if (!from_origin) {
    Finding& finding = add(found, owner, file, "OBJ-005", Severity::note);
    finding.title = fmt::format("{} looks for libraries relative to the current folder", owner);
    finding.cause = "what is loaded depends on where the program was started";
    finding.fix = "build with an RPATH of $ORIGIN only";
    add_few(finding.evidence, line);
    return;
  }
  std::string_view rest = folder.substr(folder.find("ORIGIN") + 6);
  if (rest.starts_with("}")) rest.remove_prefix(1);
  if (file.package == none || file.facts->path.starts_with("../")) return;  // no site-packages
  std::string path = join_path(folder_of(file.facts->path), rest.substr(rest.starts_with("/")));
  if (!path.starts_with("..")) return;
  Finding& finding = add(found, owner, file, "OBJ-006", Severity::note);
  finding.title = fmt::format("{} looks for libraries outside site-packages", owner);
  finding.cause = "a conda prefix or a system has libraries there that no wheel brought";
  finding.fix = "none, where the package supports such installations";
  add_few(finding.evidence, line);
}

void search_paths(const SceneFile& file, const std::string& owner, FindingSet& found) {
  for (const auto& list : {file.facts->elf.rpath, file.facts->elf.runpath}) {
    if (!list || list->empty()) continue;  // an empty list as a whole is ignored by the loader
    std::string_view rest = *list;
    for (;;) {  // an empty element is the current folder (glibc elf/dl-load.c, fillin_rpath)
      std::size_t colon = rest.find(':');
      check_folder(file, owner, rest.substr(0, colon), found);
      if (colon == std::string_view::npos) break;
      rest.remove_prefix(colon + 1);
    }
  }
}

// Strong definitions of libstdc++'s own functions: a copy linked statically and not hidden, which
// other libraries of the process may bind to.
FileMemory::Runtime find_runtime(const ElfFacts& elf) {
  FileMemory::Runtime out;
  const ExportTable* runtime = export_table("libstdcxx");
  const SymbolTable& symbols = elf.symbols;
  if (!runtime || elf.soname.starts_with("libstdc++")) return out;
  for (std::size_t i = 1; i < symbols.count; ++i) {
    if (symbols.undefined(i)) continue;
    std::string_view name = symbols.name(i);
    if (!name.starts_with("_ZNS") && !name.starts_with("_ZNKS")) continue;  // members of std
    if (symbols.at(i).binding != STB_GLOBAL || !runtime->names.contains(name)) continue;
    if (++out.count == 1) out.example = name;
  }
  return out;
}

void exported_runtime(const Run& run, const SceneFile& file, const std::string& owner,
                      FindingSet& found) {
  constexpr std::size_t few = 10;  // operators new and delete are replaced on purpose
  if (file.facts->known) return;   // no names of its own, and not there for long
  FileMemory own;
  FileMemory& memory = run.memory ? *run.memory : own;
  auto [known, fresh] = memory.runtimes.try_emplace(file.facts);
  if (fresh) known->second = find_runtime(file.facts->elf);
  const auto& [count, example] = known->second;
  if (count < few) return;
  Finding& finding = add(found, owner, file, "OBJ-007", Severity::note);
  finding.title = fmt::format("{} exports a copy of libstdc++", owner);
  finding.evidence.push_back(
      fmt::format("{}: {} symbols, such as {}", file.facts->path, count, example));
  finding.cause = "linked statically and not hidden: two copies in one process may mix";
  finding.fix = "link with -Wl,--exclude-libs,ALL, or against the shared library";
}

}  // namespace

namespace {

// The level that an object asks its processor for; the loader refuses it on a lower one.
void processor_level(const SceneFile& file, const std::string& owner, FindingSet& found) {
  int level = 0;
  for (std::uint32_t bits = file.facts->elf.isa_needed; bits != 0; bits >>= 1) ++level;
  if (level < 2) return;  // 1 is the baseline
  Finding& finding = add(found, owner, file, "OBJ-008", Severity::warning);
  finding.title =
      fmt::format("{} needs a processor of level x86-64-v{}", owner, std::min(level, 4));
  finding.cause = "no platform tag says so: on an older processor the import fails";
  finding.fix = "build it without -z x86-64-v*, or run it on such processors only";
}

}  // namespace

std::vector<Finding> check_objects(const Run& run) {
  FindingSet found;
  for (std::size_t i = 0; i < run.scene.files.size(); ++i) {
    const SceneFile& file = run.scene.files[i];
    if (!file.target || !is_object(file)) continue;
    std::string owner = owner_of(run, i);
    executable_stack(file, owner, found);
    writable_code(file, owner, found);
    search_paths(file, owner, found);
    exported_runtime(run, file, owner, found);
    processor_level(file, owner, found);
  }
  return found.take();
}

}  // namespace wheelvet
