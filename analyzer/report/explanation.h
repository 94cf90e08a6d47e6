// Renderers of an answer.
#pragma once

#include <string>

#include "report/render.h"
#include "wheelvet/explanation.h"

namespace wheelvet {

/// For people. Verbosity -1: the first sentence and fix; 0: the root cause whole, of others their
/// sentence; 1: everything.
std::string render_explanation_text(const Answer& answer, const TextOptions& options);

/// JSON of the schema "explain".
std::string render_explanation_json(const Answer& answer);

}  // namespace wheelvet
