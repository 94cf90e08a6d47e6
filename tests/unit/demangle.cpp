// C++ names: read within bounds, whatever their bytes ask for.
#include "link/demangle.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

#include "link/near_miss.h"

using namespace wheelvet;

using Texts = std::vector<std::string>;

namespace {

// Runs once and fails when it takes longer than a person would notice; sanitizers get more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
constexpr double allowed_seconds = 2;
#else
constexpr double allowed_seconds = 0.1;
#endif

void read_in_time(const std::string& name) {
  auto start = std::chrono::steady_clock::now();
  std::optional<CxxName> read = read_cxx_name(name);
  std::string shown = demangled(name);
  double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CAPTURE(name.substr(0, 80));
  CHECK(took < allowed_seconds);
  CHECK(shown.size() <= std::max<std::size_t>(64u << 10, name.size()));
  if (!read) CHECK(shown == name);
}

std::string repeated(std::string_view piece, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += piece;
  return out;
}

}  // namespace

TEST_CASE("a C++ function is taken apart into scope, parameters and qualifiers") {
  auto name = read_cxx_name("_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib");
  REQUIRE(name);
  CHECK(name->text ==
        "c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, int, bool)");
  CHECK(name->scoped == "c10::cuda::c10_cuda_check_implementation");
  CHECK(name->parameters == Texts{"int", "char const*", "char const*", "int", "bool"});
  CHECK(name->function);
  CHECK(name->qualifiers.empty());

  auto method = read_cxx_name("_ZNK1A1fEv");
  REQUIRE(method);
  CHECK(method->scoped == "A::f");
  CHECK(method->qualifiers == " const");
  CHECK(method->parameters.empty());
  auto moved = read_cxx_name("_ZNO1A1fEi");
  REQUIRE(moved);
  CHECK(moved->qualifiers == " &&");

  auto variable = read_cxx_name("_ZN1A1xE");
  REQUIRE(variable);
  CHECK_FALSE(variable->function);
  CHECK(variable->scoped == "A::x");
  auto table = read_cxx_name("_ZTV1A");
  REQUIRE(table);
  CHECK(table->text == "vtable for A");
}

TEST_CASE("a name that is none stays as it stands") {
  for (const char* name :
       {"", "printf", "_Z", "_ZN", "_ZNE", "Z1fv", "_Z1", "_Z999f", "_ZN1AE\xff"}) {
    CAPTURE(name);
    CHECK(demangled(name) == name);
  }
}

TEST_CASE("short names whose printed form would be gigabytes are refused at once") {
  // Every parameter is the tuple of the two before it: the output doubles with each.
  std::string doubling = "_Z1fI1AE";
  for (int i = 0; i < 40 && doubling.size() < 245; ++i) {
    doubling +=
        "St5tupleIJS" +
        (i == 0 ? std::string("0_") : std::string(1, static_cast<char>('0' + i % 10)) + "_") +
        "S0_EE";
  }
  read_in_time(doubling);
  std::string pairs = "_Z1fSt4pairIiiE";
  for (char c = '0'; c <= '9'; ++c) pairs += std::string("S_I") + "S" + c + "_S" + c + "_E";
  for (char c = 'A'; c <= 'S' && pairs.size() < 245; ++c)
    pairs += std::string("S_I") + "S" + c + "_S" + c + "_E";
  read_in_time(pairs);
  // Function pointers and pack expansions that repeat what came before.
  read_in_time("_Z1fIJ" + repeated("i", 120) + "EEv" + repeated("DpPFvDpT_E", 10));
  read_in_time("_Z1fIJ" + repeated("St5tupleIJiiiiiiiiEE", 10) + "EEvDp" +
               repeated("St5tupleIJDp", 4) + "T_" + repeated("EE", 4));
  std::string nested = "T_";
  for (int i = 0; i < 12; ++i)
    nested = "St5tupleIJDp" + nested + "Dp" + nested.substr(0, 40) + "EE";
  read_in_time("_Z1fIJ" + repeated("i", 60) + "EEv" + nested.substr(0, 180));
}

