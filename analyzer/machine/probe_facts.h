// What `wheelvet probe --format json` found out about a machine's GPUs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

struct ProbeFacts {
  std::string driver;             ///< "580.95.05"
  std::vector<std::string> gpus;  ///< "sm_90", each once, in the order of the devices
  std::string verdict;            ///< pass, fail, interrupted
};

/// Unreadable when the text is no result of the probe, or of one that found no driver or GPU.
ProbeFacts parse_probe(std::string_view text);

ProbeFacts read_probe(const std::string& path);

}  // namespace wheelvet
