#include "facts/file_kind.h"

namespace wheelvet {

std::string_view to_string(FileKind kind) {
  switch (kind) {
    case FileKind::elf:
      return "an ELF object";
    case FileKind::empty:
      return "an empty file";
    case FileKind::linker_script:
      return "a linker script";
    case FileKind::git_lfs_pointer:
      return "a Git LFS pointer: the real file was not fetched";
    case FileKind::html_page:
      return "an HTML page: the download went wrong";
    case FileKind::static_archive:
      return "a static archive";
    case FileKind::object_file:
      return "a relocatable object file";
    case FileKind::debug_only:
      return "a file of debug information only";
    case FileKind::other_class:
      return "a 32-bit ELF object";
    case FileKind::other_endian:
      return "a big-endian ELF object";
    case FileKind::other_machine:
      return "an ELF object for another machine";
    case FileKind::not_dynamic:
      return "an ELF file without a dynamic section";
    case FileKind::mach_o:
      return "a macOS library";
    case FileKind::windows:
      return "a Windows library";
    case FileKind::text:
      return "text";
    case FileKind::unknown:
      return "not an ELF object";
  }
  return "";
}

}  // namespace wheelvet
