// One line on the terminal that says what a long step is doing; gone when the step is.
#pragma once

#include <string>

namespace wheelvet::probe {

/// True where there is a terminal to show it on and nobody asked for quiet.
bool shows_progress(bool quiet);

/// "nccl-ranks  12 s: all-reduce of 256 MB". Nothing in the first second.
void show_progress(const std::string& what, double seconds, const std::string& stage);

void clear_progress();

}  // namespace wheelvet::probe
