// Everything that is read as text: METADATA, WHEEL, RECORD, wheel names, requirements, paths; and
// what is printed of it.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "facts/metadata.h"
#include "facts/python_version.h"
#include "facts/record.h"
#include "facts/requirement.h"
#include "link/scene.h"
#include "link/search_path.h"
#include "report/printable.h"
#include "rules/rules.h"

using namespace wheelvet;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  PackageFacts package;
  add_metadata(text, package);
  add_wheel_file(text, package);
  add_record(text, package);
  Input input;
  input.members.resize(2);
  input.members[0].name = "a";
  input.members[1].name = text.substr(0, size / 2);
  check_record(text, "a-1.dist-info/RECORD", input);
  read_entry_points(text);
  normalised_version(text);
  admits_python(text, "3.12");
  static const MarkerValues values = marker_values("3.12", "x86_64");
  if (auto read = read_pep508(text).requirement) is_wanted(*read, values, {"extra"});
  bundled_from(text, "a");
  // A file name is at most 255 bytes long; tag sets multiply.
  if (size <= 255) read_wheel_name(text);
  read_requirement(text);
  installed_path(text);
  is_library_name(text);
  module_name(text);
  normalised_name(text);
  std::size_t half = size / 2;
  join_path(text.substr(0, half), text.substr(half));
  compare_versions(text.substr(0, half), text.substr(half));
  for (char c : printable(text)) {
    if (static_cast<std::uint8_t>(c) < 0x20 || c == 0x7f) std::abort();
  }
  return 0;
}
