// Where this process stands among those that a launcher (torchrun, mpirun, mpiexec, srun) started.
#pragma once

#include <optional>
#include <string>

namespace wheelvet::probe {

struct Place {
  std::string launcher;  // torchrun, openmpi, pmi, slurm
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;   // among those on this host
  std::string address;  // where rank 0 listens
  int port = 0;
  std::string run;  // what the launcher calls this run: alike for all of its processes
};

/// Reads the launcher's variables; `launcher` is one of the names above or "auto", `rendezvous` is
/// HOST:PORT or empty. On failure nothing, and `wrong` says what lacks.
std::optional<Place> find_place(const std::string& launcher, const std::string& rendezvous,
                                std::string& wrong);

/// The first host of a list as SLURM writes it, such as "node[003-012,020],login1".
std::string first_host(const std::string& list);

}  // namespace wheelvet::probe
