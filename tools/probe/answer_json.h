// JSON of answers and reports. The only file behind it that knows the JSON library is
// answer_json.cpp.
#pragma once

#include <string>

#include "answer.h"
#include "report.h"

namespace wheelvet::probe {

std::string to_json(const Answer& answer);

/// Throws std::runtime_error for anything that to_json(Answer) does not write.
Answer parse_answer(const std::string& text);

std::string to_json(const Report& report);

}  // namespace wheelvet::probe
