// Requirements, markers and the order of versions: the answers are those of the packaging library
// (tests/oracle/requirements.py asks it about thousands more).
#include "facts/requirement.h"

#include <doctest/doctest.h>

using namespace wheelvet;

namespace {

Requirement required(std::string_view text) {
  ReadRequirement read = read_pep508(text);
  REQUIRE_MESSAGE(read.requirement, text);
  return *read.requirement;
}

bool admits(std::string_view specifier, std::string_view version) {
  std::optional<std::vector<VersionClause>> clauses = read_specifier(specifier);
  REQUIRE_MESSAGE(clauses, specifier);
  return admits_version(*clauses, version).value();
}

}  // namespace

TEST_CASE("requirements that newer installers refuse") {
  for (const char* good :
       {"a", "a.b-c_d", "a>=1", "a (>=1,<2)", "a[x,y] ~= 1.0 ; python_version < '3'", "a==1.*",
        "a @ https://host/a.whl", "a===odd", "a ; extra == 'x'", "a>=1,", "a[]",
        "a;(os_name=='x' or os_name==\"y\") and extra!='z'", "a; 'linux' in sys_platform"}) {
    CAPTURE(good);
    CHECK(read_pep508(good).fault == nullptr);
  }
  for (const char* bad :
       {"", ";", "a b", "a>=1.*", "a[x", "a (>=1", "a>=x", "a>=1 <2", "a>=1+local", "a==1a1.*",
        "a; python_version", "a; nothing == '1'", "a; 'x' == 'y'", "a; os_name == 'x", "a[x,]",
        "a; (os_name == 'x'", "a; os_name = 'x'", "a @ "}) {
    CAPTURE(bad);
    CHECK(read_pep508(bad).fault != nullptr);
  }
}

TEST_CASE("a marker that is nested without end is refused, not followed") {
  CHECK(read_pep508("a; " + std::string(100000, '(') + "os_name == 'x'").fault != nullptr);
}

TEST_CASE("a requirement is taken apart") {
  Requirement read = required("Torch_X[Cu13, b.c] (>=2.9,!=2.9.1) ; extra == 'GPU'");
  CHECK(read.name == "torch-x");
  CHECK(read.extras == std::vector<std::string>{"cu13", "b-c"});
  CHECK(read.versions == ">=2.9,!=2.9.1");
  REQUIRE(read.clauses.size() == 2);
  CHECK(read.clauses[1].comparison == "!=");
  CHECK(extra_in(*read.marker) == "GPU");
}

TEST_CASE("versions stand in the order of PEP 440") {
  const char* order[] = {
      "1.0.dev1",  "1.0a1.dev1", "1.0a1",     "1.0a2", "1.0b1",   "1.0rc1",
      "1.0",       "1.0+abc.5",  "1.0+abc.7", "1.0+5", "1.0+5.0", "1.0.post1.dev1",
      "1.0.post1", "1.1.dev1",   "1.1",       "1.9",   "1.10",    "1!0.1"};
  for (std::size_t i = 0; i < std::size(order); ++i) {
    for (std::size_t k = 0; k < std::size(order); ++k) {
      CAPTURE(order[i]);
      CAPTURE(order[k]);
      int sign = compare_pep440(order[i], order[k]).value();
      CHECK((sign < 0) == (i < k));
      CHECK((sign > 0) == (i > k));
    }
  }
  CHECK(compare_pep440("1.0", "v1.0.0") == 0);
  CHECK_FALSE(compare_pep440("1.0", "odd"));
}

TEST_CASE("what a specifier admits of what is installed") {
  CHECK(admits("==2.9.1", "2.9.1+cu130"));
  CHECK_FALSE(admits("==2.9.1+cu128", "2.9.1+cu130"));
  CHECK(admits(">=2.9", "2.9+cu130"));
  CHECK_FALSE(admits(">2.9", "2.9+cu130"));
  CHECK_FALSE(admits(">2.9", "2.9.post1"));
  CHECK(admits(">2.9.post1", "2.9.post2"));
  CHECK_FALSE(admits("<3.0", "3.0rc1"));
  CHECK(admits("<3.0rc2", "3.0rc1"));
  CHECK(admits(">=3.0.dev0", "3.0rc1"));
  CHECK(admits("~=2.9.1", "2.9.7"));
  CHECK_FALSE(admits("~=2.9.1", "2.10"));
  CHECK(admits("~=2.9", "2.10"));
  CHECK(admits("==2.*", "2.10rc1"));
  CHECK(admits("==2.0.*", "2"));
  CHECK_FALSE(admits("!=2.*", "2.10"));
  CHECK_FALSE(admits_version(read_specifier("===odd").value(), "odd"));
}

TEST_CASE("markers are judged by the interpreter, the machine and the extras asked for") {
  MarkerValues values = marker_values("3.12", "x86_64");
  auto wanted = [&](const char* text, const std::vector<std::string>& extras = {}) {
    return is_wanted(required(text), values, extras);
  };
  CHECK(wanted("a; python_version >= '3.9'"));
  CHECK_FALSE(wanted("a; python_version < '3.9'"));  // as versions, not as texts
  CHECK(wanted("a; sys_platform == 'linux' and platform_machine == 'x86_64'"));
  CHECK_FALSE(wanted("a; sys_platform == 'win32' or platform_machine == 'arm64'"));
  CHECK(wanted("a; '3.12' <= python_version"));
  CHECK(wanted("a; 'lin' in sys_platform"));
  CHECK_FALSE(wanted("a; extra == 'gpu'"));
  CHECK(wanted("a; extra == 'GPU_x'", {"gpu-x"}));
  CHECK(wanted("a; extra == 'gpu' and python_version > '3'", {"cpu", "gpu"}));
  CHECK(wanted("a; python_full_version >= '3.12.4'"));
  // The kernel's release is not known: what depends on it alone is not wanted for sure.
  CHECK_FALSE(wanted("a; platform_release > '5'"));
  CHECK(wanted("a; platform_release > '5' or os_name == 'posix'"));
}

TEST_CASE("a specifier with series, ends and gaps") {
  CHECK(admits("==13.1.0.3.*", "13.1.0.3"));
  CHECK_FALSE(admits("==13.1.0.3.*", "13.4.1.3"));
  CHECK_FALSE(admits("~=3.9.0", "3.10.0"));
  CHECK(admits(">=0.1.6,!=0.1.8,<0.2", "0.1.11"));
  CHECK_FALSE(admits(">=0.1.6,!=0.1.8,<0.2", "0.1.8"));
  CHECK_FALSE(admits("==0.1.13", "0.1.13.post2"));
}

TEST_CASE("a marker that asks for what is not known is open, unless the rest decides") {
  auto open = [](const char* marker) {
    Requirement read = required(std::string("a; ") + marker);
    return holds(*read.marker, marker_values("3.12", "x86_64"), "");
  };
  CHECK_FALSE(open("platform_release == '6.1'"));
  CHECK(open("sys_platform == 'linux' or platform_release == '6.1'").value());
  CHECK_FALSE(open("sys_platform == 'linux' and platform_release == '6.1'"));
  CHECK_FALSE(open("sys_platform == 'win32' and platform_release == '6.1'").value());
}
