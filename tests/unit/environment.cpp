// Environments and the file systems that they lie in, on folders made for each claim.
#include "machine/environment.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <vector>

#include "machine/tree.h"
#include "support/temporary_folder.h"

using namespace wheelvet;
using namespace wheelvet::test;

using Texts = std::vector<std::string>;

namespace {

// A variable of the environment for as long as the object lives; null unsets it.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) before_ = old;
    set(value);
  }
  ~Variable() { set(before_.empty() ? nullptr : before_.c_str()); }

 private:
  void set(const char* value) {
    if (value) {
      ::setenv(name_, value, 1);
    } else {
      ::unsetenv(name_);
    }
  }
  const char* name_;
  std::string before_;
};

void put_base(const TemporaryFolder& at, const std::string& prefix, const std::string& python) {
  at.put(prefix + "/bin/" + python);
  at.link(prefix + "/bin/python3", python);
  at.folder(prefix + "/lib/" + python + "/lib-dynload");
  at.folder(prefix + "/lib/" + python + "/site-packages");
}

void put_venv(const TemporaryFolder& at, const std::string& more = {}) {
  put_base(at, "/base", "python3.12");
  at.put("/venv/pyvenv.cfg", "home = " + at.path() + "/base/bin\nversion = 3.12.1\n" + more);
  at.link("/venv/bin/python3", at.path() + "/base/bin/python3");
  at.folder("/venv/lib/python3.12/site-packages");
}

}  // namespace

TEST_CASE("a venv has its own site-packages, its base's interpreter and standard library") {
  Variable home("HOME", "/nonexistent");
  TemporaryFolder at;
  put_venv(at);
  Environment env = find_environment("", at.path() + "/venv/");
  CHECK(env.prefix == at.path() + "/venv");
  CHECK(env.python == "3.12");
  CHECK(env.interpreter == at.path() + "/base/bin/python3.12");
  CHECK(env.site == at.path() + "/venv/lib/python3.12/site-packages");
  CHECK(env.roots == Texts{env.site});
  CHECK(env.extensions == at.path() + "/base/lib/python3.12/lib-dynload");
}

TEST_CASE("a venv that includes the system's packages has those of its base behind its own") {
  Variable home("HOME", "/nonexistent");
  TemporaryFolder at;
  put_venv(at, "include-system-site-packages = true\n");
  Environment env = find_environment("", at.path() + "/venv");
  CHECK(env.roots == Texts{at.path() + "/venv/lib/python3.12/site-packages",
                           at.path() + "/base/lib/python3.12/site-packages"});
}

TEST_CASE("a prefix with its own interpreter is an environment, free-threaded ones too") {
  Variable home("HOME", "/nonexistent");
  TemporaryFolder at;
  put_base(at, "/conda", "python3.13t");
  Environment env = find_environment("", at.path() + "/conda");
  CHECK(env.python == "3.13t");
  CHECK(env.interpreter == at.path() + "/conda/bin/python3.13t");
  CHECK(env.extensions == at.path() + "/conda/lib/python3.13t/lib-dynload");
}

TEST_CASE("Debian's Python has pip's packages before dpkg's, below a root as well") {
  TemporaryFolder at;
  at.put("/usr/bin/python3.11");
  at.link("/usr/bin/python3", "/usr/bin/python3.11");  // absolute: inside the root
  at.folder("/usr/lib/python3.11/lib-dynload");
  at.folder("/usr/lib/python3/dist-packages");
  at.folder("/usr/local/lib/python3.11/dist-packages");
  Environment env = find_environment(at.path(), "/usr");
  CHECK(env.interpreter == "/usr/bin/python3.11");
  CHECK(env.site == "/usr/local/lib/python3.11/dist-packages");
  CHECK(env.roots ==
        Texts{"/usr/local/lib/python3.11/dist-packages", "/usr/lib/python3/dist-packages"});
  CHECK(env.extensions == "/usr/lib/python3.11/lib-dynload");
}

TEST_CASE("lines of .pth files are folders where those are there, each once") {
  Variable home("HOME", "/nonexistent");
  TemporaryFolder at;
  put_venv(at);
  std::string site = at.path() + "/venv/lib/python3.12/site-packages";
  at.folder("/elsewhere");
  at.folder("/nested");
  at.put("/elsewhere/more.pth", at.path() + "/nested\n");  // of an added folder: not read
  at.put("/venv/lib/python3.12/site-packages/a.pth", "# a comment\n\nimport os\n" + at.path() +
                                                         "/elsewhere\r\nbeside\n" + at.path() +
                                                         "/gone\n" + at.path() + "/elsewhere\n");
  at.folder("/venv/lib/python3.12/site-packages/beside");
  at.put("/venv/lib/python3.12/site-packages/.hidden.pth", at.path() + "/nested\n");
  Environment env = find_environment("", at.path() + "/venv");
  CHECK(env.roots == Texts{site, at.path() + "/elsewhere", site + "/beside"});
}

