// Reports of cells that were judged before, by everything that a report follows from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run.h"
#include "wheelvet/report.h"

namespace wheelvet {

/// $XDG_CACHE_HOME/wheelvet/results, or the same in ~/.cache; empty when neither is known.
std::string default_cache_folder();

/// The key of one judgement; empty when it must not be kept: a folder may change without anything
/// that is cheap to read telling of it, and rules of a folder of their own carry no version.
std::string cache_key(const Request& request, const std::vector<const Input*>& inputs);

/// Nothing when it is not there, or cannot be read: then it is judged again.
std::optional<Report> cached_report(const std::string& folder, const std::string& key);

/// Keeps a report. A cache that cannot be written is no fault of the run.
void keep_report(const std::string& folder, const std::string& key, const Report& report);

}  // namespace wheelvet
