// Which library of NEW stands for which of OLD.
#pragma once

#include <string>
#include <vector>

#include "wheelvet/facts.h"

namespace wheelvet {

/// One of the two is null when a library has no partner.
struct LibraryPair {
  const FileFacts* before = nullptr;
  const FileFacts* now = nullptr;
  std::string
      by;  ///< "path", "soname", "bundled name", "module", "file name"; empty for no partner

  const FileFacts& any() const { return before ? *before : *now; }
};

/// Pairs the ELF files of two inputs: by installed path, soname, the name before auditwheel gave it
/// one of its own, the module's import name, and at last the file name without version numbers. A
/// rule pairs only what it tells apart: two candidates on one side are left to the next rule.
/// Those of OLD in path order, then the new ones.
std::vector<LibraryPair> pair_libraries(const InputFacts& before, const InputFacts& now);

/// True for a library that auditwheel or its kin put into the wheel: its name is nobody's business
/// outside.
bool is_private(const FileFacts& file);

}  // namespace wheelvet
