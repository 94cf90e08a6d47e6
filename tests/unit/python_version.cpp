// Versions and specifiers of Python packages: the answers are those of the packaging library.
#include "facts/python_version.h"

#include <doctest/doctest.h>

using namespace wheelvet;

TEST_CASE("equal versions have one spelling") {
  struct Case {
    const char *written, *normal;
  };
  for (const Case& each : {Case{"1.0", "1"},
                           {"v1.0.0", "1"},
                           {" 1.10 ", "1.10"},
                           {"1.0alpha1", "1a1"},
                           {"1.0-ALPHA.1", "1a1"},
                           {"1.0rc", "1rc0"},
                           {"1.0c1", "1rc1"},
                           {"1.0.preview2", "1rc2"},
                           {"1.0-1", "1.post1"},
                           {"1.0r2", "1.post2"},
                           {"1.0.rev3.dev4", "1.post3.dev4"},
                           {"01.02", "1.2"},
                           {"0!1", "1"},
                           {"2!1", "2!1"},
                           {"1.0.dev", "1.dev0"},
                           {"2.10.0+cu130", "2.10+cu130"},
                           {"1.0+Ubuntu-1", "1+ubuntu.1"},
                           {"0.0", "0"}}) {
    CAPTURE(each.written);
    CHECK(normalised_version(each.written).value_or("none") == each.normal);
  }
  for (const char* none : {"", "x", "1.", "1.x", "1.0+", "1.0+a_", "1..2", "1.0 2", "1.0-"}) {
    CAPTURE(none);
    CHECK_FALSE(normalised_version(none));
  }
}

TEST_CASE("Requires-Python admits an interpreter when a patch release of it fits") {
  struct Case {
    const char *specifier, *python;
    bool fits;
  };
  for (const Case& each :
       {Case{"", "3.12", true},         {">=3.8", "3.12", true},
        {">=3.8", "3.7", false},        {">=3.12.4", "3.12", true},
        {">3.12", "3.12", true},        {"<3.12", "3.12", false},
        {"<3.12.1", "3.12", true},      {"<=3.12", "3.12", true},
        {"<=3.11", "3.12", false},      {"<4", "3.13t", true},
        {"!=3.12.*", "3.12", false},    {"!=3.12.1", "3.12", true},
        {"!=3.*", "3.12", false},       {"==3.12.*", "3.12", true},
        {"==3.*", "3.12", true},        {"==3.11.*", "3.12", false},
        {"==3.12.4", "3.12", true},     {"~=3.8", "3.12", true},
        {"~=3.13", "3.12", false},      {"~=3.12.1", "3.12", true},
        {"~=3.11.1", "3.12", false},    {">=3.9, <3.13 , !=3.10.0", "3.10", true},
        {">=3.9,<3.13", "3.13", false}, {">=2.7, !=3.0.*, !=3.1.*", "3.1", false}}) {
    CAPTURE(each.specifier);
    CAPTURE(each.python);
    REQUIRE(admits_python(each.specifier, each.python));
    CHECK(*admits_python(each.specifier, each.python) == each.fits);
  }
  for (const char* none : {"3.8", ">=3.x", ">=", "~=3", ">=3.8.*", "=>3.8"}) {
    CAPTURE(none);
    CHECK_FALSE(admits_python(none, "3.12"));
  }
}
