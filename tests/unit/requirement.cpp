// Requirements (PEP 508) and the order of versions (PEP 440). The answers are those of Python's
// packaging library.
#include "facts/requirement.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace wheelvet;

TEST_CASE("versions order as PEP 440 says") {
  const std::vector<std::string> rising = {"0.6.3.dev1", "0.6.3a1",     "0.6.3b2",     "0.6.3rc1",
                                           "0.6.3",      "0.6.3+cu130", "0.6.3.post1", "0.6.4.dev0",
                                           "0.6.16",     "1!0.1"};
  for (std::size_t i = 0; i + 1 < rising.size(); ++i) {
    CAPTURE(rising[i]);
    CAPTURE(rising[i + 1]);
    CHECK(order_versions(rising[i], rising[i + 1]).value() < 0);
    CHECK(order_versions(rising[i + 1], rising[i]).value() > 0);
  }
  CHECK(order_versions("1.0", "1.0.0").value() == 0);
  CHECK_FALSE(order_versions("1.0", "newest"));
}

TEST_CASE("a specifier without a local version takes any build of that release") {
  CHECK(admits_version("==2.11.0", "2.11.0+cu130").value());
  CHECK_FALSE(admits_version("==2.11.0+cu129", "2.11.0+cu130").value());
  CHECK_FALSE(admits_version("==2.9.1", "2.11.0").value());
}

TEST_CASE("specifiers with series, ends and gaps") {
  CHECK(admits_version("==13.1.0.3.*", "13.1.0.3").value());
  CHECK_FALSE(admits_version("==13.1.0.3.*", "13.4.1.3").value());
  CHECK(admits_version("~=3.9.0", "3.9.4").value());
  CHECK_FALSE(admits_version("~=3.9.0", "3.10.0").value());
  CHECK(admits_version(">=0.1.6,!=0.1.8,<0.2", "0.1.11").value());
  CHECK_FALSE(admits_version(">=0.1.6,!=0.1.8,<0.2", "0.1.8").value());
  CHECK_FALSE(admits_version("<2.0", "2.0rc1").value());
  CHECK_FALSE(admits_version(">1.0", "1.0.post1").value());
  CHECK(admits_version("==0.1.13", "0.1.13").value());
  CHECK_FALSE(admits_version("==0.1.13", "0.1.13.post2").value());
  CHECK_FALSE(admits_version("2.0", "2.0"));
}

TEST_CASE("a requirement is taken apart, in both spellings of its versions") {
  Requirement it =
      split_requirement("cuda-toolkit[cublas, cudart]==13.0.2; platform_system == \"Linux\"")
          .value();
  CHECK(it.name == "cuda-toolkit");
  CHECK(it.extras == std::vector<std::string>{"cublas", "cudart"});
  CHECK(it.specifier == "==13.0.2");
  CHECK(it.marker == "platform_system == \"Linux\"");
  CHECK(split_requirement("Torch (>=2.14.0)").value().specifier == ">=2.14.0");
  CHECK_FALSE(split_requirement("x @ file:///x.whl"));
  CHECK_FALSE(split_requirement(""));
}

TEST_CASE("markers hold for the platform asked about, and are open where they ask for more") {
  auto holds = [](const char* marker, const char* extra = "") {
    return marker_holds(marker, "x86_64", "3.12", extra);
  };
  CHECK(holds("").value());
  CHECK(holds("platform_system == \"Linux\" and platform_machine == \"x86_64\"").value());
  CHECK_FALSE(holds("platform_machine == 'aarch64'").value());
  CHECK(holds("(sys_platform == 'linux' or sys_platform == 'win32') and extra == 'all'", "all")
            .value());
  CHECK_FALSE(
      holds("(sys_platform == 'linux' or sys_platform == 'win32') and extra == 'all'").value());
  CHECK_FALSE(holds("platform_system == \"Linux\" and python_version < \"3.10\"").value());
  CHECK(holds("python_version < \"3.16\"").value());
  CHECK_FALSE(holds("platform_release == '6.1'"));
  CHECK(holds("sys_platform == 'linux' or platform_release == '6.1'").value());
  CHECK_FALSE(holds("sys_platform == 'linux' and platform_release == '6.1'"));
}
