// NCCL's variables, parsed as NCCL parses them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rules/toml_text.h"
#include "wheelvet/finding.h"
#include "wheelvet/host.h"

namespace wheelvet {

/// One variable as libnccl takes it.
struct NcclSetting {
  std::string name, given, from, start;
  std::string effective;  ///< what it comes to; "default" where the value is ignored
  std::string fault;      ///< why it is not what it seems; empty
  bool fails = false;     ///< ncclCommInit* returns an error
  std::string risk;       ///< why it is worth a second look; empty
};

/// How a value of this rule (rules/doctor.toml, [[nccl]]) is read.
NcclSetting judge_nccl(const TomlTable& rule, std::string name, std::string value);

/// The libnccl of the environment: its version and the names that it holds; its configuration
/// files: NCCL_CONF_FILE or .nccl.conf in the account's home, then /etc/nccl.conf.
NcclFacts read_nccl(const HostFacts& host);

/// The settings of every start, the configuration files' included.
std::vector<NcclSetting> nccl_settings(const HostFacts& host, const TomlText& rules);

/// What `probe --tune --record` wrote: the NCCL and the driver that it measured. Unreadable for
/// what is no such record.
struct TuningRecord {
  std::string path, nccl, driver;
  std::vector<std::string> settings;  ///< "NCCL_PROTO=LL"
};
TuningRecord read_tuning_record(const std::string& path);

std::vector<Finding> check_nccl_settings(const HostFacts& host, const TomlText& rules,
                                         const std::vector<TuningRecord>& records);

}  // namespace wheelvet
