// /etc/ld.so.cache, as ldconfig writes it and glibc's loader reads it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "facts/bytes.h"

namespace wheelvet {

/// What one processor gets from the cache: file name -> path. `capabilities` are the names of its
/// glibc-hwcaps subfolders, best first ("x86-64-v3"); an entry for one of them is preferred to a
/// plain one, an entry for another is left out. `machine` (EM_*) picks the entries. Reads the new
/// format, alone or behind the old one (glibc up to 2.31 writes both); Unreadable, naming the
/// field, for anything else. Source: glibc elf/dl-cache.c, sysdeps/generic/dl-cache.h.
std::unordered_map<std::string, std::string> read_ld_cache(
    Bytes file, std::uint16_t machine, const std::vector<std::string>& capabilities);

}  // namespace wheelvet
