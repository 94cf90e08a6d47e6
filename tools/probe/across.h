// NCCL over processes that a launcher started, on one host or several: every process is a probe
// with one rank, rank 0 gathers what the others saw.
#pragma once

#include <memory>
#include <optional>

#include "rendezvous.h"
#include "report.h"
#include "request.h"

namespace wheelvet::probe {

/// What one rank's process comes to.
struct Across {
  std::unique_ptr<Rendezvous> others;
  std::optional<Report> report;  // of rank 0 alone
  int exit_code = 0;             // of the others: rank 0's, or 1 when it is gone
  std::string words;             // for standard error
};

Across run_across(Request request, const Place& place);

/// Tells the others how it ended, once the report is written: a launcher may end all processes when
/// the first one leaves with a failure.
void dismiss(Across& across, int exit_code);

}  // namespace wheelvet::probe
