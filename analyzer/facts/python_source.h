// What a Python file imports and which shared libraries it opens, told from its text alone.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "facts/python_value.h"

namespace wheelvet {

struct PythonImport {
  std::string module;              ///< absolute; leading dots stay where they leave the top package
  std::vector<std::string> names;  ///< of `from module import ...`; may be "*"
  bool guarded = false;            ///< may not run, or its ImportError may be swallowed
  bool in_function = false;
  bool by_call = false;  ///< importlib.import_module: '*' for what is not literal
  unsigned line = 0;
};

enum class PythonPlace {
  searched,  ///< a name without a folder: the loader searches for it
  packages,  ///< the pattern is relative to the folder that packages lie in (site-packages)
  absolute,
  unknown,  ///< relative to a folder that the text does not tell
};

struct PythonOpen {
  std::string pattern;  ///< '*' for any text, which may hold a '/'
  PythonPlace place = PythonPlace::unknown;
  bool global = false;  ///< RTLD_GLOBAL; what nothing says is RTLD_LOCAL
  bool guarded = false;
  /// A function of the file does it. What a function does that is called while the file is
  /// imported stands here a second time, without this, and with the call's line.
  bool in_function = false;
  std::string call;  ///< what opens it: "ctypes.CDLL", "torch.ops.load_library", ...
  unsigned line = 0;
};

/// A function whose calls open something, or give the name of something to open; or a name of a
/// module that holds such a name.
struct PythonHelper {
  struct Open {
    PythonValue path, mode;
    std::string call;
    bool guarded = false;
  };
  std::vector<std::string> parameters;
  std::vector<PythonValue> defaults;  ///< one for each parameter
  PythonValue returns;
  std::vector<Open> opens;
  bool constant = false;  ///< not a function: `returns` is what the name holds
};
/// By dotted name, "package.module.function".
using PythonHelpers = std::map<std::string, PythonHelper, std::less<>>;

struct PythonSource {
  std::vector<PythonImport> imports;  ///< in the order of the text
  std::vector<PythonOpen> opens;
  std::vector<std::string> mentions;  ///< literals that name a shared library, each once
  PythonHelpers helpers;              ///< its own functions, to be known when other files are read
  bool sets_dlopenflags_global = false;
  bool incomplete = false;  ///< not all of it is Python as we know it, or a limit was met
};

/// Reads a file that lies at `path` below the folder that packages lie in, such as
/// "torch/__init__.py". `known`: the helpers of files read before. To follow calls between the
/// files of a package, read all of them once, and then again with the helpers of all.
/// Left out: branches for other systems than Linux, `if TYPE_CHECKING`, `if __name__ ==
/// "__main__"`. Never throws for what the text holds.
PythonSource read_python_source(std::string_view text, std::string_view path,
                                const PythonHelpers& known = {});

/// True when the text may open a library, or hold a helper that does: a cheap look.
bool may_open_libraries(std::string_view text);

}  // namespace wheelvet
