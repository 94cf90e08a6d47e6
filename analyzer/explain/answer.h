// From a text to its answer.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/knowledge.h"
#include "wheelvet/explanation.h"

namespace wheelvet {

struct Question {
  /// Hands out the text piece by piece; an empty piece ends it.
  std::function<std::string_view()> next;
  std::vector<std::string> targets;    ///< wheels or folders that the failing file is in
  std::vector<std::string> providers;  ///< what is taken to be there beside them
  std::string environment;             ///< prefix of the environment that failed
  std::string python;
  unsigned jobs = 0;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

/// Explains every error of the text, the root cause first; with files or an environment, what their
/// simulation says of it. No explanations: the text says nothing that we know.
Answer answer(const Question& question);

/// The same of a text that was read, without files. What the text tells becomes known.
Answer explain_log(Knowledge& knowledge, const Log& log, const Question& question);

}  // namespace wheelvet
