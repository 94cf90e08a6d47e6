// The checked readers: nothing outside the bytes at hand is ever touched.
#include "facts/bytes.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <limits>

#include "facts/file_view.h"
#include "facts/spool.h"

using namespace wheelvet;

namespace {

constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();

// The Problem of a reader that must not succeed.
template <class Call>
Problem problem_of(Call&& call) {
  try {
    call();
  } catch (const Unreadable& error) {
    return error.problem();
  }
  FAIL("nothing was thrown");
  return {};
}

}  // namespace

TEST_CASE("a range fits only when its end is inside, and the sum cannot overflow") {
  CHECK(fits(0, 0, 0));
  CHECK(fits(4, 4, 8));
  CHECK(fits(8, 0, 8));
  CHECK_FALSE(fits(4, 5, 8));
  CHECK_FALSE(fits(9, 0, 8));
  CHECK_FALSE(fits(huge, 2, 8));
  CHECK_FALSE(fits(2, huge, 8));
  CHECK_FALSE(fits(huge, huge, 8));
  CHECK(fits(0, huge, huge));
}

TEST_CASE("a slice past the end names the field and the offset") {
  const std::array<std::uint8_t, 4> bytes = {1, 2, 3, 4};
  CHECK(slice(bytes, 1, 3, "field").size() == 3);
  CHECK(slice(bytes, 4, 0, "field").empty());
  Problem problem = problem_of([&] { slice(bytes, 2, 3, "some field"); });
  CHECK(problem.field == "some field");
  CHECK(problem.offset == 2);
  CHECK_FALSE(problem.reason.empty());
  problem_of([&] { slice(bytes, huge, 2, "field"); });
  problem_of([&] { slice(bytes, 2, huge, "field"); });
}

TEST_CASE("a number is read little-endian and at any alignment") {
  const std::array<std::uint8_t, 6> bytes = {0xff, 0x78, 0x56, 0x34, 0x12, 0xff};
  CHECK(load<std::uint32_t>(bytes, 1, "number") == 0x12345678u);
  CHECK(load<std::uint16_t>(bytes, 3, "number") == 0x1234u);
  problem_of([&] { load<std::uint32_t>(bytes, 3, "number"); });
  problem_of([&] { load<std::uint8_t>(Bytes(), 0, "number"); });
}

TEST_CASE("a string must begin and end inside its table") {
  const std::array<std::uint8_t, 6> bytes = {'a', 'b', 0, 'c', 'd', 'e'};
  CHECK(string_at(bytes, 0, "string") == "ab");
  CHECK(string_at(bytes, 1, "string") == "b");
  CHECK(string_at(bytes, 2, "string").empty());
  problem_of([&] { string_at(bytes, 3, "string"); });
  problem_of([&] { string_at(bytes, 6, "string"); });
  problem_of([&] { string_at(bytes, huge, "string"); });
  problem_of([&] { string_at(Bytes(), 0, "string"); });
}

TEST_CASE("a view of memory and a view of a spool refuse what lies outside, also by overflow") {
  const std::array<std::uint8_t, 100> bytes = {0x7f, 'E', 'L', 'F', 2, 1};
  FileView memory = view_of(Bytes(bytes));
  Spool spool(bytes.size());
  spool.feed(bytes);
  FileView kept = spool.view();
  for (const FileView* view : {&memory, &kept}) {
    CHECK(view->size == bytes.size());
    CHECK(view->bytes(0, 100).size() == 100);
    CHECK(view->bytes(99, 1).size() == 1);
    problem_of([&] { view->bytes(99, 2); });
    problem_of([&] { view->bytes(101, 0); });
    problem_of([&] { view->bytes(huge, 2); });
    problem_of([&] { view->bytes(2, huge); });
    problem_of([&] { view->bytes(huge - 1, huge); });
  }
}
