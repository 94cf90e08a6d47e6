// The releases of torch: which of their libraries exports which name, and what each was built for.
// Read from rules/history/torch.bin, whose format is described in docs/history.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "facts/bytes.h"

namespace wheelvet {

/// One wheel that was read.
struct HistoryBuild {
  std::string version;         ///< "2.9.1"
  std::string machine;         ///< "x86_64" or "aarch64"
  std::string label;           ///< as torch/version.py has it: "2.9.1+cu128"
  std::string wheel;           ///< file name
  std::string cuda;            ///< "12.8"; empty: built without CUDA
  std::string python;          ///< Requires-Python
  bool cxx11_strings = false;  ///< std::string in exported names is std::__cxx11's
};

/// An ELF file of a build, without its names.
struct HistoryObject {
  std::string path;  ///< in the wheel
  std::string soname;
  std::vector<std::string> needed, rpath, runpath;  ///< in order
  /// Needed versions by the file they are needed from.
  std::vector<std::pair<std::string, std::vector<std::string>>> versions;
  std::uint64_t size = 0;     ///< of the whole file, in bytes
  std::uint32_t exports = 0;  ///< all of them, kept in the table or not
};

struct BuildFacts {
  std::vector<std::string> requires_dist;
  std::vector<HistoryObject> objects;  ///< sorted by path
};

/// Which names the table knows. Of any other name it says nothing: not known, never missing.
struct Coverage {
  std::vector<std::string> openers, namespaces;  ///< "_ZNK" and "3c10": kept is "_ZNK3c10..."
  std::vector<std::string> globals;  ///< C++ functions outside a namespace begin so: "THP"
  std::vector<std::string> plain;    ///< C names begin so: "aoti_torch_"
  std::vector<std::string> without;  ///< a name that holds one of these is not kept
};

/// A library of a build that exports a name.
struct Export {
  std::uint32_t build = 0;    ///< index into History::builds
  std::uint32_t library = 0;  ///< index into History::libraries

  bool operator==(const Export&) const = default;
};

/// A run of names in order, packed until one of them is asked for.
struct NameBlock {
  std::uint32_t offset = 0, packed = 0, size = 0, crc = 0;
  std::uint32_t count = 0;
  std::string first;
  // Filled when the block is unpacked; `ends` are the ends of the names in `text`.
  std::string text;
  std::vector<std::uint32_t> ends, patterns;
};

/// The table. Lookups unpack blocks and keep them: one thread at a time.
struct History {
  Bytes bytes;                         ///< the whole file; must outlive this
  std::vector<HistoryBuild> builds;    ///< sorted by machine (x86-64 first), then version
  std::vector<std::string> libraries;  ///< paths in the wheel
  Coverage coverage;
  std::vector<NameBlock> blocks;  ///< sorted by name
  /// Which libraries of which builds export a name, per pattern number.
  std::vector<std::uint8_t> patterns;
  std::vector<std::uint32_t> pattern_starts;
};

/// The table that is part of the program, or the one in the folder named by WHEELVET_RULES.
History load_history();

/// Reads everything but names and facts. Unreadable with field and offset when the bytes are not
/// such a table.
History read_history(Bytes bytes);

/// True when the table would hold the name if any build exported it.
bool covers(const History& history, std::string_view name);

/// Who exports a name, sorted by build; empty: no build does, or the name is not covered.
std::vector<Export> exports_of(History& history, std::string_view name);

/// Calls `each` with every name of the table that begins so, in order.
void each_name(History& history, std::string_view beginning,
               const std::function<void(std::string_view, const std::vector<Export>&)>& each);

/// What is known of every build besides its names, in the order of History::builds.
std::vector<BuildFacts> read_build_facts(const History& history);

/// The highest version of a family ("GLIBC") that the objects of a build need, as "2.28"; empty
/// when they need none.
std::string version_floor(const BuildFacts& facts, std::string_view family);

}  // namespace wheelvet
