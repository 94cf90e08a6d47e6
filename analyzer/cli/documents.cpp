// Commands that print documents of the program itself.
#include <fmt/format.h>

#include "cli/commands.h"
#include "report/render.h"
#include "rules/rules.h"
#include "wheelvet/problem.h"

namespace wheelvet::cli {

int run_rules(const Options& options) {
  std::vector<CatalogEntry> chosen;
  for (const CatalogEntry& entry : load_catalog()) {
    if (options.targets.empty() || options.targets.front() == entry.id) chosen.push_back(entry);
  }
  if (chosen.empty()) {
    throw WrongUsage(
        fmt::format("no rule {}; `wheelvet rules` lists them", options.targets.front()));
  }
  if (options.format == "json") {
    write_output(options, render_json_rules(chosen));
    return 0;
  }
  std::string out;
  for (const CatalogEntry& entry : chosen) {
    if (options.targets.empty()) {
      out += fmt::format("{:<9} {:<8} {}\n", entry.id, entry.severity, entry.title);
    } else {
      out += fmt::format("{} ({}): {}\n\n{}\n\nFix: {}\n\nSource: {}\n", entry.id, entry.severity,
                         entry.title, entry.why, entry.fix, entry.source);
    }
  }
  write_output(options, out);
  return 0;
}

int run_schema(const Options& options) {
  if (options.targets.empty()) {
    write_output(options, fmt::format("{}\n", fmt::join(json_schema_names(), "\n")));
    return 0;
  }
  std::string schema = json_schema(options.targets.front());
  if (schema.empty()) {
    throw WrongUsage(fmt::format("no schema {}; there are: {}", options.targets.front(),
                                 fmt::join(json_schema_names(), ", ")));
  }
  write_output(options, schema);
  return 0;
}

}  // namespace wheelvet::cli
