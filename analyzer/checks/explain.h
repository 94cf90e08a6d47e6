#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checks/checks.h"
#include "wheelvet/report.h"

namespace wheelvet {

/// Joins findings, roots and assumptions into the report: verdict, headline, exit-relevant facts.
/// What was judged is said, what was not asked stands in `scope`.
Report explain(const Run& run, const std::vector<RootView>& roots, std::vector<Finding> findings,
               bool with_plans);

/// "wheel", "stub", "folder", "file" or "machine".
std::string_view kind_name(InputKind kind);

/// Short name of a root for people: "sm90/common_ops" of "sgl_kernel/sm90/common_ops.abi3.so".
std::string short_name(const std::string& path, const std::string& package);

}  // namespace wheelvet
