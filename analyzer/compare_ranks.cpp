#include "compare_ranks.h"

#include <fmt/format.h>

#include "config/suppression.h"

namespace wheelvet {
namespace {

// What a rank loads as NCCL: the release, or why it is not known.
struct LoadedNccl {
  std::string version;
  std::string owner;
  std::string unknown;
};

LoadedNccl loaded_nccl(const CudaReport& cuda) {
  LoadedNccl out;
  out.unknown = "nothing in it loads NCCL";
  for (const CudaLibrary& library : cuda.libraries) {
    if (library.kind != "nccl" || library.soname != "libnccl.so.2") continue;
    if (library.state != "found") {
      out.unknown = "libnccl.so.2 is " + library.state;
    } else if (library.version.empty()) {
      out.unknown = library.path + " does not say its release";
    } else {
      return {library.version.substr(0, library.version.find('+')), library.owner, {}};
    }
  }
  return out;
}

std::string shown(const std::string& environment, const LoadedNccl& nccl) {
  if (!nccl.unknown.empty()) return fmt::format("{}: not known, {}", environment, nccl.unknown);
  return fmt::format("{}: NCCL {} ({})", environment, nccl.version, nccl.owner);
}

}  // namespace

void compare_ranks(const Request& request, const std::vector<std::string>& environments,
                   Report& report) {
  if (environments.empty()) return;
  LoadedNccl own = loaded_nccl(report.cuda);
  Finding finding;
  finding.id = "NCCL-003";
  finding.evidence.push_back(shown(request.environment, own));
  bool differ = false, known = own.unknown.empty();
  for (const std::string& environment : environments) {
    Request rank = request;
    rank.environment = environment;
    rank.gpus.clear();
    LoadedNccl other = loaded_nccl(check(rank).cuda);
    finding.evidence.push_back(shown(environment, other));
    known = known && other.unknown.empty();
    differ =
        differ || (own.unknown.empty() && other.unknown.empty() && own.version != other.version);
    report.scope.push_back(environment + ": only its NCCL was compared; check --env vets it");
  }
  if (!differ && known) return;
  finding.severity = differ ? Severity::error : Severity::warning;
  finding.title = differ ? "ranks of one job would load different releases of NCCL"
                         : "the NCCL of some ranks is not known";
  finding.cause = differ
                      ? "a communicator compares the versions of its ranks and refuses to be made"
                      : "only releases that the libraries themselves state are compared";
  finding.fix = differ ? "install one release of NCCL in all environments of the job"
                       : "run wheelvet probe in those environments";
  if (!known) report.complete = false;
  report.findings.push_back(std::move(finding));
  sort_findings(report.findings);
}

}  // namespace wheelvet
