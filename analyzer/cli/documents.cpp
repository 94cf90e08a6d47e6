// Commands that print documents of the program itself.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "report/render.h"
#include "rules/rules.h"
#include "wheelvet/problem.h"

namespace wheelvet::cli {

int run_rules(const Options& options) {
  const std::vector<CatalogEntry> catalog = load_catalog();
  std::vector<CatalogEntry> chosen =
      options.targets.empty() ? catalog : std::vector<CatalogEntry>{};
  for (const std::string& id : options.targets) {
    auto found = std::find_if(catalog.begin(), catalog.end(),
                              [&](const CatalogEntry& entry) { return entry.id == id; });
    if (found == catalog.end()) {
      throw WrongUsage(fmt::format("no rule {}; `wheelvet rules` lists them", id));
    }
    chosen.push_back(*found);
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
      out += out.empty() ? "" : "\n";
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
