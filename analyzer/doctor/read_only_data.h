// The words in a program or library: its section .rodata.
#pragma once

#include <string>

namespace wheelvet {

/// The bytes of .rodata of a file on this host, by its section table; empty for what is no 64-bit
/// ELF, has none, or one of more than 64 MB (0.5 MB in NCCL 2.32, 7 MB in ptxas of CUDA 13.0). A
/// hint only: whoever strips the table gets nothing. Unreadable for a file that cannot be read.
std::string read_only_data(const std::string& path);

}  // namespace wheelvet
