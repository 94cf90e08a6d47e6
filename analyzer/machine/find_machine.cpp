#include "machine/find_machine.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/auxv.h>

#include <cstdlib>

#include "machine/ld_cache.h"
#include "machine/toolkit.h"
#include "machine/tree.h"
#include "rules/rules.h"
#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

#if defined(__aarch64__)
constexpr std::uint16_t own_machine = EM_AARCH64;
#else
constexpr std::uint16_t own_machine = EM_X86_64;
#endif

constexpr std::size_t most_bytes = 64u << 20;

struct Loader {
  const char* path;
  std::uint16_t machine;
};
constexpr Loader loaders[] = {{"/lib64/ld-linux-x86-64.so.2", EM_X86_64},
                              {"/lib/ld-linux-aarch64.so.1", EM_AARCH64}};

// The folders that ld.so was built to search last: a run of strings "/lib/x86_64-linux-gnu/",
// "/usr/lib/", each with a '/' at its end (glibc elf/dl-load.c, system_dirs).
std::vector<std::string> built_in_folders(std::string_view loader) {
  std::vector<std::string> folders;
  for (std::size_t at = loader.find('/'); at != std::string_view::npos;
       at = loader.find('/', at + 1)) {
    if (at != 0 && loader[at - 1] != '\0') continue;
    std::size_t end = loader.find('\0', at);
    if (end == std::string_view::npos) break;
    std::string_view text = loader.substr(at, end - at);
    bool folder = text.size() > 1 && text.ends_with('/') &&
                  text.find("lib") != std::string_view::npos &&
                  text.find_first_of("%$: ") == std::string_view::npos;
    if (folder) {
      folders.emplace_back(text.substr(0, text.size() - 1));
      at = end;
    } else if (!folders.empty()) {
      break;
    }
  }
  return folders;
}

// "2.36" of "stable release version 2.36.", in the banner that ld.so prints.
std::string release_of(std::string_view loader) {
  constexpr std::string_view words = "release version ";
  std::size_t at = loader.find(words);
  if (at == std::string_view::npos) return {};
  std::string_view rest = loader.substr(at + words.size(), 16);
  std::string_view number = rest.substr(0, rest.find_first_not_of("0123456789."));
  while (number.ends_with('.')) number.remove_suffix(1);
  return std::string(number);
}

void split_paths(std::string_view text, std::string_view separators,
                 std::vector<std::string>& out) {
  while (!text.empty()) {
    std::size_t end = text.find_first_of(separators);
    if (end != 0) out.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

// The level of the x86-64 psABI that this processor has, 1 to 4; 0 on other machines. Told by the
// features that came last to each level: not every compiler knows the levels by name.
int own_level() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt")) return 1;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("fma")) {
    return 2;
  }
  bool all = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
  return all ? 4 : 3;
#else
  return 0;
#endif
}

// The levels that this processor has, best first (glibc sysdeps/x86_64/dl-hwcaps_subdirs.c).
std::vector<std::string> own_levels() {
  std::vector<std::string> out;
  for (int level = own_level(); level >= 2; --level) {
    out.push_back(fmt::format("x86-64-v{}", level));
  }
  return out;
}

// What glibc calls this processor: AT_PLATFORM of the kernel, except for newer ones of Intel's
// (glibc sysdeps/x86/cpu-features.c).
std::string own_platform() {
#if defined(__x86_64__)
  if (__builtin_cpu_is("intel") && own_level() >= 3) return "haswell";
#endif
  auto platform = reinterpret_cast<const char*>(::getauxval(AT_PLATFORM));
  return platform ? platform : "";
}

// Subfolders that releases up to 2.36 try besides: every subset of these words, in this order,
// "tls" the weightiest of them; the empty one is the folder itself (glibc elf/dl-hwcaps.c,
// _dl_important_hwcaps).
std::vector<std::string> old_subfolders(const std::string& platform) {
  std::vector<std::string> words = {"tls", platform};
  if (platform == "haswell" && own_level() == 4) words.emplace_back("avx512_1");
  if (platform != "aarch64") words.emplace_back("x86_64");
  std::vector<std::string> out;
  for (unsigned subset = (1u << words.size()) - 1; subset > 0; --subset) {
    std::string folder;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!(subset >> (words.size() - 1 - i) & 1)) continue;
      folder += folder.empty() ? words[i] : "/" + words[i];
    }
    out.push_back(folder);
  }
  return out;
}

// Subfolders of every folder that is searched, in their order. Levels came with 2.33.
std::vector<std::string> subfolders(const Machine& machine,
                                    const std::vector<std::string>& levels) {
  std::vector<std::string> out;
  if (machine.glibc.empty()) return out;
  if (compare_versions(machine.glibc, "2.33") >= 0) {
    for (const std::string& level : levels) out.push_back("glibc-hwcaps/" + level);
  }
  if (compare_versions(machine.glibc, "2.36") <= 0) {
    for (std::string& folder : old_subfolders(machine.platform)) out.push_back(std::move(folder));
  }
  return out;
}

void read_environment(Machine& machine) {
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) {
    split_paths(path, ":;", machine.library_path);
  }
  if (const char* preload = std::getenv("LD_PRELOAD")) {
    split_paths(preload, ": ", machine.preload);
  }
  machine.platform = own_platform();
}

// Comments run from '#' to the end of the line (glibc elf/rtld.c, do_preload from the file).
void read_preload_file(Machine& machine) {
  std::string text = text_of(machine.root, "/etc/ld.so.preload", 1u << 20);
  std::string kept;
  bool comment = false;
  for (char c : text) {
    if (c == '#') comment = true;
    if (c == '\n') comment = false;
    kept += comment ? ' ' : c;
  }
  split_paths(kept, " :\t\n", machine.preload);
}

}  // namespace

Machine find_machine(const std::string& root) {
  Machine machine;
  machine.given = true;
  machine.root = root;
  while (machine.root.ends_with('/')) machine.root.pop_back();
  if (!machine.root.empty() && !is_folder("", machine.root)) {
    throw WrongUsage(root + ": no such folder");
  }
  std::uint16_t elf_machine = own_machine;
  std::vector<std::string> levels;
  if (machine.root.empty()) {
    read_environment(machine);
    machine.isa_level = static_cast<unsigned>(own_level());
    levels = own_levels();
  }
  for (const Loader& loader : loaders) {
    std::string text = text_of(machine.root, loader.path, most_bytes);
    if (text.empty()) continue;
    elf_machine = loader.machine;
    machine.glibc = release_of(text);
    machine.loader = loader.path;
    machine.default_folders = built_in_folders(text);
    break;
  }
  if (!machine.default_folders.empty()) machine.lib = machine.default_folders.front().substr(1);
  if (machine.platform.empty()) machine.platform = elf_machine == EM_AARCH64 ? "aarch64" : "x86_64";
  std::string cache = text_of(machine.root, "/etc/ld.so.cache", most_bytes);
  try {
    if (!cache.empty()) {
      Bytes bytes(reinterpret_cast<const std::uint8_t*>(cache.data()), cache.size());
      machine.cache = read_ld_cache(bytes, elf_machine, levels);
    }
  } catch (const Unreadable&) {
    machine.cache.clear();  // the loader goes on without a cache that it cannot read
  }
  machine.capabilities = subfolders(machine, levels);
  read_preload_file(machine);
  machine.toolkits = find_toolkits(machine.root);
  return machine;
}

}  // namespace wheelvet
