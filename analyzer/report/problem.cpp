#include "wheelvet/problem.h"

#include <fmt/format.h>

#include "report/printable.h"

namespace wheelvet {

std::string to_line(const Problem& problem) {
  std::string line;
  for (const std::string* part : {&problem.input, &problem.member}) {
    if (!part->empty()) line += printable(*part) + ": ";
  }
  if (!problem.field.empty() || problem.offset) {
    line += printable(problem.field);
    if (problem.offset) {
      line += fmt::format("{}at offset {}", problem.field.empty() ? "" : " ", *problem.offset);
    }
    line += ": ";
  }
  return line + printable(problem.reason);
}

Unreadable::Unreadable(Problem problem) : problem_(std::move(problem)), line_(to_line(problem_)) {}

Unreadable::Unreadable(std::string_view field, std::optional<std::uint64_t> offset,
                       std::string reason)
    : Unreadable(Problem{{}, {}, std::string(field), offset, std::move(reason)}) {}

Problem Unreadable::in(std::string_view input, std::string_view member) const {
  Problem copy = problem_;
  if (copy.input.empty()) copy.input = input;
  if (copy.member.empty()) copy.member = member;
  return copy;
}

}  // namespace wheelvet
