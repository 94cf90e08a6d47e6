#include "cli/commands.h"
namespace wheelvet::cli { int run_inspect(const Options&) { return 3; } int run_stub(const Options&) { return 3; } }
