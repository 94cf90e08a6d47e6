// The process table, as far as the probe needs it to leave nothing running.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace wheelvet::probe {

struct Process {
  pid_t id = 0;
  pid_t parent = 0;
  char state = '?';
  std::string name;
};

/// Every process below `root`, zombies included.
std::vector<Process> descendants(pid_t root);

}  // namespace wheelvet::probe
