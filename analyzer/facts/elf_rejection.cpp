#include "facts/elf_rejection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace wheelvet {
namespace {

constexpr std::uint64_t page = 4096;  // of x86-64, and the least that aarch64 has
// What a process can address (user space of x86-64 and of aarch64 with four levels of tables).
constexpr std::uint64_t address_space = std::uint64_t{1} << 47;
// A machine may have no more private memory than that for one library, nor a gap of addresses; no
// linker's output asks for as much.
constexpr std::uint64_t sure_memory = std::uint64_t{1} << 32;
constexpr std::uint64_t sure_addresses = std::uint64_t{1} << 40;

std::uint64_t page_down(std::uint64_t address) { return address & ~(page - 1); }
std::uint64_t page_up(std::uint64_t address) { return page_down(address + page - 1); }

// Where glibc's _dl_map_segments puts one PT_LOAD; sums wrap there too.
struct LoadCommand {
  std::uint64_t begin = 0, data_end = 0, memory_end = 0;
  std::uint64_t shift = 0;  // address of a byte less its offset in the file

  explicit LoadCommand(const Elf64_Phdr& segment)
      : begin(page_down(segment.p_vaddr)),
        data_end(page_up(segment.p_vaddr + segment.p_filesz)),
        memory_end(page_up(segment.p_vaddr + segment.p_memsz)),
        shift(segment.p_vaddr - segment.p_offset) {}
};

// Where the pages of a PT_LOAD go, from the start of the room that is asked for; sums wrap.
struct Place {
  std::uint64_t begin, data_end, memory_end;

  Place(const LoadCommand& load, const LoadCommand& first)
      : begin(load.begin - first.begin),
        data_end(load.data_end - first.begin),
        memory_end(load.memory_end - first.begin) {}

  // Wherever the room is, before or behind it.
  bool out_of_reach() const {
    return begin >= address_space && begin <= ~address_space && data_end > begin;
  }
  // An end that wraps, added to where the object lies, is before its start: nothing is filled.
  bool wraps() const { return memory_end > ~address_space; }
  bool inside(std::uint64_t room) const {
    return begin <= data_end && data_end <= room && (memory_end <= room || wraps());
  }
  std::uint64_t end() const { return wraps() ? data_end : std::max(data_end, memory_end); }
  std::uint64_t filled() const {
    return wraps() || memory_end < data_end ? 0 : memory_end - data_end;
  }
};

std::vector<LoadCommand> load_commands(const std::vector<Elf64_Phdr>& segments) {
  std::vector<LoadCommand> loads;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD) loads.emplace_back(segment);
  }
  return loads;
}

}  // namespace

std::string rejection_of_header(const Elf64_Ehdr& header) {
  // In the order of glibc elf/dl-load.c, open_verify.
  const unsigned char* ident = header.e_ident;
  if (ident[EI_CLASS] != ELFCLASS64) return "wrong ELF class: ELFCLASS32";
  if (ident[EI_DATA] != ELFDATA2LSB) return "ELF file data encoding not little-endian";
  if (ident[EI_VERSION] != EV_CURRENT) {
    return "ELF file version ident does not match current one";
  }
  if (std::any_of(ident + EI_PAD, ident + EI_NIDENT, [](unsigned char b) { return b != 0; })) {
    return "nonzero padding in e_ident";
  }
  if (header.e_version != EV_CURRENT) return "ELF file version does not match current one";
  return {};
}

std::string rejection_of_segments(const std::vector<Elf64_Phdr>& segments) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_DYNAMIC && segment.p_filesz != 0 && segment.p_vaddr == 0) {
      return "object file has no dynamic section";
    }
    if (segment.p_type != PT_LOAD) continue;
    if ((segment.p_vaddr - segment.p_offset) % page != 0) {
      return "ELF load command address/offset not page-aligned";
    }
    // The room is asked for with the alignment added to it.
    bool power_of_two = (segment.p_align & (segment.p_align - 1)) == 0;
    if (power_of_two && segment.p_align >= address_space) {
      return "failed to map segment from shared object";
    }
  }
  std::vector<LoadCommand> loads = load_commands(segments);
  if (loads.empty()) return {};
  bool holes = false;
  for (std::size_t i = 1; i < loads.size(); ++i) {
    holes = holes || loads[i - 1].data_end != loads[i].begin;
    if (Place(loads[i], loads.front()).out_of_reach()) {
      return "failed to map segment from shared object";
    }
  }
  std::uint64_t size = loads.back().memory_end - loads.front().begin;
  if (size == 0 || size >= address_space) return "failed to map segment from shared object";
  if (holes && loads.back().begin < loads.front().data_end) {
    return "ELF load command address/offset not page-aligned";
  }
  return {};
}

