// sitecustomize, usercustomize and the statements of .pth files: which of them Python runs at its
// start, and what they do to the environment.
#pragma once

#include <string>
#include <vector>

#include "machine/environment.h"
#include "rules/toml_text.h"
#include "wheelvet/finding.h"
#include "wheelvet/host.h"

namespace wheelvet {

/// The folders of sys.path: PYTHONPATH, the standard library, site-packages (Lib/site.py).
std::vector<std::string> search_path_of(const HostFacts& host, const Environment& environment);

/// The files on `host.sys_path`, in the order in which Python runs them.
std::vector<SiteFile> read_site_files(const HostFacts& host, const Environment& environment);

/// With the environment's own interpreter (-I -S -B): its parser reads each file from standard
/// input, compiles it to a tree and runs nothing of it. Fills `fault`, `fault_line`, `judged_by`.
/// False when the interpreter could not be asked within the time limit of 10 s.
bool parse_with_interpreter(const std::string& interpreter, SiteFile& file);

/// Says of a start which site files run there, and runs them over its variables.
void apply_site_files(const HostFacts& host, Start& start);

std::vector<Finding> check_site_files(const HostFacts& host, const TomlText& rules);

}  // namespace wheelvet
