// Changes one field of an ELF file: of its header, its segments, its dynamic entries, or of a table
// that one of these leads to. Most other bytes are looked at by nobody.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace wheelvet::fuzz {

using Random = std::minstd_rand;

inline std::size_t below(Random& random, std::size_t end) { return end == 0 ? 0 : random() % end; }

/// Little-endian fields; what lies outside of the data reads as 0 and is not written.
struct Fields {
  std::uint8_t* data;
  std::size_t size;

  bool has(std::uint64_t at, std::size_t width) const { return at <= size && width <= size - at; }
  std::uint64_t get(std::uint64_t at, std::size_t width) const {
    std::uint64_t value = 0;
    if (has(at, width)) std::memcpy(&value, data + at, width);
    return value;
  }
  void set(std::uint64_t at, std::size_t width, std::uint64_t value) const {
    if (has(at, width)) std::memcpy(data + at, &value, width);
  }
};

/// A value that readers get wrong: a bound, a neighbour of what is there, a size or place in a file
/// of `size` bytes.
inline std::uint64_t odd_value(Random& random, std::uint64_t now, std::size_t size) {
  switch (random() % 12) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return ~std::uint64_t{0};
    case 3:
      return 0x7fffffffffffffff;
    case 4:
      return 0xffffffff;
    case 5:
      return size;
    case 6:
      return size - below(random, 64);
    case 7:
      return now + 1;
    case 8:
      return now - 1;
    case 9:
      return now * 2;
    case 10:
      return below(random, size + 1);
    default:
      return now ^ std::uint64_t{1} << random() % 64;
  }
}

struct ElfMutator {
  Fields file;
  Random& random;

  void mutate() {
    switch (random() % 8) {
      case 0:
        return header();
      case 1:
      case 2:
        return change(segment(below(random, segments())), sizeof(Elf64_Phdr));
      case 3:
      case 4:
        return change(entry(), sizeof(Elf64_Dyn));
      case 5:
        return retag();
      default:
        return table();
    }
  }

 private:
  static constexpr std::size_t phoff = offsetof(Elf64_Ehdr, e_phoff);
  static constexpr std::size_t phnum = offsetof(Elf64_Ehdr, e_phnum);

  std::size_t segments() const { return std::min<std::size_t>(file.get(phnum, 2), 64); }
  std::uint64_t segment(std::size_t i) const { return file.get(phoff, 8) + i * sizeof(Elf64_Phdr); }

  // A field of 2, 4 or 8 bytes, aligned, in `size` bytes from `at`.
  void change(std::uint64_t at, std::size_t size) {
    std::size_t width = std::size_t{2} << random() % 3;
    at += below(random, size / width) * width;
    file.set(at, width, odd_value(random, file.get(at, width), file.size));
  }

  void header() {
    if (random() % 4 != 0) return change(0, sizeof(Elf64_Ehdr));
    std::size_t at = 4 + below(random, 5);  // class, data, version, ABI and its version
    file.set(at, 1, random() % 4);
  }

  std::uint64_t segment_of(std::uint32_t type) const {
    for (std::size_t i = 0; i < segments(); ++i) {
      if (file.get(segment(i), 4) == type) return segment(i);
    }
    return file.size;
  }

  std::uint64_t entry() {
    std::uint64_t dynamic = segment_of(PT_DYNAMIC);
    std::uint64_t at = file.get(dynamic + offsetof(Elf64_Phdr, p_offset), 8);
    std::uint64_t size = file.get(dynamic + offsetof(Elf64_Phdr, p_filesz), 8);
    return at + below(random, size / sizeof(Elf64_Dyn)) * sizeof(Elf64_Dyn);
  }

  void retag() {
    static constexpr std::uint64_t tags[] = {
        DT_NULL,      DT_NEEDED,     DT_STRTAB,   DT_STRSZ,     DT_SYMTAB,   DT_SYMENT,
        DT_SONAME,    DT_RPATH,      DT_RUNPATH,  DT_HASH,      DT_GNU_HASH, DT_VERSYM,
        DT_VERNEED,   DT_VERNEEDNUM, DT_VERDEF,   DT_VERDEFNUM, DT_RELA,     DT_RELASZ,
        DT_RELACOUNT, DT_JMPREL,     DT_PLTRELSZ, DT_RELR,      DT_RELRSZ,   DT_FLAGS,
        DT_FLAGS_1,   DT_SYMBOLIC,   DT_TEXTREL,  DT_FILTER,    DT_AUXILIARY};
    file.set(entry(), 8, tags[below(random, std::size(tags))]);
  }

  // A field near the start of what a dynamic entry points at, or of the notes.
  void table() {
    std::uint64_t at = 0;
    if (random() % 4 == 0) {
      at = file.get(segment_of(PT_NOTE) + offsetof(Elf64_Phdr, p_offset), 8);
    } else {
      at = place(file.get(entry() + 8, 8));
    }
    change(at, 128u << random() % 4);
  }

  // Where an address lies in the file.
  std::uint64_t place(std::uint64_t address) const {
    for (std::size_t i = 0; i < segments(); ++i) {
      std::uint64_t begin = file.get(segment(i) + offsetof(Elf64_Phdr, p_vaddr), 8);
      std::uint64_t size = file.get(segment(i) + offsetof(Elf64_Phdr, p_filesz), 8);
      bool inside =
          file.get(segment(i), 4) == PT_LOAD && address >= begin && address - begin < size;
      if (inside) return file.get(segment(i) + offsetof(Elf64_Phdr, p_offset), 8) + address - begin;
    }
    return address;
  }
};

/// For LLVMFuzzerCustomMutator of a target whose input has an ELF file behind `skipped` bytes.
inline std::size_t mutate_elf(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed,
                              std::size_t skipped) {
  Random random(seed);
  if (random() % 4 == 0 || size < skipped + sizeof(Elf64_Ehdr)) {
    return LLVMFuzzerMutate(data, size, most);
  }
  ElfMutator mutator{{data + skipped, size - skipped}, random};
  for (std::size_t i = 0, count = 1 + random() % 3; i < count; ++i) mutator.mutate();
  return size;
}

}  // namespace wheelvet::fuzz
