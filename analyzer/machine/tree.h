// The file system of a machine, which may be a folder of this one: a container's image, say.
#pragma once

#include <string>
#include <vector>

namespace wheelvet {

/// Where `path`, absolute as a process of the machine sees it, is on this host. With a root other
/// than "", symbolic links are followed inside it, as a process there would: a link to "/usr/lib"
/// leads to root/usr/lib, and ".." never leads out. Empty when a link leads round in circles.
std::string on_this_host(const std::string& root, const std::string& path);

/// The path, as a process of the machine sees it, that `path` ends at when all symbolic links are
/// followed; empty when there is nothing.
std::string real_path(const std::string& root, const std::string& path);

bool is_folder(const std::string& root, const std::string& path);
bool is_file(const std::string& root, const std::string& path);

/// Names in a folder, sorted; none when it cannot be read.
std::vector<std::string> names_in(const std::string& root, const std::string& path);

/// The text of a regular file of at most `limit` bytes; empty when there is none.
std::string text_of(const std::string& root, const std::string& path, std::size_t limit);

}  // namespace wheelvet
