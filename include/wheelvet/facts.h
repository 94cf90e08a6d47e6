// Facts: what a file says of itself. No judgement here, and nothing that the dynamic loader would
// not read: sections are never looked at.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "wheelvet/device_code.h"
#include "wheelvet/input.h"
#include "wheelvet/problem.h"

namespace wheelvet {

/// How relocations refer to a symbol: a set of bits. A symbol that no relocation refers to is not
/// looked up by the loader (glibc elf/dl-reloc.c), whatever the symbol table says.
enum RelocationUse : std::uint8_t {
  used_by_none = 0,
  used_by_plt = 1,   ///< a jump slot: may stay missing until the first call when bound lazily
  used_by_data = 2,  ///< an address in data: must be there at load
  used_by_tls = 4,
  used_by_copy = 8,
  /// The offset from the thread pointer is wanted: the module that defines the variable must lie in
  /// static TLS. Set for symbol 0 when the module's own variables are meant.
  used_by_static_tls = 16,
};

/// One entry of the dynamic symbol table, with the gABI's names. Views live as long as the table.
struct Symbol {
  std::string_view name;
  std::uint64_t value = 0;
  std::uint64_t size = 0;
  std::uint16_t section = 0;     ///< st_shndx; 0 is SHN_UNDEF
  std::uint8_t binding = 0;      ///< STB_*
  std::uint8_t type = 0;         ///< STT_*
  std::uint8_t visibility = 0;   ///< STV_*
  std::uint8_t relocations = 0;  ///< RelocationUse bits
  std::uint16_t version = 0;     ///< raw DT_VERSYM entry; 0x8000 is the hidden bit
};

/// The dynamic symbol table and the tables that belong to it, byte for byte as the loader sees
/// them. Checked when read: every st_name lies inside `strings`, and `strings` ends in a NUL.
struct SymbolTable {
  std::vector<std::uint8_t> symbols;      ///< Elf64_Sym, `count` of them
  std::vector<std::uint8_t> strings;      ///< DT_STRTAB
  std::vector<std::uint8_t> versions;     ///< DT_VERSYM, empty when there is none
  std::vector<std::uint8_t> gnu_hash;     ///< DT_GNU_HASH, empty when there is none
  std::vector<std::uint8_t> sysv_hash;    ///< DT_HASH, empty when there is none
  std::vector<std::uint8_t> relocations;  ///< one RelocationUse set per symbol
  std::size_t count = 0;
  /// Defined ones that relocations refer to and that the object's own hash table may not lead to.
  std::vector<std::uint32_t> not_at_home;

  Symbol at(std::size_t index) const;
  std::string_view name(std::size_t index) const;
  bool undefined(std::size_t index) const;  ///< st_shndx is SHN_UNDEF
  /// Tells the processor that this name will be read soon. Names lie scattered over megabytes: a
  /// walk over all symbols is a walk from one cache miss to the next without it.
  void expect(std::size_t index) const;
};

/// A version that the file wants of a library (Elf64_Vernaux).
struct NeededVersion {
  std::string name;
  std::uint32_t hash = 0;
  std::uint16_t index = 0;  ///< vna_other
  bool weak = false;        ///< VER_FLG_WEAK
};

/// All versions wanted of one file (Elf64_Verneed).
struct VersionNeed {
  std::string file;
  std::vector<NeededVersion> versions;
};

/// A version that the file defines (Elf64_Verdef).
struct VersionDefinition {
  std::string name;
  std::uint32_t hash = 0;
  std::uint16_t index = 0;
  bool base = false;  ///< VER_FLG_BASE: names the file itself
};

struct ElfFacts {
  std::uint16_t machine = 0;  ///< EM_*
  std::uint16_t type = 0;     ///< ET_*
  std::uint8_t osabi = 0;
  std::uint8_t abi_version = 0;
  std::uint64_t file_size = 0;  ///< of the original, when this is read from a stub

  std::string soname;
  std::vector<std::string> needed;
  std::vector<std::string> filters;      ///< DT_FILTER
  std::vector<std::string> auxiliaries;  ///< DT_AUXILIARY
  std::optional<std::string> rpath;
  std::optional<std::string> runpath;
  std::uint64_t flags = 0;       ///< DT_FLAGS
  std::uint64_t flags_1 = 0;     ///< DT_FLAGS_1
  bool symbolic = false;         ///< DT_SYMBOLIC or DF_SYMBOLIC
  bool packed_relative = false;  ///< DT_RELR

  SymbolTable symbols;
  std::vector<VersionNeed> version_needs;
  std::vector<VersionDefinition> version_definitions;

  std::uint32_t isa_needed =
      0;                 ///< GNU_PROPERTY_X86_ISA_1_NEEDED: bit 0 the baseline, 1 v2, 2 v3, 3 v4
  std::string build_id;  ///< hex, empty when there is none
  std::optional<std::uint32_t> stack_flags;  ///< p_flags of PT_GNU_STACK
  std::uint64_t tls_size = 0;                ///< p_memsz of PT_TLS, bytes
  std::uint64_t tls_alignment = 0;
  bool text_relocations = false;  ///< DT_TEXTREL or DF_TEXTREL: relocations in read-only segments
  bool writable_code = false;     ///< a PT_LOAD both writable and executable
  std::vector<std::string> dlopen_notes;  ///< .note.dlopen, JSON text as it stands
  bool from_stub = false;
  std::vector<std::uint8_t> device_note;      ///< stubs: what they carry of the device code
  std::vector<std::uint8_t> program_headers;  ///< Elf64_Phdr of the original, as they stand

