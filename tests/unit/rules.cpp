// The data in rules/ and the code that names it agree.
#include "rules/rules.h"
#include "rules/library_table.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "wheelvet/link.h"
#include "wheelvet/problem.h"

using namespace wheelvet;
namespace fs = std::filesystem;

namespace {

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Every rule id in a string literal of the code.
std::set<std::string> ids_in_code() {
  static const std::regex id(R"re("((?:ARC|LIB|SYM|ABI|VER|FILE|ELF|[A-Z]{2,5})-[0-9]{3})")re");
  std::set<std::string> ids;
  for (const auto& entry : fs::recursive_directory_iterator(WHEELVET_SOURCE "/analyzer")) {
    std::string ending = entry.path().extension().string();
    if (ending != ".cpp" && ending != ".h") continue;
    std::string text = text_of(entry.path());
    for (std::sregex_iterator at(text.begin(), text.end(), id), end; at != end; ++at) {
      ids.insert((*at)[1]);
    }
  }
  return ids;
}

}  // namespace

TEST_CASE("'*' stands for any run of characters but '/'") {
  CHECK(matches("a", "a"));
  CHECK_FALSE(matches("a", "ab"));
  CHECK(matches("*", ""));
  CHECK(matches("lib*.so.*", "libcudart.so.12"));
  CHECK_FALSE(matches("lib*.so.*", "libcudart.so"));
  CHECK(matches("nvidia/cu*/lib/libx.so", "nvidia/cu13/lib/libx.so"));
  CHECK_FALSE(matches("nvidia/cu*/libx.so", "nvidia/cu13/lib/libx.so"));
  CHECK_FALSE(matches("a*", "a/b"));
  CHECK(matches("a*b*c", "axxbyyc"));
  CHECK(matches("a*b*c", "abbc"));
  CHECK_FALSE(matches("a*b*c", "acb"));
  CHECK_FALSE(matches("", "a"));
  CHECK(matches("", ""));
}

TEST_CASE("versions are compared number by number") {
  CHECK(compare_versions("2.10", "2.9") > 0);
  CHECK(compare_versions("2.9.1", "2.10.0") < 0);
  CHECK(compare_versions("2.10", "2.10.0") == 0);
  CHECK(compare_versions("2.10.0+cu130", "2.10.0") == 0);
  CHECK(compare_versions("", "") == 0);
  CHECK(compare_versions("1", "") > 0);
  CHECK(compare_versions("12.8", "12.10") < 0);
  CHECK(compare_versions("99999999999999999999", "1") > 0);
}

TEST_CASE("every id that the code uses is in the catalogue, and every id of it is used") {
  std::set<std::string> used = ids_in_code(), listed;
  for (const CatalogEntry& entry : load_catalog()) {
    CAPTURE(entry.id);
    CHECK(listed.insert(entry.id).second);
    CHECK(used.contains(entry.id));
    CHECK((entry.severity == "error" || entry.severity == "warning" || entry.severity == "note"));
    for (const std::string* part : {&entry.title, &entry.why, &entry.fix, &entry.source}) {
      CHECK_FALSE(part->empty());
    }
  }
  for (const std::string& id : used) {
    CAPTURE(id);
    CHECK(listed.contains(id));
  }
  CHECK(used.size() > 10);
}

TEST_CASE("every library rule says who owns it, and its export table is there and is not empty") {
  Rules rules = load_rules();
  REQUIRE(rules.libraries.size() > 100);
  static const std::set<std::string> kinds = {"driver", "cuda",  "nccl", "system",
                                              "python", "torch", "other"};
  std::set<std::string> sonames, tables;
  for (const LibraryRule& rule : rules.libraries) {
    CAPTURE(rule.soname);
    CHECK_FALSE(rule.soname.empty());
    CHECK(sonames.insert(rule.soname).second);
    CHECK(kinds.contains(rule.kind));
    if (rule.exports.empty()) continue;
    tables.insert(rule.exports);
    const ExportTable* table = export_table(rule.exports);
    CAPTURE(rule.exports);
    REQUIRE(table);
    CHECK(table->names.size() > 5);
    CHECK(table->columns.size() <= 32);
  }
  for (const auto& entry : fs::directory_iterator(WHEELVET_SOURCE "/rules/exports")) {
    std::string name = entry.path().stem().string();
    CAPTURE(name);
    if (entry.is_directory()) continue;  // releases/: which release a name is of
    if (name == "stable_abi") continue;  // "since" and not columns: no library's table
    CHECK(tables.contains(name));
    CHECK(export_table(name));
  }
}

