// Device code by hand: cubins, PTX and containers of which every number can be a lie.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "facts/bytes.h"

namespace wheelvet::test {

using Blob = std::vector<std::uint8_t>;

template <class T>
void append(Blob& out, T value) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

inline void append(Blob& out, const Blob& bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

inline Blob blob_of(std::string_view text) { return {text.begin(), text.end()}; }

struct MadeCubin {
  std::uint16_t arch = 90;
  std::vector<std::string> kernels = {"kernel"};
  bool old_layout = false;  // the flags of CUDA 12
  bool relocatable = false;
  std::uint8_t compat = 0;  // 1: .nv.compat says that it is for one architecture alone
  std::string command;      // of ptxas, in .note.nv.tkinfo
};

inline Blob cubin(const MadeCubin& made = {}) {
  Blob names = {0}, strings = {0}, symbols(sizeof(Elf64_Sym));
  for (const std::string& kernel : made.kernels) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<std::uint32_t>(strings.size());
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_other = 0x10;
    symbol.st_shndx = 1;
    append(symbols, symbol);
    append(strings, blob_of(kernel));
    strings.push_back(0);
  }
  Blob out(sizeof(Elf64_Ehdr));
  std::vector<Elf64_Shdr> sections(1);
  auto add = [&](const char* name, std::uint32_t type, const Blob& bytes, std::uint32_t link) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<std::uint32_t>(names.size());
    append(names, blob_of(name));
    names.push_back(0);
    header.sh_type = type;
    header.sh_offset = out.size();
    header.sh_size = bytes.size();
    header.sh_link = link;
    append(out, bytes);
    sections.push_back(header);
  };
  add(".strtab", SHT_STRTAB, strings, 0);
  add(".symtab", SHT_SYMTAB, symbols, 1);
  if (made.compat) add(".nv.compat", SHT_PROGBITS, {2, 9, made.compat, 0}, 0);
  if (!made.command.empty()) add(".note.nv.tkinfo", SHT_NOTE, blob_of(made.command), 0);
  Blob before = names;
  append(before, blob_of(".shstrtab"));
  before.push_back(0);
  add(".shstrtab", SHT_STRTAB, before, 0);
  out.resize((out.size() + 7) / 8 * 8);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_OSABI] = made.old_layout ? 0x33 : 0x41;
  header.e_ident[EI_ABIVERSION] = made.old_layout ? 7 : 8;
  header.e_type = made.relocatable ? ET_REL : ET_EXEC;
  header.e_machine = 190;
  header.e_flags = made.old_layout ? static_cast<std::uint32_t>(0x500 | made.arch | made.arch << 16)
                                   : static_cast<std::uint32_t>(0x06000004 | made.arch << 8);
  header.e_shoff = out.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<std::uint16_t>(sections.size());
  header.e_shstrndx = static_cast<std::uint16_t>(sections.size() - 1);
  for (const Elf64_Shdr& section : sections) append(out, section);
  std::memcpy(out.data(), &header, sizeof header);
  out.resize((out.size() + 7) / 8 * 8);
  return out;
}

inline Blob ptx(const std::string& version, const std::string& target,
                const std::string& kernel = "kernel") {
  Blob out = blob_of("//\n.version " + version + "\n.target " + target +
                     "\n.address_size 64\n.visible .entry " + kernel + "(\n)\n{ ret; }\n");
  out.push_back(0);
  return out;
}

struct MadeEntry {
  std::uint16_t kind = 2;  // 1 PTX, 2 cubin, 8 LTO-IR
  std::uint32_t arch = 90;
  Blob payload = cubin();
  std::uint64_t flags = 0x11;  // 64-bit, Linux
  std::uint64_t unpacked = 0;  // when packed
  std::uint32_t header_size = 64;
  std::uint16_t version = 0x0101;
  std::uint16_t major = 1, minor = 8;
};

inline constexpr std::uint64_t specific = 0x100000, family = 0x200000, lz4 = 0x2000, zstd = 0x8000;

inline Blob entry(const MadeEntry& made) {
  Blob payload = made.payload;
  payload.resize((payload.size() + 7) / 8 * 8);
  Blob out;
  append(out, made.kind);
  append(out, made.version);
  append(out, made.header_size);
  append<std::uint64_t>(out, payload.size());
  append<std::uint32_t>(out, made.unpacked ? static_cast<std::uint32_t>(made.payload.size()) : 0);
  append<std::uint32_t>(out, 0);
  append(out, made.minor);
  append(out, made.major);
  append(out, made.arch);
  append<std::uint64_t>(out, 0);
  append(out, made.flags);
  append<std::uint64_t>(out, 0);
  append(out, made.unpacked);
  out.resize(std::max<std::size_t>(64, made.header_size));
  append(out, payload);
  return out;
}

inline Blob container(const std::vector<MadeEntry>& entries) {
  Blob body;
  for (const MadeEntry& each : entries) append(body, entry(each));
  Blob out;
  append<std::uint32_t>(out, 0xBA55ED50);
  append<std::uint16_t>(out, 1);
  append<std::uint16_t>(out, 16);
  append<std::uint64_t>(out, body.size());
  append(out, body);
  return out;
}

}  // namespace wheelvet::test
