// Inputs that were made to end the program, or to take more time or memory than their size lets
// expect.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "doctor/loader_paths.h"
#include "doctor/nccl_settings.h"
#include "doctor/services.h"
#include "doctor/site_script.h"
#include "doctor/words.h"
#include "explain/answer.h"
#include "facts/elf_facts.h"
#include "facts/slice.h"
#include "input/stub_manifest.h"
#include "report/json_document.h"
#include "rules/rules.h"
#include "rules/toml_document.h"
#include "support/temporary_file.h"
#include "support/temporary_folder.h"
#include "wheelvet/problem.h"

using namespace wheelvet;

namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

Document toml(const std::string& text) { return read_toml(text, std::string("t")); }

SiteRun run(const std::string& text) {
  return run_site_script(text, {}, "/x/sitecustomize.py", [](const std::string&) { return false; });
}

std::size_t largest(const Variables& variables) {
  std::size_t most = 0;
  for (const auto& [name, variable] : variables) most = std::max(most, variable.value.size());
  return most;
}

}  // namespace

TEST_CASE("a TOML key of a hundred thousand parts is refused") {
  constexpr std::size_t parts = 100000;
  for (const std::string& text :
       {repeated("a.", parts) + "a = 1", "[" + repeated("a.", parts) + "a]",
        repeated("\"=\".", parts) + "a = 1", repeated("'#'.", parts) + "a = 1",
        "a = [\"\"\"b\"\"\"\", {" + repeated("a.", parts) + "a = 1}]",
        "a = '''b''''' # '\n" + repeated("a . ", parts) + "a = 1",
        "a = \"\\\"\" # \"\n" + repeated("a.", parts) + "a = 1"}) {
    CAPTURE(text.substr(0, 40));
    CHECK_THROWS_AS(toml(text), WrongUsage);
  }
}

TEST_CASE("dots in texts, numbers and comments are no parts of a TOML key") {
  std::string many = repeated("1.5, ", 50);
  Document read = toml("a.b = \"" + many + "\"\nc = [" + many + "]\nd = '''\n" + many + "\"''' # " +
                       many + "\ne = \"\\\"" + many + "\"\n");
  CHECK(read.members.size() == 4);
  REQUIRE(read.find("c"));
  CHECK(read.find("c")->items.size() == 50);
}

TEST_CASE("what the TOML parser calls impossible is refused") {
  for (const std::string& text :
       {std::string("[:x]"), std::string("a = 1978-05-27T\x01\x01\n"), std::string("a = 1 \u00e9"),
        std::string("\u00e9 = 1"), std::string("a = \u2003 \u0301")}) {
    CAPTURE(text);
    CHECK_THROWS_AS(toml(text), WrongUsage);
  }
}

TEST_CASE("a number that no double holds is a Problem of JSON") {
  CHECK_THROWS_AS(read_json(R"({"a": 1e999})"), Unreadable);
  CHECK(read_json(R"({"a": 1e99})").find("a")->real == 1e99);
}

TEST_CASE("a tuning record may have a driver whose version is no text") {
  test::TemporaryFile file(R"({"nccl": "2.28.9", "settings": [], "driver": {"version": 580}})");
  TuningRecord record = read_tuning_record(file.path());
  CHECK(record.nccl == "2.28.9");
  CHECK(record.driver.empty());
}

TEST_CASE("a value of a site file that doubles with each line becomes unknown") {
  for (const char* line :
       {"a = a + a\n", "a = f'{a}{a}'\n", "a = ':'.join([a, a])\n", "a = os.path.join(a, a)\n"}) {
    CAPTURE(line);
    SiteRun done = run("import os\na = '0123456789'\n" + repeated(line, 60) +
                       "os.environ['A'] = a\nos.environ['B'] = 'b'\n");
    CHECK(largest(done.after) <= (128u << 10));
    REQUIRE(done.after.contains("A"));
    CHECK_FALSE(done.after.at("A").sure);
    CHECK(done.after.at("B").value == "b");
  }
  SiteRun lists = run("a = ['x']\n" + repeated("a = [a, a]\n", 60) + "b = {'k': a}\n");
  CHECK(lists.raised_line == 0);
}

TEST_CASE("a site file whose functions call each other twice is given up, and that is said") {
  std::string text = "import os\ndef f0():\n os.environ['X'] = '1'\n";
  for (int i = 1; i < 38; ++i) {
    text += "def f" + std::to_string(i) + "(a=f" + std::to_string(i - 1) + "() + f" +
            std::to_string(i - 1) + "()):\n f" + std::to_string(i - 1) + "()\n";
  }
  SiteRun done = run(text + "f37()\nf37()\n");
  CHECK(std::any_of(done.unread.begin(), done.unread.end(), [](const std::string& each) {
    return each.find("more than is followed") != std::string::npos;
  }));
}

TEST_CASE("variables that name themselves stop growing") {
  Variables variables;
  read_assignments("A=0123456789\n" + repeated("A=$A$A\n", 60) + "B=b\nC=$B\n", "/etc/profile",
                   true, variables);
  CHECK(largest(variables) <= (6u << 20));
  CHECK(variables.at("B").value == "b");
}

TEST_CASE("a name as long as a file is looked up in one pass") {
  Variables variables;
  read_assignments("A=1\nB=x$" + std::string(1u << 20, 'A') + "$A.\n", "/etc/profile", true,
                   variables);
  CHECK(variables.at("B").value == "x1.");
}

TEST_CASE("ld.so.conf files that include each other are read once") {
  test::TemporaryFolder root;
  root.put("/etc/ld.so.conf", repeated("include /etc/ld.so.conf.d/*.conf\n", 100));
  for (const char* name : {"/etc/ld.so.conf.d/a.conf", "/etc/ld.so.conf.d/b.conf"}) {
    root.put(name, repeated("include /etc/ld.so.conf.d/*.conf\n", 100) + "/lib/x\n");
  }
  CHECK(configured_folders(root.path()) == std::vector<std::string>{"/lib/x", "/lib/x"});
}

TEST_CASE("a pattern of many stars takes no longer than the product of the lengths") {
  std::string text(250, 'a');
  CHECK_FALSE(matches(repeated("*a", 60) + "b", text));
  CHECK(matches(repeated("*a", 60) + "*", text));
  CHECK_FALSE(matches("*b*", "a/b"));
  CHECK(matches("*/*b*", "a/ab"));
  CHECK_FALSE(matches("a*", "a/b"));
}

TEST_CASE("an ELF file without segments has a slice that can be written") {
  CHECK(write_slice(ElfFacts{}).size() > 64);
}

TEST_CASE("a release of any number of digits is explained") {
  CHECK(leading_number("12.8") == 12);
  CHECK(leading_number("") == 0);
  CHECK(leading_number(std::string(30, '9')) == 1000000);
  Knowledge knowledge;
  knowledge.explain = load_explain_rules();
  knowledge.rules = load_rules();
  knowledge.history = load_history();
  LogReader reader(knowledge.explain);
  reader.add(
      "cuDNN version incompatibility: PyTorch was compiled against (99999999999, 1, 0) but found "
      "runtime version (8, 9, 7)");
  CHECK(explain_log(knowledge, reader.end(), {}).explanations.size() == 1);
}

TEST_CASE("no fact of a stub's origin begins a line of its manifest") {
  Input stub;
  stub.label = "a.whl";
  stub.origin = StubOrigin{"a.whl", 1, "00\n\nX"};
  Input again;
  read_stub_manifest(write_stub_manifest(stub, {{"ZIP-001\n\nX", "m", "d", {}}}, {}), again);
  CHECK(again.faults.size() == 1);
}
