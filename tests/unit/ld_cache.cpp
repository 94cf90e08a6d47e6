// ld.so.cache: as ldconfig writes it, and with every word a lie.
#include "machine/ld_cache.h"

#include <doctest/doctest.h>
#include <elf.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "support/fixtures.h"
#include "support/temporary_folder.h"
#include "wheelvet/problem.h"

using namespace wheelvet;
using namespace wheelvet::test;

namespace {

using Paths = std::unordered_map<std::string, std::string>;

struct Line {
  std::string name, path;
  std::int32_t flags = 0x0303;  // FLAG_ELF_LIBC6 | FLAG_X8664_LIB64
  std::uint64_t capabilities = 0;
};

constexpr std::uint64_t by_name = std::uint64_t{1} << 62;

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// The new format, with an extension directory when capability folders are named.
std::string made_cache(const std::vector<Line>& lines, const std::vector<std::string>& names = {}) {
  std::string strings;
  std::size_t strings_at = 48 + lines.size() * 24;
  auto note = [&](const std::string& text) {
    auto at = static_cast<std::uint32_t>(strings_at + strings.size());
    strings += text + '\0';
    return at;
  };
  std::string entries, list;
  for (const Line& line : lines) {
    put(entries, line.flags);
    put(entries, note(line.name));
    put(entries, note(line.path));
    put(entries, std::uint32_t{0});
    put(entries, line.capabilities);
  }
  for (const std::string& name : names) put(list, note(name));
  while (strings.size() % 4 != 0) strings += '\0';
  auto extensions_at = static_cast<std::uint32_t>(strings_at + strings.size());
  std::string out = "glibc-ld.so.cache1.1";
  put(out, static_cast<std::uint32_t>(lines.size()));
  put(out, static_cast<std::uint32_t>(strings.size()));
  put(out, std::uint32_t{2});  // little endian
  put(out, names.empty() ? 0 : extensions_at);
  out += std::string(12, '\0') + entries + strings;
  if (names.empty()) return out;
  for (std::uint32_t word :
       {0xeaa42174u, 1u, 1u, 0u, extensions_at + 24, static_cast<std::uint32_t>(list.size())}) {
    put(out, word);
  }
  return out + list;
}

Paths read(const std::string& text, const std::vector<std::string>& levels = {},
           std::uint16_t machine = EM_X86_64) {
  Bytes bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  return read_ld_cache(bytes, machine, levels);
}

// What ldconfig makes of a root with a library in two folders and at two levels; empty when there
// is no ldconfig.
std::string of_ldconfig(const char* format) {
  if (!std::filesystem::exists("/sbin/ldconfig")) return {};
  TemporaryFolder root;
  std::filesystem::path fixtures = WHEELVET_ELF_FIXTURES;
  auto leaf = fixtures / "link_time/libleaf.so", dup = fixtures / "link_time/libdup.so";
  root.put("/etc/ld.so.conf", "/one\n/two\n");
  root.copy("/one/libleaf.so", leaf);
  root.copy("/two/libleaf.so", leaf);
  root.copy("/two/libdup.so", dup);
  root.copy("/one/glibc-hwcaps/x86-64-v2/libleaf.so", leaf);
  root.copy("/two/glibc-hwcaps/x86-64-v3/libleaf.so", leaf);
  std::string command =
      fmt::format("/sbin/ldconfig -X -r '{}' -C /cache -c {} 2>/dev/null", root.path(), format);
  if (std::system(command.c_str()) != 0) return {};
  std::vector<std::uint8_t> bytes = bytes_of(root.path() + "/cache");
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("a cache of ldconfig gives a path for every name, of the first folder that has it") {
  for (const char* format : {"new", "compat"}) {
    CAPTURE(std::string(format));
    std::string cache = of_ldconfig(format);
    if (cache.empty()) {
      MESSAGE("SKIPPED: no ldconfig that works here");
      return;
    }
    Paths paths = read(cache);
    CHECK(paths.at("libleaf.so") == "/one/libleaf.so");
    CHECK(paths.at("libdup.so") == "/two/libdup.so");
    CHECK(read(cache, {"x86-64-v3", "x86-64-v2"}).at("libleaf.so") ==
          "/two/glibc-hwcaps/x86-64-v3/libleaf.so");
    CHECK(read(cache, {"x86-64-v2"}).at("libleaf.so") == "/one/glibc-hwcaps/x86-64-v2/libleaf.so");
    CHECK(read(cache, {}, EM_AARCH64).empty());
  }
}

TEST_CASE("a cache in the old format alone is not read, and said to be so") {
  std::string cache = of_ldconfig("old");
  if (cache.empty()) return;
  CHECK_THROWS_WITH_AS(read(cache), doctest::Contains("old format"), Unreadable);
}

TEST_CASE("entries of other machines and kinds are left out, and the first of equals stays") {
  Paths paths = read(made_cache(
      {{"a", "/32/a", 0x0003}, {"a", "/arm/a", 0x0a03}, {"a", "/first/a"}, {"a", "/second/a"}}));
  CHECK(paths == Paths{{"a", "/first/a"}});
  CHECK(read(made_cache({{"a", "/x", 0x0303}, {"a", "/arm/a", 0x0a03}}), {}, EM_AARCH64) ==
        Paths{{"a", "/arm/a"}});
}

TEST_CASE("a level of the processor is better than none, whatever the order") {
  std::vector<Line> lines = {{"a", "/plain"}, {"a", "/v2", 0x0303, by_name | 1}};
  std::vector<std::string> names = {"x86-64-v3", "x86-64-v2"};
  CHECK(read(made_cache(lines, names), {"x86-64-v2"}).at("a") == "/v2");
  CHECK(read(made_cache(lines, names), {}).at("a") == "/plain");
  std::swap(lines[0], lines[1]);
  CHECK(read(made_cache(lines, names), {"x86-64-v2"}).at("a") == "/v2");
}

TEST_CASE("an entry whose level has no name, or of the old capabilities, is left out") {
  std::vector<Line> lines = {{"a", "/old", 0x0303, 4}, {"a", "/v", 0x0303, by_name | 7}};
  CHECK(read(made_cache(lines, {"x86-64-v2"}), {"x86-64-v2"}).empty());
}

TEST_CASE("a cache that does not hold what it says is unreadable, with the field") {
  auto fails = [](const std::string& text, const char* field) {
    CHECK_THROWS_WITH_AS(read(text), doctest::Contains(field), Unreadable);
  };
  std::string good = made_cache({{"a", "/a"}}, {"x86-64-v2"});
  fails("", "magic");
  fails("glibc-ld.so.cache1.", "magic");
  fails("something else of some length", "magic");
  fails(good.substr(0, 30), "header");
  auto changed = [&](std::size_t at, std::uint32_t word) {
    std::string text = good;
    std::memcpy(text.data() + at, &word, 4);
    return text;
  };
  fails(changed(20, 0xffffffff), "count");               // entries
  fails(changed(48 + 4, 0x7fffffff), "string");          // a name outside
  fails(changed(32, 0xfffffff0), "extensions");          // the directory outside
  fails(good.substr(0, good.size() - 2), "extensions");  // the list cut off
  CHECK(read(changed(32, 1)) == Paths{{"a", "/a"}});     // no directory there: no levels
  std::string unended = made_cache({{"a", "/a"}});
  unended.resize(48 + 24 + 3);  // "a" and "/" remain
  fails(unended, "string");
}

TEST_CASE("the new format behind an old one that says too much is unreadable") {
  std::string text = "ld.so-1.7.0";
  text += '\0';
  put(text, std::uint32_t{0xffffffff});
  text += std::string(64, '\0');
  CHECK_THROWS_AS(read(text), Unreadable);
}
