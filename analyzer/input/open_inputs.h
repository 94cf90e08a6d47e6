// From names on the command line to inputs with their members; contents are not read yet.
#pragma once

#include <string>
#include <vector>

#include "wheelvet/input.h"

namespace wheelvet {

/// Opens a wheel, a stub wheel, a folder (site-packages, an unpacked wheel, a prefix that has one
/// site-packages) or a single ELF file. What cannot be read becomes a Problem of the input; a path
/// that does not exist, or that is a kind of file not supported, is WrongUsage.
Input open_input(const std::string& path, bool target);

/// The inputs that were named: a folder that holds wheels, and no installed packages, stands for
/// its wheels. WrongUsage when two of them are builds of one project.
std::vector<std::string> name_inputs(const std::vector<std::string>& paths);

/// Opens a folder of an environment on the machine with that root: `folder` is its path for a
/// process there, `mount` its installed path (see Input). Links may lead anywhere inside the root.
Input open_root(const std::string& root, const std::string& folder, const std::string& mount,
                bool target);

}  // namespace wheelvet