TEST_CASE("every library of the distribution is found, and no other") {
  std::string_view rows = rules_text("distro.txt");
  std::size_t asked = 0;
  while (!rows.empty()) {
    std::size_t end = std::min(rows.find('\n'), rows.size());
    std::string_view row = rows.substr(0, end);
    rows.remove_prefix(std::min(end + 1, rows.size()));
    if (row.empty() || row.front() == '#') continue;
    std::size_t tab = row.find('\t');
    std::string name(row.substr(0, tab));
    if (distro_package(name) != row.substr(tab + 1)) FAIL(name);
    if (!distro_package(name + "x").empty() && distro_package(name + "x") == row.substr(tab + 1)) {
      FAIL_CHECK(name << "x");
    }
    ++asked;
  }
  CHECK(asked > 7000);
  for (const char* no : {"", "a", "lib", "zzz", "libc.so", "#"}) CHECK(distro_package(no).empty());
}

TEST_CASE("a row of the library table is read word by word, and a word that is none is told") {
  std::vector<LibraryRule> rows = read_library_table(
      "# head\n\nliba.so.1 cuda versioned pip=a-cu12,a path=a/lib,b apt=liba1 "
      "prefixes=a,b\nlibb.so system plain");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].soname == "liba.so.1");
  CHECK(rows[0].pip == std::vector<std::string>{"a-cu12", "a"});
  CHECK(rows[0].path == std::vector<std::string>{"a/lib", "b"});
  CHECK(rows[0].prefixes == std::vector<std::string>{"a", "b"});
  CHECK(rows[0].apt == "liba1");
  CHECK(rows[0].versioned);
  CHECK_FALSE(rows[0].plain);
  CHECK(rows[1].plain);
  for (const char* wrong : {"liba.so.1", "liba.so.1 cuda plane", "liba.so.1 cuda pip="}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(read_library_table(wrong), WrongUsage);
  }
}

TEST_CASE("a library is found by its exact soname before a pattern") {
  Rules rules = load_rules();
  std::size_t libc = library_of(rules, "libc.so.6");
  REQUIRE(libc != none);
  CHECK(rules.libraries[libc].kind == "system");
  std::size_t driver = library_of(rules, "libcuda.so.1");
  REQUIRE(driver != none);
  CHECK(rules.libraries[driver].kind == "driver");
  CHECK(library_of(rules, "libnobodys.so.99") == none);
  CHECK(library_of(rules, "") == none);
  for (std::size_t i = 0; i < rules.libraries.size(); ++i) {
    if (rules.libraries[i].soname.find('*') == std::string::npos) {
      CHECK(library_of(rules, rules.libraries[i].soname) == i);
    }
  }
}

TEST_CASE("export tables know the names of their library, by release where they have columns") {
  const ExportTable* libc = export_table("libc");
  REQUIRE(libc);
  CHECK(libc->names.contains("printf"));
  CHECK_FALSE(libc->names.contains("no_such_function"));
  const ExportTable* python = export_table("python");
  REQUIRE(python);
  REQUIRE_FALSE(python->columns.empty());
  auto bit_of = [&](std::string_view release) -> std::uint32_t {
    for (std::size_t i = 0; i < python->columns.size(); ++i) {
      if (python->columns[i] == release) return 1u << i;
    }
    return 0;
  };
  // Objects/object.c: Py_IsNone is new in 3.10; Python/pystate.c: _PyThreadState_GET never was
  // exported.
  CHECK(bit_of("3.12") != 0);
  CHECK((python->names.at("Py_IsNone") & bit_of("3.12")) != 0);
  CHECK((python->names.at("Py_IsNone") & bit_of("3.9")) == 0);
  CHECK((python->names.at("PyModule_Create2") & bit_of("3.9")) != 0);
  CHECK(export_table("no such table") == nullptr);
  CHECK(export_table("") == nullptr);
}

TEST_CASE("policies and imports are read whole") {
  Rules rules = load_rules();
  CHECK_FALSE(rules.policies.empty());
  for (const PolicyRule& policy : rules.policies) {
    CAPTURE(policy.name);
    CHECK(policy.versions.contains("GLIBC"));
    CHECK_FALSE(policy.libraries.empty());
    CHECK_FALSE(policy.arch.empty());
  }
  CHECK(rules.newest_versions.contains("GLIBC"));
  REQUIRE_FALSE(rules.imports.empty());
  CHECK(rules.imports.front().module == "torch");
  for (const ImportRule& rule : rules.imports) {
    for (const ImportStep& step : rule.steps) CHECK((!step.open.empty() || !step.preload.empty()));
  }
  CHECK(distro_package("libnuma.so.1") == "libnuma1");
  CHECK(distro_package("libnobodys.so.99").empty());
}
