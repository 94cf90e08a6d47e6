// Any text on the way to an explanation: a pasted line, half a log, binary garbage.
#include <cstdint>
#include <string_view>

#include "explain/answer.h"

using namespace wheelvet;

namespace {

Knowledge load() {
  Knowledge knowledge;
  knowledge.explain = load_explain_rules();
  knowledge.rules = load_rules();
  knowledge.history = load_history();
  return knowledge;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Knowledge knowledge = load();
  std::string_view text(reinterpret_cast<const char*>(data), size);
  // Reading the wordings takes longer than most inputs do.
  static const LogReader fresh(knowledge.explain);
  LogReader reader = fresh;
  // In two pieces: a message may be split between them.
  reader.add(text.substr(0, size / 2));
  reader.add(text.substr(size / 2));
  Answer found = explain_log(knowledge, reader.end(), {});
  if (found.bytes != size) __builtin_trap();
  return 0;
}
