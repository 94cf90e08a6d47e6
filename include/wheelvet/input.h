// Inputs: what was named on the command line, and the members inside.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wheelvet/problem.h"

namespace wheelvet {

class RandomFile;

/// `release`: no file, but what the history says of a release of torch.
enum class InputKind { wheel, stub, folder, file, machine, release };

/// A file inside an input. Names use '/'; for a wheel they are the archive's own, for a folder they
/// are relative to it.
struct Member {
  std::string name;
  std::uint64_t size = 0;  ///< bytes when extracted
  // For members of an archive only (APPNOTE.TXT 4.3.12):
  std::uint64_t packed_size = 0;    ///< bytes in the archive
  std::uint64_t header_offset = 0;  ///< of the local header, in bytes
  std::uint64_t data_offset = 0;    ///< of the packed bytes
  std::uint32_t crc = 0;
  std::uint16_t method = 0;  ///< 0 stored, 8 deflate
  /// Folders only: what to open, where it is not the folder's path and the name (links of a root).
  std::string source = {};
};

/// A rule of wheel archives that this one breaks. Content, not a failure to read.
struct ArchiveFault {
  std::string rule;    ///< an id of the catalogue
  std::string member;  ///< empty when the archive as a whole is meant
  std::string detail;
  std::optional<std::uint64_t> offset;
};

/// The wheel that a stub was made of.
struct StubOrigin {
  std::string file;
  std::uint64_t size = 0;  ///< bytes
  std::string sha256;
};

struct Input {
  InputKind kind = InputKind::file;
  std::string path;        ///< as given
  std::string label;       ///< file or folder name, without its path
  std::string mount;       ///< installed path of the folder: empty for site-packages, else absolute
  std::string location;    ///< where it is for a process on the machine; empty when it is nowhere
  bool target = false;     ///< a target is vetted, a provider is taken to be there beside it
  bool instead = false;    ///< takes the place of what the other inputs have of its package
  std::uint64_t size = 0;  ///< bytes, archives and single files
  std::string identity;    ///< hex SHA-256 of the central directory (archives), else empty
  std::optional<StubOrigin> origin;           ///< stubs only
  std::shared_ptr<const RandomFile> archive;  ///< wheels and stubs: open, for their members
  std::vector<Member> members;  ///< in the order of the archive; folders sorted by name
  std::vector<ArchiveFault> faults;
  std::vector<Problem> problems;
};

}  // namespace wheelvet
