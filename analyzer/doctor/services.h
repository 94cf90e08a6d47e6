// How processes are started, and which variables each start gets: the interactive shell, systemd
// units with their drop-ins, Compose files, Dockerfiles, environment files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/toml_text.h"
#include "wheelvet/finding.h"
#include "wheelvet/host.h"

namespace wheelvet {

/// The interactive start: on this machine the variables of this process; below a root those of
/// /etc/environment, /etc/profile, /etc/profile.d and the user's own profile.
Start read_interactive(const HostFacts& host);

/// The starts that a file describes; `path` as named on the command line: inside the root, or on
/// this host. WrongUsage when there is no such file.
std::vector<Start> read_service(const HostFacts& host, const std::string& path);

/// "NAME=VALUE" lines as a shell or systemd reads them: quotes taken off, "export" skipped, $NAME
/// replaced from `into` when `expand` is set. What is no assignment is left out.
void read_assignments(std::string_view text, const std::string& path, bool expand, Variables& into);

/// Words of a systemd or shell line: quotes taken off, backslashes resolved.
std::vector<std::string> unquoted_words(std::string_view line);

/// Whether a variable is worth comparing between starts: a toolkit, tuning, the loader.
bool matters(const TomlText& rules, const std::string& name);

std::vector<Finding> check_services(const HostFacts& host, const TomlText& rules);

}  // namespace wheelvet
