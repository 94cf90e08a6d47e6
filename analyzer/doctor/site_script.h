// What a file that Python runs at its start does to the environment's variables, told from its
// text.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "wheelvet/host.h"

namespace wheelvet {

/// Runs the text over `before` as far as text tells: assignments to os.environ in their forms,
/// branches on variables and on files, functions of its own that it calls, loops over literal
/// mappings, and the exception that a value which is no string raises (os.environ takes none but
/// str: Lib/os.py, _Environ). `exists` answers os.path.exists. What only a run would tell, and
/// where the text asks for more work than one of its length should, is named in `unread`. Never
/// throws for what the text holds.
SiteRun run_site_script(std::string_view text, const Variables& before, const std::string& path,
                        const std::function<bool(const std::string&)>& exists);

/// What is wrong with the text's brackets, strings and indentation, and its line; empty when it can
/// be read. Python may still refuse what this accepts.
std::pair<std::string, unsigned> site_script_fault(std::string_view text);

}  // namespace wheelvet
