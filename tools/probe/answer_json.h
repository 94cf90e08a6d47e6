// JSON of answers and reports. The only file behind it that knows the JSON library is
// answer_json.cpp.
#pragma once

#include <string>

#include "answer.h"
#include "job.h"
#include "report.h"

namespace wheelvet::probe {

std::string to_json(const Answer& answer);

/// Throws std::runtime_error for anything that to_json(Answer) does not write.
Answer parse_answer(const std::string& text);

std::string to_json(const RankPart& part);

/// Throws std::runtime_error for anything that to_json(RankPart) does not write.
RankPart parse_rank_part(const std::string& text);

/// Throws std::runtime_error for a text that is no job.
Job parse_job(const std::string& text);

std::string to_json(const Report& report);

/// The record that stays of --tune: versions, GPUs, links, and what each setting did.
std::string to_tuning_record(const Report& report);

}  // namespace wheelvet::probe
