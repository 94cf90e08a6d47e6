#include "launcher.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "frame.h"

namespace wheelvet::probe {
namespace {

/// The variables of a launcher. Sources: torch/distributed/elastic/agent (torchrun), the mpirun(1)
/// page of Open MPI, Hydra's proxy (MPICH, Intel MPI), the srun(1) page of SLURM.
struct Variables {
  const char* launcher;
  const char* rank;
  const char* ranks;
  const char* local_rank;
  const char* local_ranks;
  const char* run[2];
};

// The order decides where one launcher was started by another: mpirun inside an allocation of
// SLURM starts its daemons with srun, whose variables then count daemons.
constexpr Variables known[] = {
    {"torchrun",
     "RANK",
     "WORLD_SIZE",
     "LOCAL_RANK",
     "LOCAL_WORLD_SIZE",
     {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"}},
    {"openmpi",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
    {"pmi",
     "PMI_RANK",
     "PMI_SIZE",
     "MPI_LOCALRANKID",
     "MPI_LOCALNRANKS",
     {"SLURM_JOB_ID", "PBS_JOBID"}},
    {"slurm",
     "SLURM_PROCID",
     "SLURM_NTASKS",
     "SLURM_LOCALID",
     "SLURM_NTASKS_PER_NODE",
     {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::optional<int> number(const std::string& text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::string run_of(const Variables& names) {
  std::string run = names.launcher;
  for (const char* part : names.run) run += "/" + variable(part);
  return run;
}

/// Ports of the registered range that no service of the registry claims; the run's name spreads
/// the runs of one host over them.
int port_of(const std::string& run) {
  return 29600 + static_cast<int>(siphash(FrameKey{}, run) % 400);
}

/// torchrun's agent keeps MASTER_PORT for its own store where it says so.
int master_port() {
  std::optional<int> port = number(variable("MASTER_PORT"));
  if (!port) return 0;
  return variable("TORCHELASTIC_USE_AGENT_STORE") == "True" ? *port + 1 : *port;
}

bool alone_on_one_host(const Variables& names, int ranks) {
  std::optional<int> here = number(variable(names.local_ranks));
  return here && *here == ranks;
}

std::string address_of(const Variables& names, int ranks) {
  std::string address = variable("MASTER_ADDR");
  if (!address.empty()) return address;
  for (const char* list : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}) {
    if (!variable(list).empty()) return first_host(variable(list));
  }
  return alone_on_one_host(names, ranks) ? "127.0.0.1" : "";
}

bool take_rendezvous(const std::string& text, Place& place) {
  std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return false;
  std::optional<int> port = number(text.substr(colon + 1));
  if (!port || *port < 1 || *port > 65535) return false;
  place.address = text.substr(0, colon);
  if (place.address.size() > 2 && place.address.front() == '[' && place.address.back() == ']') {
    place.address = place.address.substr(1, place.address.size() - 2);  // [::1]:29600
  }
  place.port = *port;
  return true;
}

std::optional<Place> place_of(const Variables& names, const std::string& rendezvous,
                              std::string& wrong) {
  Place place;
  place.launcher = names.launcher;
  std::optional<int> rank = number(variable(names.rank)), ranks = number(variable(names.ranks));
  if (!rank || !ranks || *rank >= *ranks) {
    wrong = fmt::format("{}={} and {}={}: no rank and number of ranks", names.rank,
                        variable(names.rank), names.ranks, variable(names.ranks));
    return std::nullopt;
  }
  place.rank = *rank;
  place.ranks = *ranks;
  // Hydra under srun leaves the number on the host to SLURM.
  std::optional<int> local = number(variable(names.local_rank));
  if (!local) local = number(variable("SLURM_LOCALID"));
  place.local_rank = local.value_or(0);
  place.run = run_of(names);
  if (!rendezvous.empty()) {
    if (take_rendezvous(rendezvous, place)) return place;
    wrong = fmt::format("--rendezvous {}: HOST:PORT wanted", rendezvous);
    return std::nullopt;
  }
  place.address = address_of(names, place.ranks);
  place.port = master_port() ? master_port() : port_of(place.run);
  if (!place.address.empty()) return place;
  wrong =
      "nothing tells where rank 0 is (MASTER_ADDR, SLURM_STEP_NODELIST): give --rendezvous "
      "HOST:PORT";
  return std::nullopt;
}

}  // namespace

std::string first_host(const std::string& list) {
  std::size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  std::size_t end = list.find_first_of(",-]", bracket + 1);
  if (end == std::string::npos) return "";
  std::string host = list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
  // What follows the brackets belongs to each host: node[1-4]-ib.
  std::size_t close = list.find(']', bracket);
  if (close == std::string::npos) return "";
  return host + list.substr(close + 1, list.find(',', close) - close - 1);
}

std::optional<Place> find_place(const std::string& launcher, const std::string& rendezvous,
                                std::string& wrong) {
  for (const Variables& names : known) {
    bool meant = launcher == names.launcher;
    bool found = !variable(names.rank).empty() && !variable(names.ranks).empty();
    if (meant || (launcher == "auto" && found)) return place_of(names, rendezvous, wrong);
  }
  wrong =
      "no launcher's variables: RANK and WORLD_SIZE, OMPI_COMM_WORLD_RANK and _SIZE, PMI_RANK "
      "and PMI_SIZE, or SLURM_PROCID and SLURM_NTASKS";
  return std::nullopt;
}

}  // namespace wheelvet::probe
