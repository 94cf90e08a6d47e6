// Facts for people: what `inspect` shows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "wheelvet/device_code.h"
#include "wheelvet/problem.h"
#include "wheelvet/report.h"

namespace wheelvet {

struct InspectOptions {
  bool imports = false, exports = false, headers = false;
  bool mangled = false;                  ///< leave C++ names as they are
  bool device = false, kernels = false;  ///< device code, and the kernels in it
  std::string match;                     ///< part of a mangled or demangled name; empty for all
  std::string python, platform;          ///< of wheels from the index; empty for the usual
  bool show = false;                     ///< pip's progress goes to standard error
};

struct InspectedSymbol {
  std::string symbol, version;
  std::string readable;  ///< demangled; empty when that was not asked for
  std::string library;   ///< file of an import's version need
  bool weak = false;
  bool needed = false;  ///< imports: some relocation refers to it
};

/// Images of one kind and architecture in a file.
struct InspectedArch {
  std::string arch;    ///< "sm_90a", "compute_90"
  std::string kind;    ///< cubin, ptx, lto-ir, other
  std::string isa;     ///< PTX: "9.0"
  std::string driver;  ///< PTX: the first driver that compiles it; empty when none known here does
  std::size_t images = 0, relocatable = 0, packed = 0;
  std::uint64_t bytes = 0;  ///< as stored
};

struct InspectedFile {
  std::string path;
  std::string kind;                                      ///< "an ELF object", ...
  std::string machine;                                   ///< x86-64, aarch64
  std::uint64_t size = 0;                                ///< bytes
  std::string soname, rpath, runpath, build_id, module;  ///< module: import name, or empty
  bool has_rpath = false, has_runpath = false;
  std::vector<std::string> needed;
  std::map<std::string, std::vector<std::string>> version_needs;  ///< file -> versions
  std::vector<std::string> version_definitions;
  std::map<std::string, std::string> floors;  ///< "GLIBC" -> highest version needed
  std::size_t symbols = 0, imports = 0, unneeded_imports = 0, exports = 0, python_imports = 0;
  std::uint64_t tls_size = 0;
  bool executable_stack = false, writable_code = false, bind_now = false, text_relocations = false;
  /// Read-only after relocation: PT_GNU_RELRO is there, and with bind_now it covers the GOT.
  bool relro = false;
  bool canary = false;       ///< imports __stack_chk_fail: compiled with a stack protector
  bool fortified = false;    ///< imports checked forms of libc's functions (__memcpy_chk)
  std::string bundled_from;  ///< "libz.so.1" of auditwheel's "libz-1a2b3c4d.so.1", or empty
  std::vector<InspectedSymbol> listed;
  bool with_device = false, with_kernels = false;  ///< they were asked for
  DeviceCode device;
  std::vector<InspectedArch> architectures;  ///< of the device code
  std::vector<std::string> headers;
};

struct InspectedPackage {
  std::string name, version, requires_python;
  std::string platform_floor;  ///< lowest manylinux policy that all objects of the input fit
  std::vector<std::string> tags, requirements;
  std::vector<std::string> entry_points;  ///< "console_scripts: name = module:function"
};

struct Inspection {
  std::vector<InspectedPackage> packages;
  std::vector<InspectedFile> files;
  std::vector<Problem> problems;
};

/// The facts of one or more inputs. WrongUsage as `open_input`.
Inspection inspect(const std::vector<std::string>& targets, const InspectOptions& options);

std::string render_text(const Inspection& inspection, bool color);
std::string render_json(const Inspection& inspection);

}  // namespace wheelvet