TEST_CASE("a doubling name is really refused, and the bound lets real long names through") {
  // f(A, pair<A,A>, pair<S1,S1>, ...): each substitution is twice the one before.
  std::string name = "_Z1f1P";
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  name += "IiiE";
  std::string last = "S0_";
  for (std::size_t i = 1; i < 30; ++i) {
    name += "S_I" + last + last + "E";
    last = std::string("S") + digits[i] + "_";
  }
  REQUIRE(name.size() < 400);
  CHECK_FALSE(read_cxx_name(name));
  read_in_time(name);

  std::string longest = "_ZN" + repeated("10abcdefghij", 100) + "1fEi";
  auto read = read_cxx_name(longest);
  REQUIRE(read);
  CHECK(read->text.size() > 1000);
  CHECK(read->parameters == Texts{"int"});
}

TEST_CASE("nesting as deep as the length allows does not exhaust the stack") {
  for (std::size_t length : {1000u, 4000u, 8100u, 9000u, 100000u}) {
    read_in_time("_Z1f" + repeated("P", length) + "i");
    read_in_time("_Z1f" + repeated("PF", length / 2) + "v");
    read_in_time("_Z1f" + repeated("PFv", length / 4) + "v" + repeated("E", length / 4));
    read_in_time("_Z1f" + repeated("1AI", length / 4) + "i" + repeated("E", length / 4));
    read_in_time("_Z1fI" + repeated("XngL", length / 4) + "1E" + repeated("E", length / 8));
    read_in_time("_Z1fIX" + repeated("ng", length / 2) + "Li1EEEvv");
    read_in_time("_Z1fIX" + repeated("pl", length / 4) + repeated("Li1E", length / 8) + "EEvv");
    read_in_time("_Z1fM" + repeated("M1A", length / 3) + "i");
    read_in_time("_Z" + repeated("GV", length / 2));
    read_in_time("_Z" + repeated("Z1fvE", length / 5) + "1x");
    read_in_time("_ZN" + repeated("1A", length / 2) + "E");
    read_in_time("_Z1f" + repeated("DTcl", length / 4));
    read_in_time("_Z1fIJ" + repeated("J", length) + repeated("E", length));
    read_in_time("_Z1f" + repeated("A1_", length / 3) + "i");
    read_in_time("_Z1f" + repeated("U3foo", length / 5) + "i");
    read_in_time("_ZcvT_" + repeated("I", length));
  }
}

TEST_CASE("bytes at random after _Z are read in bounded time") {
  std::mt19937 random(20240229);
  const std::string letters = "NSTIEJXLPRKODFZ_0123456789abcdfilmnpstvwACGMUVdg";
  for (int round = 0; round < 3000; ++round) {
    std::string name = "_Z1f";
    std::size_t length = random() % 300;
    for (std::size_t i = 0; i < length; ++i) name += letters[random() % letters.size()];
    read_in_time(name);
  }
}

TEST_CASE("identifiers are picked by their length prefix") {
  using Views = std::vector<std::string_view>;
  CHECK(identifiers("_ZN3c104cuda9SetDeviceEi") == Views{"c10", "cuda", "SetDevice"});
  CHECK(identifiers("printf").empty());
  CHECK(identifiers("").empty());
  CHECK(identifiers("_Z99999999999999999999x").empty());
  CHECK(identifiers("_Z5ab").empty());
}

TEST_CASE("the difference of two names is said parameter by parameter") {
  CHECK(parameter_difference("_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib",
                             "_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_jb") ==
        "argument 4: int wanted, unsigned int exported");
  CHECK(parameter_difference("_Z1fi", "_Z1fil") == "argument 2: none wanted, long exported");
  CHECK(parameter_difference("_Z1fil", "_Z1fi") == "argument 2: long wanted, none exported");
  CHECK(parameter_difference("_ZNK1A1fEv", "_ZN1A1fEv") ==
        "qualifiers: const wanted, none exported");
  CHECK(parameter_difference("_Z1fi", "_Z1gi").empty());
  CHECK(parameter_difference("f", "g").empty());
  CHECK(parameter_difference("_Z1fv", "f").empty());
}
