// The doctor's parts that judge text alone: NCCL's values, start-up files, services' words, diffs.
#include <doctest/doctest.h>

#include "doctor/fixes.h"
#include "doctor/nccl_settings.h"
#include "doctor/services.h"
#include "doctor/site_script.h"
#include "doctor/words.h"
#include "rules/rules.h"

using namespace wheelvet;

namespace {

NcclSetting taken(const std::string& name, const std::string& value) {
  static const TomlText rules = read_toml(rules_text("doctor.toml"), "rules/doctor.toml");
  for (const TomlTable& rule : rules.at("nccl")) {
    for (const std::string& each : toml_values(rule, "names")) {
      if (each == name) return judge_nccl(rule, name, value);
    }
  }
  FAIL(name);
  return {};
}

SiteRun run(std::string_view text, const Variables& before = {}) {
  return run_site_script(text, before, "/x/sitecustomize.py",
                         [](const std::string& path) { return path == "/there"; });
}

std::string after(const SiteRun& run, const std::string& name) {
  auto found = run.after.find(name);
  return found == run.after.end() ? "(unset)" : found->second.value;
}

}  // namespace

TEST_CASE("NCCL's lists take any case and fail on a word they do not know") {
  for (const char* good : {"LL", "ll,simple", "^LL", "^LL,LL128", "simple;allreduce:ll"}) {
    CAPTURE(good);
    CHECK_FALSE(taken("NCCL_PROTO", good).fails);
  }
  for (const char* bad : {"LL12", " LL", "LL, Simple", "^LL,^LL128", "LL;Simple", "sum:LL"}) {
    CAPTURE(bad);
    CHECK(taken("NCCL_PROTO", bad).fails);
  }
}

TEST_CASE("NCCL's levels are read in capitals, or as numbers of old") {
  CHECK(taken("NCCL_P2P_LEVEL", "SYS").effective == "SYS");
  CHECK(taken("NCCL_P2P_LEVEL", "sys").effective == "default");
  CHECK(taken("NCCL_P2P_LEVEL", "2").effective == "PXB");
  CHECK(taken("NCCL_P2P_LEVEL", "5").fault.empty());
  CHECK_FALSE(taken("NCCL_P2P_LEVEL", "6").fault.empty());
}

TEST_CASE("NCCL's numbers are read as strtoll reads them") {
  CHECK(taken("NCCL_BUFFSIZE", "0x10").effective == "16");
  CHECK(taken("NCCL_BUFFSIZE", "4M").effective == "4");
  CHECK(taken("NCCL_BUFFSIZE", "99999999999999999999").effective == "default");
  CHECK(taken("NCCL_MAX_NCHANNELS", "0").effective == "1");
  CHECK(taken("NCCL_MAX_NCHANNELS", "").effective == "default");
  CHECK(taken("NCCL_NTHREADS", "500").effective == "512");
  CHECK(taken("NCCL_NTHREADS", "32").effective == "64");
  CHECK(taken("NCCL_NTHREADS", "-1").effective == "default");
}

TEST_CASE("a value that is no string ends a start-up file") {
  SiteRun ended =
      run("import os\nos.environ['A'] = '1'\nos.environ['B'] = ...\nos.environ['C'] = '3'\n");
  CHECK(ended.raised_line == 3);
  CHECK(after(ended, "A") == "1");
  CHECK(after(ended, "C") == "(unset)");
  SiteRun caught =
      run("import os\ntry:\n  os.environ['B'] = 1\n  os.environ['C'] = '3'\nexcept TypeError:\n  "
          "pass\nos.environ['D'] = '4'\n");
  CHECK(caught.raised_line == 0);
  CHECK(after(caught, "C") == "(unset)");
  CHECK(after(caught, "D") == "4");
}

TEST_CASE("a start-up file is followed through its branches and functions") {
  Variables before{{"SET", {"old", "shell", true}}};
  SiteRun followed =
      run("import os as o\n"
          "o.environ.setdefault('SET', 'new')\n"
          "if 'SET' in o.environ:\n    o.environ['A'] = 'yes'\nelse:\n    o.environ['A'] = 'no'\n"
          "if o.path.exists('/there'):\n    o.environ['B'] = o.path.join('/there', 'lib')\n"
          "def put(k, v='d'):\n    o.environ[k] = v\nput('C')\n"
          "for k, v in {'D': '1'}.items():\n    o.environ[k] = v\n",
          before);
  CHECK(after(followed, "SET") == "old");
  CHECK(after(followed, "A") == "yes");
  CHECK(after(followed, "B") == "/there/lib");
  CHECK(after(followed, "C") == "d");
  CHECK(after(followed, "D") == "1");
}

TEST_CASE("a start-up file with any text is read to its end") {
  for (const char* text :
       {"", "(", "'''", "if", "os.environ[", "x = [1,", "\\", "def f(:\n", "\t \n x", "for a in",
        "import os\nos.environ['A'] = os.environ['A']\n"}) {
    CAPTURE(text);
    run(text);
    site_script_fault(text);
  }
  CHECK(site_script_fault("x = (1,\n").second > 0);
  CHECK(site_script_fault("x = 1\n").first.empty());
}

TEST_CASE("words of a unit are taken apart as systemd does") {
  CHECK(unquoted_words("A=1 \"B=2 3\" C='4'") == std::vector<std::string>{"A=1", "B=2 3", "C=4"});
  Variables into;
  read_assignments("# x\nexport A=1\nB=\"$A/b\"\nC='$A'\nno line\n", "/etc/x", true, into);
  CHECK(into["B"].value == "1/b");
  CHECK(into["B"].from == "/etc/x:3");
  CHECK(into["C"].value == "$A");
}

TEST_CASE("a diff shows three lines around each change") {
  std::string before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n", after = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
  CHECK(unified_diff("/f", before, after) ==
        "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
  CHECK(unified_diff("/f", "", "x\n") == "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+x\n");
}

TEST_CASE("the nearest name is at most two letters away") {
  std::vector<std::string> known{"NCCL_P2P_LEVEL", "NCCL_PROTO"};
  CHECK(nearest_name("NCCL_P2P_LEVLE", known) == "NCCL_P2P_LEVEL");
  CHECK(nearest_name("NCCL_PROTOS", known) == "NCCL_PROTO");
  CHECK(nearest_name("NCCL_TOPO_FILE", known).empty());
  CHECK(shell_quoted("a'b") == "'a'\\''b'");
}
