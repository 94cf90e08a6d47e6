// Words of a scenario in a file of ours: complaints about them name file and line.
#pragma once

#include <string>
#include <vector>

namespace wheelvet {

/// An interpreter: "3.12" or "3.13t".
void require_python(const std::string& python, const std::string& file, unsigned line);

/// GPUs: "sm_120", "12.0", a product, or "host".
void require_gpus(const std::vector<std::string>& gpus, const std::string& file, unsigned line);

/// A release of the NVIDIA driver: "580.65.06".
void require_driver(const std::string& driver, const std::string& file, unsigned line);

}  // namespace wheelvet
