// What a name on the command line stands for: a file or folder, a release of torch from the
// history, or a wheel of the package index.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "history/release.h"
#include "wheelvet/facts.h"
#include "wheelvet/input.h"

namespace wheelvet {

/// What wheels of the index have to fit. Empty fields are told from the other inputs, then from
/// this host.
struct NamedFor {
  std::string python;    ///< "3.12", "3.13t"
  std::string platform;  ///< "x86_64", "aarch64"
  std::string glibc;     ///< of the machine, where it is known
  bool show = false;     ///< pip's progress goes to standard error
  bool releases = true;  ///< a release of the history will do; else it is WrongUsage
};

/// All names of one request, the targets first. WrongUsage as `open_input`; a name that no file has
/// is looked up as "torch==2.10.0" in the history, as "name==version" in the index.
std::vector<Input> open_named(const std::vector<std::string>& targets,
                              const std::vector<std::string>& providers, const NamedFor& wanted);

/// Opens every release among the inputs, for the machine of the others. `asked` is filled when
/// there is one, unless it was before.
void open_releases(std::vector<Input>& inputs, Facts& facts, std::optional<AskedHistory>& asked);

}  // namespace wheelvet
