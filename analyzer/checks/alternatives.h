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

/// Findings that concern only alternatives of groups in which another one loads become notes. A
/// fault that every alternative of a group has stays what it is.
void excuse_alternatives(const std::vector<RootView>& roots, const std::vector<std::string>& groups,
                         std::vector<Finding>& findings);

/// Modules named for another interpreter than the scenario's are never imported by it: what
/// concerns only such roots becomes a note.
void excuse_other_interpreters(const Run& run, const std::vector<RootView>& roots,
                               std::vector<Finding>& findings);

/// The interpreter that a module's file name is for: "3.10" of "m.cpython-310-x86_64-linux-gnu.so",
/// "3.13t" of ".cpython-313t-"; empty for names that any interpreter takes.
std::string interpreter_of(std::string_view path);

/// A path with its architecture and version tokens replaced by '#': "k/sm90/ops.so" is
/// "k/sm#/ops.so". Equal to the path when it has none.
std::string without_variant(std::string_view path);

/// A library that is no Python module, that does not need torch, and that no rule knows to be
/// opened may be a plugin which nobody opens here. What fails only for such roots is a warning, as
/// long as something else of the input loads.
void excuse_unopened(const Run& run, const std::vector<RootView>& roots,
                     const std::vector<std::string>& groups, std::vector<Finding>& findings);

}  // namespace wheelvet