void check_mapping(const std::vector<Elf64_Phdr>& segments) {
  std::vector<LoadCommand> loads = load_commands(segments);
  if (loads.empty()) return;
  std::uint64_t room = loads.back().memory_end - loads.front().begin;
  for (const LoadCommand& load : loads) {
    Place place(load, loads.front());
    if (!place.inside(room)) {
      throw Unreadable("PT_LOAD", std::nullopt,
                       "reaches out of the room that the first and the last one span");
    }
    if (place.filled() > sure_memory) {
      throw Unreadable("p_memsz", std::nullopt, "zero-filled pages of over 4 GiB");
    }
  }
  // Whole pages are mapped, the later over the earlier: at_address goes by bytes.
  for (auto later = loads.begin(); later != loads.end(); ++later) {
    for (auto earlier = loads.begin(); earlier != later; ++earlier) {
      Place one(*earlier, loads.front()), other(*later, loads.front());
      bool apart = other.begin >= one.end() || one.begin >= other.end();
      if (!apart && later->shift != earlier->shift) {
        throw Unreadable("PT_LOAD", std::nullopt, "lies over another's pages");
      }
    }
  }
  auto first = std::find_if(segments.begin(), segments.end(),
                            [](const Elf64_Phdr& each) { return each.p_type == PT_LOAD; });
  if (room > ((first->p_flags & PF_W) != 0 ? sure_memory : sure_addresses)) {
    throw Unreadable("PT_LOAD", std::nullopt, fmt::format("they span {} bytes", room));
  }
}

void check_relro(const std::vector<Elf64_Phdr>& segments) {
  std::uint64_t begin = ~std::uint64_t{0}, end = 0;
  for (const LoadCommand& load : load_commands(segments)) {
    begin = std::min(begin, load.begin);
    end = std::max({end, load.data_end, load.memory_end});
  }
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_GNU_RELRO) continue;
    // glibc _dl_protect_relro rounds both ends down.
    std::uint64_t first = page_down(segment.p_vaddr);
    std::uint64_t last = page_down(segment.p_vaddr + segment.p_memsz);
    if (first != last && (first < begin || last > end || last < first)) {
      throw Unreadable("PT_GNU_RELRO", std::nullopt, "reaches out of the PT_LOADs");
    }
  }
}

namespace {

struct NeededTag {
  std::int64_t tag, companion;
  const char* reason;
};

// Tags whose companions glibc reads without asking whether they are there (elf/get-dynamic-info.h,
// elf/dynamic-link.h, elf/dl-version.c).
constexpr std::array<NeededTag, 8> companions = {{
    {DT_RELA, DT_RELASZ, "DT_RELA without DT_RELASZ"},
    {DT_RELA, DT_RELAENT, "DT_RELA without DT_RELAENT"},
    {DT_PLTREL, DT_JMPREL, "DT_PLTREL without DT_JMPREL"},
    {DT_PLTREL, DT_PLTRELSZ, "DT_PLTREL without DT_PLTRELSZ"},
    {dt_relr, dt_relrsz, "DT_RELR without DT_RELRSZ"},
    {dt_relr, dt_relrent, "DT_RELR without DT_RELRENT"},
    {DT_VERNEED, DT_VERSYM, "DT_VERNEED without DT_VERSYM"},
    {DT_VERDEF, DT_VERSYM, "DT_VERDEF without DT_VERSYM"},
}};

struct Stated {
  std::int64_t tag;
  std::uint64_t value;
  const char* reason;
};

// Assertions of elf/get-dynamic-info.h.
constexpr std::array<Stated, 3> stated = {{
    {DT_PLTREL, DT_RELA, "Assertion `info[DT_PLTREL]->d_un.d_val == DT_RELA' failed!"},
    {DT_RELAENT, sizeof(Elf64_Rela),
     "Assertion `info[DT_RELAENT]->d_un.d_val == sizeof (ElfW(Rela))' failed!"},
    {dt_relrent, sizeof(Elf64_Addr),
     "Assertion `info[DT_RELRENT]->d_un.d_val == sizeof (ElfW(Relr))' failed!"},
}};

}  // namespace

