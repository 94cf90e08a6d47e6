#include "report/version.h"

#include <fmt/format.h>

#include "history/history.h"
#include "input/hash.h"
#include "rules/embedded_texts.h"
#include "rules/rules.h"

namespace wheelvet {

const char* program_version() { return WHEELVET_VERSION; }

std::string rules_identity() {
  std::string all;
  for (const auto& [name, text] : embedded_texts()) {
    all += fmt::format("{} {}\n{}", name, text.size(), text);
  }
  return sha256_hex(Bytes(reinterpret_cast<const std::uint8_t*>(all.data()), all.size()))
      .substr(0, 12);
}

std::string version_text() {
  std::string oldest, newest;
  History history = load_history();
  for (const HistoryBuild& build : history.builds) {
    if (oldest.empty() || compare_versions(build.version, oldest) < 0) oldest = build.version;
    if (newest.empty() || compare_versions(build.version, newest) > 0) newest = build.version;
  }
  return fmt::format("wheelvet {}\nrules    {}\nhistory  torch {} to {}, {} builds",
                     program_version(), rules_identity(), oldest, newest, history.builds.size());
}

}  // namespace wheelvet
