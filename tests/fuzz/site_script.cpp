// A sitecustomize.py, or the statements of a .pth: what it does to the environment is told, the
// same twice, and in no more memory than its text lets expect.
#include "doctor/site_script.h"

#include <algorithm>

#include "require.h"

using namespace wheelvet;
using namespace wheelvet::fuzz;

namespace {

std::size_t bytes_of(const SiteRun& run) {
  std::size_t bytes = 0;
  for (const SiteAssignment& each : run.assignments) {
    bytes += each.name.size() + each.value.size() + each.earlier.size();
  }
  for (const auto& [name, variable] : run.after) bytes += name.size() + variable.value.size();
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Variables before = {{"PATH", {"/usr/bin:/bin", "the default", true}},
                                   {"CUDA_HOME", {"/usr/local/cuda", "/etc/environment:1", true}},
                                   {"LD_LIBRARY_PATH", {"", "a branch", false}}};
  std::string_view text = text_of(data, size);
  auto exists = [](const std::string& path) { return path.size() % 2 == 0; };
  SiteRun run = run_site_script(text, before, "/site/sitecustomize.py", exists);
  SiteRun again = run_site_script(text, before, "/site/sitecustomize.py", exists);
  require(bytes_of(run) == bytes_of(again) && run.raised_line == again.raised_line &&
              run.unread == again.unread,
          "the same twice");
  require(bytes_of(run) < (1u << 20) + 1000 * size, "memory in proportion to the text");
  auto ends =
      std::count_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; });
  auto lines = static_cast<unsigned>(ends) + 1;
  require(run.raised_line <= lines, "an exception stands on a line");
  for (const SiteAssignment& each : run.assignments) {
    require(each.line >= 1 && each.line <= lines, "an assignment stands on a line");
    require(!each.how.empty(), "an assignment has a form");
  }
  auto [fault, line] = site_script_fault(text);
  require(fault.empty() || (line >= 1 && line <= lines), "a fault stands on a line");
  return 0;
}
