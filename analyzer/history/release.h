// A release of torch as an input: "torch==2.10.0". What the history knows of it stands for its
// files.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "history/history.h"
#include "wheelvet/facts.h"
#include "wheelvet/input.h"

namespace wheelvet {

/// "torch==2.10.0" or "torch==2.9.1+cu130", taken apart.
struct ReleaseName {
  std::string version;  ///< "2.9.1"
  std::string local;    ///< "cu130", or empty
};

/// Nothing when the text does not ask for torch by a version. WrongUsage when it does by anything
/// else than one "==" clause.
std::optional<ReleaseName> read_release_name(std::string_view text);

/// The build that answers for a release.
struct ReleaseBuild {
  std::uint32_t build = 0;  ///< index into the builds of the history
  /// The local version of a build that was not read ("cu130"): what depends on CUDA is not known of
  /// it. Empty: the build itself was read.
  std::string unread;
};

/// The build of a release for a machine ("x86_64"). WrongUsage, with the nearest releases, when the
/// history has none.
ReleaseBuild find_release(const History& history, const ReleaseName& name,
                          std::string_view machine);

/// Every build of a machine, oldest release first.
std::vector<ReleaseBuild> releases_of(const History& history, std::string_view machine);

/// The names that some files import and that the history would know, with who exports them. Asked
/// once for all releases.
struct AskedNames {
  std::shared_ptr<std::unordered_set<std::string_view>> names;
  std::vector<std::pair<std::string_view, std::vector<Export>>> exports;
};

/// The table with all that was asked of it for one run. Names are views into the facts' tables.
struct AskedHistory {
  History history;
  std::vector<BuildFacts> builds;  ///< in the order of history.builds
  AskedNames asked;
  std::string machine;  ///< of the run's objects: "x86_64"
};

/// Loads the table and asks it for what the objects among `facts` import; `only`: for what these
/// import, where not empty.
AskedHistory ask_history(const std::vector<Input>& inputs, const Facts& facts,
                         const std::set<const FileFacts*>& only = {});

/// "torch==2.10.0", not opened yet: what it holds depends on the machine of the other inputs.
Input name_release(const ReleaseName& name, bool target);

/// Fills the input with the paths of the release's libraries, and returns their facts. `input`: its
/// index.
InputFacts open_release(const AskedHistory& asked, const ReleaseBuild& which, Input& input,
                        std::size_t index);

}  // namespace wheelvet
