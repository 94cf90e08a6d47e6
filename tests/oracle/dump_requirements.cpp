// Answers questions about versions, specifiers and requirements, one a line on standard input, its
// parts apart by tabs; tests/oracle/requirements.py asks the packaging library the same.
#include <fmt/format.h>

#include <iostream>
#include <string>
#include <vector>

#include "facts/requirement.h"

using namespace wheelvet;

namespace {

std::vector<std::string> parts_of(const std::string& line) {
  std::vector<std::string> out;
  for (std::size_t from = 0;;) {
    std::size_t tab = line.find('\t', from);
    out.push_back(line.substr(from, tab - from));
    if (tab == std::string::npos) return out;
    from = tab + 1;
  }
}

const char* word(std::optional<bool> answer) { return !answer ? "none" : *answer ? "yes" : "no"; }

std::string answer(const std::vector<std::string>& parts) {
  const std::string& question = parts[0];
  if (question == "order" && parts.size() == 3) {
    std::optional<int> order = compare_pep440(parts[1], parts[2]);
    return !order ? "none" : *order < 0 ? "less" : *order > 0 ? "more" : "same";
  }
  if (question == "admits" && parts.size() == 3) {
    std::optional<std::vector<VersionClause>> clauses = read_specifier(parts[1]);
    return clauses ? word(admits_version(*clauses, parts[2])) : "none";
  }
  if (question == "holds" && parts.size() == 4) {
    ReadRequirement read = read_pep508(parts[1]);
    if (!read.requirement) return "none";
    if (!read.requirement->marker) return "yes";
    return word(holds(*read.requirement->marker, marker_values(parts[2], "x86_64"), parts[3]));
  }
  if (question == "reads" && parts.size() == 2) {
    ReadRequirement read = read_pep508(parts[1]);
    return read.requirement ? read.requirement->name : "none";
  }
  return "no question";
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) fmt::print("{}\n", answer(parts_of(line)));
}
