#include "machine/probe_facts.h"

#include <doctest/doctest.h>

#include <string>

#include "wheelvet/problem.h"

using namespace wheelvet;

namespace {

std::string result(const std::string& driver, const std::string& devices) {
  return R"({"schema_version": 1, "tool": {"name": "wheelvet-probe", "version": "0"},
             "verdict": "pass", "driver": )" +
         driver + R"(, "devices": [)" + devices + "]}";
}

const std::string driver = R"({"version": "580.95.05", "cuda": [13, 0]})";

}  // namespace

TEST_CASE("a probe's result stands for its driver and each kind of GPU once") {
  ProbeFacts facts =
      parse_probe(result(driver, R"({"compute_capability": [9, 0]}, {"compute_capability": [9, 0]},
                                    {"compute_capability": [12, 0]})"));
  CHECK(facts.driver == "580.95.05");
  CHECK(facts.gpus == std::vector<std::string>{"sm_90", "sm_120"});
}

TEST_CASE("what is no result of the probe, or says nothing of a GPU, is unreadable") {
  std::string gpu = R"({"compute_capability": [9, 0]})";
  for (const std::string& text :
       {std::string("{}"), std::string("no JSON"), result("null", gpu), result(driver, ""),
        result(R"({"version": "580; rm"})", gpu), result(driver, R"({"compute_capability": [9]})"),
        result(driver, R"({"compute_capability": [-1, 0]})")}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_probe(text), Unreadable);
  }
}
