// TOML that a project or a folder of rules holds. The first byte picks the reader.
#include <algorithm>

#include "config/configuration.h"
#include "matrix/matrix_file.h"
#include "require.h"
#include "rules/library_table.h"
#include "rules/toml_document.h"
#include "support/temporary_file.h"
#include "support/temporary_folder.h"

using namespace wheelvet;
using namespace wheelvet::fuzz;

namespace {

std::size_t depth_of(const Document& document) {
  std::size_t deepest = 0;
  for (const Document& item : document.items) deepest = std::max(deepest, depth_of(item));
  for (const auto& [key, value] : document.members) deepest = std::max(deepest, depth_of(value));
  return deepest + 1;
}

void read_plain(std::string_view text) {
  may_refuse([&] {
    Document document = read_toml(text, "t.toml");
    require(depth_of(document) < 1000, "nesting is bounded");
  });
}

void read_project(std::string_view text) {
  static const test::TemporaryFile file("");
  static const std::vector<std::string> keys = setting_keys();
  file.replace(text);
  Configuration configuration = read_configuration(file.path());
  for (const Setting& setting : configuration.settings) {
    require(std::find(keys.begin(), keys.end(), setting.key) != keys.end(), "a known key");
  }
  for (const Suppression& each : configuration.suppressions) {
    require(!each.reason.empty() && !each.rule.empty(), "a suppression says what and why");
  }
  Gate gate{configuration.file,         {},          {}, configuration.severities,
            configuration.suppressions, "2026-01-01"};
  Report report;
  report.findings.resize(1);
  report.findings[0].id = "SYM-001";
  report.findings[0].objects = {"a.so"};
  apply_gate(gate, report);
  judge_gate(gate);
}

// The patterns of a matrix look into this folder alone: '/' is taken out of the text.
void read_matrix(std::string text) {
  static const test::TemporaryFolder folder;
  static const bool made = [] {
    for (const char* name : {"/a-1.whl", "/b-2.whl", "/w/c-3.whl"}) folder.put(name);
    return true;
  }();
  require(made, "files to match");
  std::replace(text.begin(), text.end(), '/', '_');
  folder.put("/matrix.toml", text);
  MatrixPlan plan = read_matrix_file(folder.path() + "/matrix.toml");
  std::vector<PlannedCell> cells = plan_cells(plan);
  require(!cells.empty(), "a plan has cells");
  std::size_t in_parts = 0;
  for (std::size_t part = 1; part <= 3; ++part) in_parts += shard_of(cells, part, 3).size();
  require(in_parts == cells.size(), "every cell is in one part");
  judge_expectations(plan, cells);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view text = text_of(data + 1, size - 1);
  read_plain(text);
  may_refuse([&] {
    switch (data[0] % 3) {
      case 0:
        return read_project(text);
      case 1:
        return read_matrix(std::string(text));
      default:
        read_library_table(text);
    }
  });
  return 0;
}