TEST_CASE("an editable install is where its finder says, and an unreadable finder is told") {
  Variable home("HOME", "/nonexistent");
  TemporaryFolder at;
  put_venv(at);
  std::string site = "/venv/lib/python3.12/site-packages";
  at.folder("/src/pkg");
  at.put(site + "/__editable__.pkg-1.0.pth",
         "import __editable___pkg_1_0_finder; __editable___pkg_1_0_finder.install()\n");
  at.put(site + "/__editable___pkg_1_0_finder.py",
         "MAPPING: dict[str, str] = {'pkg': '" + at.path() + "/src/pkg', 'gone': '/gone'}\n");
  at.put(site + "/__editable__.odd-1.0.pth", "import __editable___odd_finder\n");
  at.put(site + "/__editable___odd_finder.py", "def install(): pass\n");
  Environment env = find_environment("", at.path() + "/venv");
  CHECK(env.packages == Texts{at.path() + "/src/pkg"});
  REQUIRE(env.problems.size() == 1);
  CHECK(env.problems[0].member.find("__editable___odd_finder.py") != std::string::npos);
}

TEST_CASE("the user's own packages come first, but not in a venv and not when they are unwanted") {
  TemporaryFolder at;
  put_venv(at);
  std::string user = at.path() + "/home/.local/lib/python3.12/site-packages";
  at.folder("/home/.local/lib/python3.12/site-packages");
  Variable home("HOME", (at.path() + "/home").c_str());
  std::string site = at.path() + "/base/lib/python3.12/site-packages";
  {
    Variable wanted("PYTHONNOUSERSITE", nullptr);
    Environment env = find_environment("", at.path() + "/base");
    CHECK(env.roots == Texts{user, site});
    CHECK(env.site == site);  // where pip installs
    CHECK(find_environment("", at.path() + "/venv").roots ==
          Texts{at.path() + "/venv/lib/python3.12/site-packages"});
  }
  Variable unwanted("PYTHONNOUSERSITE", "1");
  CHECK(find_environment("", at.path() + "/base").roots == Texts{site});
}

TEST_CASE("of several Pythons the interpreter's or the venv's is meant, else it is asked for") {
  Variable home("HOME", "/nonexistent");
  TemporaryFolder at;
  put_base(at, "/two", "python3.12");
  at.folder("/two/lib/python3.11/site-packages");
  CHECK(find_environment("", at.path() + "/two").python == "3.12");
  at.put("/none/bin/python3");
  at.folder("/none/lib/python3.11/site-packages");
  at.folder("/none/lib/python3.12/site-packages");
  CHECK_THROWS_AS(find_environment("", at.path() + "/none"), WrongUsage);
  at.put("/none/pyvenv.cfg", "home = /usr/bin\nversion_info = 3.11.4.final.0\n");
  CHECK(find_environment("", at.path() + "/none").python == "3.11");
}

TEST_CASE("what is no environment is wrong usage") {
  Variable home("HOME", "/nonexistent");
  TemporaryFolder at;
  at.folder("/empty");
  at.folder("/bare/lib/python3.12");
  for (const char* name : {"/gone", "/empty", "/bare"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(find_environment("", at.path() + name), WrongUsage);
  }
}

TEST_CASE("links are followed inside the root of a machine and never lead out of it") {
  TemporaryFolder at;
  at.put("/root/real/file", "inside");
  at.put("/secret", "outside");
  at.link("/root/absolute", "/real");
  at.link("/root/up", "../../../../secret");
  at.link("/root/real/relative", "../real/file");
  at.link("/root/round", "/about");
  at.link("/root/about", "round");
  std::string root = at.path() + "/root";
  CHECK(real_path(root, "/absolute/file") == "/real/file");
  CHECK(real_path(root, "/real/relative") == "/real/file");
  CHECK(real_path(root, "/../../real/./file") == "/real/file");
  CHECK(real_path(root, "/up") == "");
  CHECK(real_path(root, "/round") == "");
  CHECK(real_path(root, "/") == "/");
  CHECK(text_of(root, "/absolute/file", 100) == "inside");
  CHECK(text_of(root, "/up", 100) == "");
  CHECK(text_of(root, "/round/file", 100) == "");
  CHECK(text_of(root, "/real/file", 5) == "");  // more than wanted
  CHECK(names_in(root, "/absolute") == Texts{"file", "relative"});
  CHECK(names_in(root, "/round") == Texts{});
  CHECK(is_file(root, "/real/relative"));
  CHECK_FALSE(is_file(root, "/real"));
  CHECK(is_folder(root, "/absolute"));
  CHECK_FALSE(is_folder(root, "/up"));
}
