// RECORD: what a wheel says that it holds (PEP 376; binary distribution format, ".dist-info").
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "wheelvet/input.h"

namespace wheelvet {

/// One row of RECORD as written. Views live until the next row.
struct RecordRow {
  std::string_view path, hash, size;
  std::size_t fields = 0;  ///< how many the row had; the missing ones are empty
};

/// Reads RECORD as comma-separated values (RFC 4180; lines end in LF or CRLF) and calls `each` for
/// every row. Empty when all of it could be read, else what is wrong and where.
std::string read_record(std::string_view text, const std::function<void(const RecordRow&)>& each);

/// What RECORD and the archive's directory say of each other.
struct RecordCheck {
  std::vector<ArchiveFault> faults;
  std::vector<std::string> digests;  ///< per member what RECORD gives, "sha256=base64", or empty
};

/// Compares paths and sizes of RECORD (member `name`, content `text`) with the members. Folders,
/// RECORD itself and its signatures are exempt.
RecordCheck check_record(std::string_view text, const std::string& name, const Input& input);

/// A digest as RECORD spells it: URL-safe base64 without padding.
std::string record_digest(const std::vector<std::uint8_t>& digest);

}  // namespace wheelvet
