// Search paths as text: DT_RPATH, DT_RUNPATH and what stands in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wheelvet/machine.h"

namespace wheelvet {

/// The entries of a DT_RPATH or DT_RUNPATH, in order, empty ones too.
std::vector<std::string> split_search_path(std::string_view text);

/// An entry, or a DT_NEEDED with a '/', with its tokens replaced wherever they stand: $ORIGIN and
/// ${ORIGIN} by `origin`, $LIB and $PLATFORM by the machine's. A token ends at the first character
/// that no identifier has; a name that is no token stays as it is. Empty when $ORIGIN or the
/// machine's word is wanted and not known: the loader leaves such an entry out. Source: glibc
/// elf/dl-load.c, is_dst and _dl_dst_substitute.
std::string expand_tokens(std::string_view entry, const std::string& origin,
                          const Machine& machine);

/// Joins a folder and a path by their names alone, "." and ".." removed. A path that begins with
/// '/' stands for itself; relative ones may lead out at the front ("../x").
std::string join_path(std::string_view folder, std::string_view path);

/// What stands before the last '/'; "/" for a file in the root, empty for a bare name.
std::string folder_of(std::string_view path);

}  // namespace wheelvet
