// What compat found, for people and for programs.
#pragma once

#include <string>

#include "report/render.h"
#include "wheelvet/compat.h"

namespace wheelvet {

std::string render_text(const Compat& compat, const TextOptions& options);

/// Pretty-printed JSON of the compat schema.
std::string render_json(const Compat& compat, bool stats);

}  // namespace wheelvet
