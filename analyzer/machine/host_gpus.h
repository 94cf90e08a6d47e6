// The GPUs of this machine, as the NVIDIA driver's own files tell; nothing of it is called.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wheelvet {

struct HostGpus {
  std::vector<std::string> products;  ///< "NVIDIA H200", one for each GPU
  std::string driver;                 ///< "580.65.06"
};

/// Reads /proc/driver/nvidia. Unreadable when there is no GPU that the driver knows.
HostGpus find_host_gpus(const std::string& folder = "/proc/driver/nvidia");

/// "580.65.06" of the text of /proc/driver/nvidia/version; empty when it tells none.
std::string driver_version(std::string_view text);

}  // namespace wheelvet
