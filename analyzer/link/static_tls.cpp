// Room for modules that are opened later in the block of thread-local storage that every thread is
// made with. A reference by R_X86_64_TPOFF64 or its like wants the module that defines the variable
// there; whether DF_STATIC_TLS is set has no say.
#include <elf.h>

#include <algorithm>
#include <cstring>

#include "link/process.h"

namespace wheelvet {
namespace {

// What is kept free at the start: (4 - 1) * 192 for other namespaces' libc, 4 * 144 for other
// libraries, 512 for descriptors (glibc elf/dl-tls.c, _dl_tls_static_surplus_init; releases before
// 2.32 came to the same number in another way).
constexpr std::uint64_t surplus = 1664;
// TLS_TCB_ALIGN of x86-64.
constexpr std::uint64_t block_alignment = 64;

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

struct Block {
  std::uint64_t size = 0;
  std::uint64_t alignment = 1;
  std::uint64_t shift = 0;  // of the first byte from an aligned address
};

Block block_of(const ElfFacts& elf) {
  Block block{elf.tls_size, std::max<std::uint64_t>(elf.tls_alignment, 1), 0};
  for (std::size_t at = 0; at + sizeof(Elf64_Phdr) <= elf.program_headers.size();
       at += sizeof(Elf64_Phdr)) {
    Elf64_Phdr header;
    std::memcpy(&header, elf.program_headers.data() + at, sizeof header);
    if (header.p_type == PT_TLS) block.shift = header.p_vaddr % block.alignment;
  }
  return block;
}

// The blocks of what is there at the start lie one below the other; a gap that an alignment leaves
// is filled by a later one that fits (glibc elf/dl-tls.c, _dl_determine_tlsoffset).
struct Layout {
  std::uint64_t offset = 0, gap_top = 0, gap_bottom = 0, alignment = block_alignment;

  void add(const Block& block) {
    alignment = std::max(alignment, block.alignment);
    std::uint64_t first = (block.alignment - block.shift) % block.alignment;
    if (gap_bottom - gap_top >= block.size) {
      std::uint64_t at = round_up(gap_top + block.size - first, block.alignment) + first;
      if (at <= gap_bottom) {
        gap_top = at;
        return;
      }
    }
    std::uint64_t at = round_up(offset + block.size - first, block.alignment) + first;
    if (at > offset + block.size + (gap_bottom - gap_top)) {
      gap_top = offset;
      gap_bottom = at - block.size;
    }
    offset = at;
  }
};

}  // namespace

StaticTls start_static_tls(const Scene& scene, const LoadPlan& plan) {
  Layout layout;
  StaticTls out;
  bool known = !plan.loads.empty() && is_start(plan, plan.loads.front());
  for (std::size_t i = 0; known && i < plan.objects.size(); ++i) {
    if (plan.objects[i].load != 0) continue;
    const ElfFacts* elf = elf_of(scene, plan.objects[i]);
    if (elf && elf->tls_size != 0) layout.add(block_of(*elf));
    out.objects.push_back(i);
  }
  out.alignment = layout.alignment;
  out.left = round_up(layout.offset + surplus, layout.alignment) - layout.offset;
  // From 2.41 on the area for restartable sequences lies in the block as well; where it is, and
  // everything that is not known of the start, changes what the rounding adds.
  const std::string& glibc = scene.machine->glibc;
  bool exact =
      known && plan.machine == EM_X86_64 && !glibc.empty() && compare_versions(glibc, "2.41") < 0;
  if (!exact) out.left = surplus + layout.alignment - 1;
  return out;
}

bool take_static_tls(const Scene& scene, const LoadPlan& plan, StaticTls& tls, std::size_t object) {
  if (std::find(tls.objects.begin(), tls.objects.end(), object) != tls.objects.end()) return true;
  tls.objects.push_back(object);
  const ElfFacts* elf = elf_of(scene, plan.objects[object]);
  if (!elf || elf->tls_size == 0) return true;
  Block block = block_of(*elf);
  if (block.alignment > tls.alignment || block.size + block.shift > tls.left) return false;
  std::uint64_t rest = tls.left - block.size - block.shift;
  // Blocks grow downwards from what is used, so that the end is what is aligned; where they grow
  // upwards (aarch64) the padding is not counted.
  bool down = plan.machine == EM_X86_64;
  tls.left = down ? rest / block.alignment * block.alignment + block.shift : rest;
  return true;
}

}  // namespace wheelvet
