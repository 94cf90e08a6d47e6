// Objects that the loader finds, maps and then does not take.
#include <elf.h>

#include "link/process.h"

namespace wheelvet {
namespace {

// glibc elf/dl-load.c, open_verify: VALID_ELF_OSABI, VALID_ELF_ABIVERSION with LIBC_ABI_MAX, which
// has been 4 since 2.36 (libc-abis: ABSOLUTE, then GNU_INDIRECT_FUNCTION, UNIQUE and RELR).
constexpr std::uint8_t newest_abi_version = 4;

// Only objects that want versions of libc are asked (glibc elf/dl-version.c).
bool packed_without_version(const ElfFacts& elf) {
  if (!elf.packed_relative) return false;
  bool of_libc = false;
  for (const VersionNeed& need : elf.version_needs) {
    of_libc = of_libc || need.file.starts_with("libc.so.");
    for (const NeededVersion& version : need.versions) {
      if (version.name == "GLIBC_ABI_DT_RELR") return false;
    }
  }
  return of_libc;
}

bool wants_executable_stack(const ElfFacts& elf) {
  // Without PT_GNU_STACK the stack is executable where the architecture says so (glibc
  // DEFAULT_STACK_PERMS, sysdeps/*/stackinfo.h).
  if (!elf.stack_flags) return elf.machine == EM_X86_64;
  return (*elf.stack_flags & PF_X) != 0;
}

}  // namespace

std::string refusal_of(const Scene& scene, const ElfFacts& elf, bool opened) {
  if (!elf.rejection.empty()) return elf.rejection;
  bool gnu = elf.osabi == ELFOSABI_GNU;
  if (elf.osabi != ELFOSABI_SYSV && !gnu) return "ELF file OS ABI invalid";
  if (elf.abi_version != 0 && !(gnu && elf.abi_version < newest_abi_version)) {
    return "ELF file ABI version invalid";
  }
  if (elf.type != ET_DYN && elf.type != ET_EXEC) return "only ET_DYN and ET_EXEC can be loaded";
  if (elf.type == ET_EXEC) return "cannot dynamically load executable";
  if (elf.flags_1 & DF_1_PIE) return "cannot dynamically load position-independent executable";
  if (opened && (elf.flags_1 & DF_1_NOOPEN)) return "shared object cannot be dlopen()ed";
  const std::string& glibc = scene.machine->glibc;
  if (glibc.empty()) return {};
  // From 2.33 (glibc sysdeps/x86/dl-prop.h, dl_isa_level_check).
  std::uint32_t have = (1u << scene.machine->isa_level) - 1;
  if (have != 0 && (elf.isa_needed & ~have) != 0 && compare_versions(glibc, "2.33") >= 0) {
    return "CPU ISA level is lower than required";
  }
  // What follows depends on the release (NEWS of 2.36 and 2.41).
  if (packed_without_version(elf) && compare_versions(glibc, "2.36") >= 0) {
    return "DT_RELR without GLIBC_ABI_DT_RELR dependency";
  }
  if (opened && wants_executable_stack(elf) && compare_versions(glibc, "2.41") >= 0) {
    return "cannot enable executable stack as shared object requires: Invalid argument";
  }
  return {};
}

}  // namespace wheelvet
