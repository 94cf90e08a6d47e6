// Roots of which a package picks one at run time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checks/checks.h"

namespace wheelvet {

/// For each view the name of the group of alternatives it belongs to ("sgl_kernel/sm*/common_ops.*,
/// by GPU"), or empty. From rules/imports.toml, else from siblings that differ only in a GPU, CUDA
/// or ROCm version in their path.
std::vector<std::string> alternative_groups(const Run& run, const std::vector<RootView>& roots);

/// The interpreter that a module's file name is for: "3.10" of "m.cpython-310-x86_64-linux-gnu.so",
/// "3.13t" of ".cpython-313t-"; empty for names that any interpreter takes.
std::string interpreter_of(std::string_view path);

/// A path with its architecture and version tokens replaced by '#': "k/sm90/ops.so" is
/// "k/sm#/ops.so". Equal to the path when it has none.
std::string without_variant(std::string_view path);

/// Weighs every error for each of its roots. It stays an error for a root that somebody will load.
/// It becomes a note for modules named for another interpreter, and for alternatives of a group of
/// which another one loads or that its package does without; one error in all for a group of which
/// none loads, where each lacks something else; a warning for libraries that are no modules, that
/// need no torch and that nothing is known to open for sure, as long as something else of the input
/// loads. A finding that concerns roots of several kinds is split.
void excuse(const Run& run, const std::vector<RootView>& roots,
            const std::vector<std::string>& groups, std::vector<Finding>& findings);

}  // namespace wheelvet
