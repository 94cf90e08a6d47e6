// Distribution metadata: core metadata (PEP 566 and successors), WHEEL (PEP 427), file-name tags.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wheelvet/facts.h"

namespace wheelvet {

/// Header fields of an RFC 822 style text up to the first empty line, continuation lines joined.
std::vector<std::pair<std::string, std::string>> read_headers(std::string_view text);

/// Adds what a METADATA file says, and that it is there.
void add_metadata(std::string_view text, PackageFacts& package);

/// Adds what a WHEEL file says, and that it is there.
void add_wheel_file(std::string_view text, PackageFacts& package);

/// Adds the first folder, and the first two, of every path that a RECORD lists, sorted.
void add_record(std::string_view text, PackageFacts& package);

/// A line of entry_points.txt: "[group]", "name = target". The target is empty for a line without
/// '='.
struct EntryPoint {
  std::string group, name, target;
};
std::vector<EntryPoint> read_entry_points(std::string_view text);

/// The parts of "name-version(-build)?-python-abi-platform.whl"; name empty when it is no such
/// name.
struct WheelName {
  std::string name, version, build;
  std::vector<std::string> tags;  ///< compressed tag sets expanded
};
WheelName read_wheel_name(std::string_view file_name);

/// Where a wheel's member lands, relative to site-packages: `.data/purelib` and `.data/platlib` go
/// to the top, `.data/data` to the prefix, `.data/scripts` to its bin (sysconfig's posix_prefix
/// scheme).
std::string installed_path(std::string_view member);

/// The name that a library had before auditwheel gave it one of its own: "libz.so.1" of
/// "libz-1a2b3c4d.so.1", "libgeos.so.3" of "libgeos-fiona-1a2b3c4d.so.3" with `package` fiona;
/// empty when the name is not of that form.
std::string bundled_from(std::string_view path, std::string_view package);

/// True for names of shared objects: ".so" at the end or followed by a version.
bool is_library_name(std::string_view path);

/// True for a member of a wheel that may be an executable: a name without a suffix, or a file among
/// the scripts that an installer puts beside the interpreter.
bool may_be_program(std::string_view path);

/// What stands behind the last '/'.
std::string_view base_name(std::string_view path);

/// The text without blanks, tabs and carriage returns at its ends.
std::string_view trimmed(std::string_view text);

}  // namespace wheelvet
