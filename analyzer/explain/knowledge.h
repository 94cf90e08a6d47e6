// All that an explanation is computed from: the rules, torch's history, and what the text itself or
// an environment says is installed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/read_log.h"
#include "history/history.h"
#include "rules/messages.h"
#include "rules/rules.h"
#include "wheelvet/explanation.h"

namespace wheelvet {

struct Knowledge {
  Rules rules;
  ExplainRules explain;
  History history;
  std::map<std::string, std::string, std::less<>> packages;  ///< normalised name -> release
  Parts facts;                                               ///< driver, GPU, CUDA of a log
  std::string machine = "x86_64";                            ///< whose builds of torch are meant
};

/// Whose a file is, by its path alone; `name` may be a bare soname.
FileOwner owner_of_file(const Knowledge& knowledge, std::string_view path);

/// The release of a package, from the environment or the text; empty when neither tells.
std::string installed_release(const Knowledge& knowledge, std::string_view package);

/// Index of the build of torch that is in the process, none when it is not known or not a release.
std::optional<std::uint32_t> installed_torch(const Knowledge& knowledge);

/// Indices of the builds for the machine, oldest first.
std::vector<std::uint32_t> torch_builds(const Knowledge& knowledge);

/// "12" of "12.8"; empty when there is none.
std::string_view major_of(std::string_view version);

/// The number that a text begins with, no more than a million: texts come from anywhere. 0 for
/// none.
int leading_number(std::string_view text);

/// The package of a library for the CUDA major of torch or of the text: "nvidia-cudnn-cu13".
std::string package_for_cuda(const std::vector<std::string>& pip, std::string_view major);

/// The CUDA major that the text or the installed torch tells; empty when nothing does.
std::string cuda_major(const Knowledge& knowledge);

/// True when rules/ knows packages of this name to be no wheels of the public index.
bool is_off_index(const FileOwner& owner);

/// How one calls a package that the text does not name.
std::string package_text(const FileOwner& owner);

}  // namespace wheelvet
