#include "matrix/run_identity.h"

#include <fmt/format.h>

#include "input/hash.h"
#include "report/version.h"

namespace wheelvet {
namespace {

class Collected {
 public:
  // Lengths go in front, so that no two lists of texts become one.
  void add(const std::string& text) { all_ += fmt::format("{}:{}\n", text.size(), text); }

  void add(const std::vector<std::string>& texts) {
    all_ += fmt::format("{} texts\n", texts.size());
    for (const std::string& text : texts) add(text);
  }

  std::string hash() const {
    return sha256_hex(Bytes(reinterpret_cast<const std::uint8_t*>(all_.data()), all_.size()));
  }

 private:
  std::string all_;
};

void add_plan(const MatrixPlan& plan, Collected& out) {
  for (const PlannedCell& cell : plan_cells(plan)) {
    out.add({cell.name.target, cell.name.provider, cell.name.scenario});
  }
  for (const MatrixScenario& each : plan.scenarios) {
    out.add({each.name, each.python});
    out.add(each.imports);
    out.add(each.gpus);
  }
  for (const Expectation& each : plan.expectations) {
    out.add({each.cells.target, each.cells.provider, each.cells.scenario, each.reason});
    out.add(each.rules);
  }
}

void add_gate(const Gate& gate, Collected& out) {
  out.add(gate.select);
  out.add(gate.ignore);
  for (const SeveritySetting& each : gate.severities) {
    out.add({each.rule, std::string(to_string(each.severity))});
  }
  for (const Suppression& each : gate.suppressions) {
    out.add(
        {each.rule, each.object, each.symbol, each.target, each.provider, each.reason, each.until});
  }
}

}  // namespace

std::string run_identity(const MatrixPlan& plan, const MatrixRequest& request, const Gate& gate,
                         const std::string& baseline) {
  Collected out;
  out.add({program_version(), rules_identity()});
  add_plan(plan, out);
  const Request& each = request.each;
  out.add({each.python, each.platform, each.driver, each.hash ? "hash" : ""});
  out.add(each.imports);
  out.add(each.gpus);
  out.add(std::string(to_string(request.threshold)));
  add_gate(gate, out);
  out.add(baseline.empty() ? "" : sha256_of_file(baseline));
  return out.hash();
}

}  // namespace wheelvet
