// JSON of any origin: the document that is read is written and read again as the same; results of
// the probe and tuning records.
#include "doctor/nccl_settings.h"
#include "facts/dlopen_note.h"
#include "machine/probe_facts.h"
#include "report/json_document.h"
#include "require.h"
#include "support/temporary_file.h"

using namespace wheelvet;
using namespace wheelvet::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = text_of(data, size);
  may_refuse([&] {
    std::string once = write_json(read_json(text), -1);
    require(write_json(read_json(once), -1) == once, "what is written reads as the same");
  });
  may_refuse([&] {
    ProbeFacts facts = parse_probe(text);
    require(!facts.gpus.empty() && !facts.driver.empty(), "a probe has GPUs and a driver");
    require_plain(facts.driver);
    for (const std::string& gpu : facts.gpus) require_plain(gpu);
  });
  read_dlopen_note(text);
  static const test::TemporaryFile file("");
  file.replace(text);
  may_refuse([] { read_tuning_record(file.path()); });
  return 0;
}