std::string rejection_of_dynamic(const ElfLayout& layout, const std::vector<Elf64_Dyn>& dynamic) {
  auto has = [&](std::int64_t tag) { return dynamic_value(dynamic, tag).has_value(); };
  if (!has(DT_STRTAB)) return "no DT_STRTAB: the loader ends with a segmentation fault";
  if (!has(DT_SYMTAB)) return "no DT_SYMTAB: the loader ends with a segmentation fault";
  for (const NeededTag& each : companions) {
    if (has(each.tag) && !has(each.companion)) {
      return fmt::format("{}: the loader ends with a segmentation fault", each.reason);
    }
  }
  for (const Stated& each : stated) {
    // The size of entries is looked at where there is a table.
    bool looked_at = each.tag == DT_RELAENT ? has(DT_RELA) : has(each.tag);
    if (each.tag == dt_relrent) looked_at = has(dt_relr);
    if (looked_at && dynamic_value(dynamic, each.tag) != each.value) return each.reason;
  }
  Pages pages(layout.segments);
  for (const Elf64_Phdr& segment : layout.segments) {
    if (segment.p_type != PT_DYNAMIC || segment.p_filesz == 0) continue;
    std::uint32_t flags = pages.flags_at(segment.p_vaddr).value_or(PF_R | PF_W);
    if ((flags & (PF_R | PF_W)) == 0) return "its dynamic section may not be read";
    // It is relocated in place unless PT_DYNAMIC says that it is read-only (l_ld_readonly).
    if ((segment.p_flags & PF_W) != 0 && (flags & PF_W) == 0) {
      return "its dynamic section may not be written";
    }
  }
  for (std::int64_t tag :
       {DT_STRTAB, DT_SYMTAB, DT_GNU_HASH, DT_RELA, DT_JMPREL, DT_VERSYM, DT_VERNEED, DT_VERDEF}) {
    std::optional<std::uint64_t> address = dynamic_value(dynamic, tag);
    std::optional<std::uint32_t> flags = address ? pages.flags_at(*address) : std::nullopt;
    if (flags && (*flags & (PF_R | PF_W)) == 0) {
      return "its tables lie in a segment that may not be read";
    }
  }
  return {};
}

bool is_known_relocation(std::uint16_t machine, std::uint32_t type) {
  // glibc sysdeps/x86_64/dl-machine.h and sysdeps/aarch64/dl-machine.h, elf_machine_rela.
  if (machine == EM_X86_64) {
    switch (type) {
      case R_X86_64_NONE:
      case R_X86_64_64:
      case R_X86_64_PC32:
      case R_X86_64_COPY:
      case R_X86_64_GLOB_DAT:
      case R_X86_64_JUMP_SLOT:
      case R_X86_64_RELATIVE:
      case R_X86_64_32:
      case R_X86_64_DTPMOD64:
      case R_X86_64_DTPOFF64:
      case R_X86_64_TPOFF64:
      case R_X86_64_SIZE32:
      case R_X86_64_SIZE64:
      case R_X86_64_TLSDESC:
      case R_X86_64_IRELATIVE:
      case R_X86_64_RELATIVE64:
        return true;
      default:
        return false;
    }
  }
  constexpr std::uint32_t withdrawn_none = 256;  // R_AARCH64_NONE of old
  bool absolute = type == R_AARCH64_NONE || type == withdrawn_none || type == R_AARCH64_ABS64 ||
                  type == R_AARCH64_ABS32;
  return absolute || (type >= R_AARCH64_COPY && type <= R_AARCH64_IRELATIVE);
}

Pages::Pages(const std::vector<Elf64_Phdr>& segments) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD) continue;
    LoadCommand load(segment);
    Range over{load.begin, std::max(load.data_end, load.memory_end), segment.p_flags};
    if (over.begin >= over.end) continue;
    std::vector<Range> kept;
    for (const Range& range : ranges_) {
      Range before{range.begin, std::min(range.end, over.begin), range.flags};
      Range behind{std::max(range.begin, over.end), range.end, range.flags};
      if (before.begin < before.end) kept.push_back(before);
      if (behind.begin < behind.end) kept.push_back(behind);
    }
    kept.push_back(over);
    ranges_ = std::move(kept);
  }
}

}  // namespace wheelvet
