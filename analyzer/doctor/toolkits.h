// CUDA toolkits: the system's, conda's, and the tree that pip's nvidia packages make.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/toml_text.h"
#include "wheelvet/finding.h"
#include "wheelvet/host.h"

namespace wheelvet {

/// Every toolkit that the variables of some start name, that stands in a usual folder, in the
/// environment's prefix or in its site-packages; each once, by its real path.
std::vector<Toolkit> read_toolkits(const HostFacts& host, const TomlText& rules);

/// Which toolkit a consumer takes at a start.
struct ToolkitPick {
  std::string consumer;
  std::string start;
  std::string path;                  ///< as it is named; empty: none
  std::string because;               ///< "CUDA_HOME (/etc/environment:3)", "nvcc on PATH"
  const Toolkit* toolkit = nullptr;  ///< null: nothing usable is there
  bool builds = false;
  bool named = false;  ///< by a variable that is there for it
};

std::vector<ToolkitPick> pick_toolkits(const HostFacts& host, const TomlText& rules);

/// The toolkit with a compiler that fits the environment's torch best, the first of equals; empty
/// when none does.
std::string fitting_toolkit(const HostFacts& host);

std::vector<Finding> check_toolkits(const HostFacts& host, const TomlText& rules);

/// "Cuda compilation tools, release 13.0" in a tool's own text: "13.0"; empty when it says none.
std::string tool_release(const std::string& root, const std::string& path);

/// The first `name` in the folders of a PATH that is a regular file; empty for none.
std::string on_path(const std::string& root, std::string_view path, std::string_view name);

/// True when `path` itself is a symbolic link (its parents are followed inside the root).
bool is_link(const std::string& root, const std::string& path);

}  // namespace wheelvet