  /// Why every release of the loader refuses it, or dies of it; in glibc's words where it has any.
  std::string rejection;
  /// Facts that make readelf and the loader see different things (a finding, not a Problem).
  std::vector<std::string> oddities;
};

/// What a file is when it is not an ELF the loader would take.
enum class FileKind {
  elf,
  empty,
  linker_script,
  git_lfs_pointer,
  html_page,
  static_archive,
  object_file,
  debug_only,
  other_class,  ///< 32-bit
  other_endian,
  other_machine,
  not_dynamic,
  mach_o,
  windows,
  text,
  unknown,
};

/// What a library exports whose file is not at hand, by the history of its releases. Names are
/// views into the tables of the files that import them.
struct KnownExports {
  /// The names that somebody imports and that the history would know. Of any other nothing is
  /// known.
  std::shared_ptr<const std::unordered_set<std::string_view>> asked;
  std::unordered_set<std::string_view> exported;  ///< of those asked: surely there
  std::unordered_set<std::string_view> possible;  ///< of those asked: another build may have them
  bool nothing = false;                           ///< the library exports no name at all
  bool needs_known = true;                        ///< `needed` is complete
};

/// One file that matters to the loader: a library or a module.
struct FileFacts {
  std::string member;  ///< name inside the input
  std::string
      path;  ///< where it is when installed, relative to site-packages ("../../../lib/x" outside)
  FileKind kind = FileKind::elf;
  ElfFacts elf;  ///< when kind is elf
  /// Set where the history stands for the file: its symbol table is empty then.
  std::shared_ptr<const KnownExports> known;
  /// st_dev and st_ino: names of one file are one object to the loader. 0 for members of archives.
  std::uint64_t device = 0, inode = 0;
  std::string release;  ///< what its own text says: "2.28.9+cuda13.0" of libnccl; mostly empty
  DeviceCode code;      ///< for GPUs, when that was asked for
  std::optional<Problem> problem;
};

/// A distribution: what its *.dist-info says (core metadata specification, PEP 427).
struct PackageFacts {
  std::string name;  ///< as written
  std::string version;
  std::vector<std::string> requirements;  ///< Requires-Dist, as written
  std::string requires_python;
  /// What METADATA itself says; empty when it is not there or does not say. `name` and `version`
  /// then come from the file name.
  std::string stated_name, stated_version;
  bool has_metadata = false, has_wheel = false;  ///< the files are there and could be read
  std::vector<std::string> not_utf8;             ///< files of the folder that are no UTF-8
  std::optional<std::string> wheel_version;      ///< Wheel-Version, as written
  std::string entry_points;                      ///< entry_points.txt, as written
  std::vector<std::string> tags;                 ///< Tag lines of WHEEL, else the file name's tags
  bool pure = false;                             ///< Root-Is-Purelib
  std::string folder;                            ///< the *.dist-info folder
  std::vector<std::string> top_level;            ///< first folders of what it installs, from RECORD
  std::vector<std::string> libraries;            ///< shared objects that it installs, from RECORD
};

/// A library that a Python file opens by itself, as its text tells.
struct PythonOpens {
  std::string pattern;       ///< path under site-packages; '*' for any text, which may hold a '/'
  bool searched = false;     ///< a name without a folder: the loader searches for it
  bool global = false;       ///< RTLD_GLOBAL
  bool conditional = false;  ///< in a function, or where an error of it may be caught
  unsigned line = 0;
};

/// What matters of a Python file to the loader.
struct PythonFacts {
  std::string path;                  ///< installed path
  std::vector<std::string> imports;  ///< modules that importing it imports for sure, in order
  std::vector<PythonOpens> opens;
};

struct InputFacts {
  std::size_t input = 0;  ///< index into the run's inputs
  std::vector<FileFacts> files;
  /// Executables of a wheel: nobody imports them, and what they need of the system the wheel needs.
  std::vector<FileFacts> programs;
  std::vector<DeviceFile> device_files;  ///< in the order of the members
  std::vector<PackageFacts> packages;
  std::vector<PythonFacts> python;   ///< of the files that could matter, in path order
  bool python_read = false;          ///< the input holds Python source at all
  std::vector<ArchiveFault> faults;  ///< seen while inflating: sizes and CRCs
  std::vector<Problem> problems;
};

/// All facts of a run, and what reading them took.
struct Facts {
  std::vector<InputFacts> inputs;  ///< in the order of the inputs
  bool hashed = false;             ///< every member was compared with the hash in RECORD
  bool device_code_read = false;   ///< the device code of the targets was asked for
  std::uint64_t bytes_read = 0;    ///< inflated or read
  std::uint64_t second_passes = 0;
};

/// Normalised project name (PEP 503): lower case, runs of -_. become one '-'.
std::string normalised_name(std::string_view name);

}  // namespace wheelvet
