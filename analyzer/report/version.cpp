#include "report/version.h"

namespace wheelvet {

const char* program_version() { return WHEELVET_VERSION; }

}  // namespace wheelvet
