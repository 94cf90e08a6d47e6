// NCCL's own log (NCCL_DEBUG=INFO), read back: which version, channels, transports, network and
// settings.
#pragma once

#include <string>

#include "answer.h"

namespace wheelvet::probe {

/// Reads what a log file says into `log`, adding to what is there. A missing file says nothing.
void read_nccl_log(const std::string& path, NcclLog& log);

}  // namespace wheelvet::probe
