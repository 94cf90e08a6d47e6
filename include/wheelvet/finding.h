// Findings: what is wrong with the content.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

enum class Severity { note, warning, error };

std::string_view to_string(Severity severity);

/// An export that resembles a missing import.
struct NearMiss {
  std::string symbol;      ///< mangled
  std::string readable;    ///< demangled
  std::string provider;    ///< installed path of the library that has it
  std::string difference;  ///< "argument 4: int wanted, unsigned int exported"
};

struct SymbolEvidence {
  std::string symbol;                  ///< mangled, as people search for it
  std::string readable;                ///< demangled; equal to `symbol` for C names
  std::string version;                 ///< version wanted, or empty
  std::vector<std::string> wanted_by;  ///< installed paths of the objects that import it
  std::vector<NearMiss> near_misses;   ///< best first
};

/// One reason why something fails or may fail, with everything that fails for it.
struct Finding {
  std::string id;  ///< an entry of the catalogue
  Severity severity = Severity::error;
  std::string title;                 ///< one sentence
  std::vector<std::string> objects;  ///< installed paths or members it is found in
  std::vector<std::string> roots;    ///< roots that it concerns
  std::vector<SymbolEvidence> symbols;
  std::vector<std::string> evidence;  ///< further lines: where was looked, what was read
  std::string cause;                  ///< only what the inputs prove
  std::string fix;
  bool fix_verified = false;  ///< the same simulation was run with the fix in place
  bool alternative = false;   ///< concerns only alternatives of which another one loads
  bool unopened = false;      ///< concerns only libraries that nothing is known to open
  std::string suppressed;     ///< the reason of the suppression that covers it; empty: it counts
  bool known = false;         ///< the baseline has it already
};

}  // namespace wheelvet
