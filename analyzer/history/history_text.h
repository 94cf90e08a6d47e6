// The two parts of the table that are text: a word and a value per line.
#pragma once

#include <string_view>
#include <vector>

#include "history/history.h"

namespace wheelvet {

/// Coverage, libraries and builds. Unreadable with the offset of the line it does not understand.
void read_head(std::string_view text, History& history);

/// What is known of each of `builds` builds, in their order.
std::vector<BuildFacts> read_facts_text(std::string_view text, std::size_t builds);

}  // namespace wheelvet
