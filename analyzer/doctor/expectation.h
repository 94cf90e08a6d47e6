// Verification lists: what a host is expected to be, for hand-over and CI.
#pragma once

#include <string>
#include <vector>

#include "rules/toml_text.h"
#include "wheelvet/doctor_report.h"
#include "wheelvet/finding.h"
#include "wheelvet/host.h"

namespace wheelvet {

/// Compares a list with the host. WrongUsage for a line that means nothing.
std::vector<VerificationLine> judge_expectations(const TomlText& wanted, const HostFacts& host,
                                                 const TomlText& rules);

/// A finding for each line that is not met.
std::vector<Finding> check_expectations(const std::vector<VerificationLine>& lines);

/// The present state as such a list.
std::string record_expectations(const HostFacts& host, const TomlText& rules);

}  // namespace wheelvet
