// Prints what read_python_source says of each file named on standard input ("<path below the
// folder of packages> <file>", one a line), as lines that a script can compare with Python's own.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "facts/python_source.h"
#include "report/printable.h"

using namespace wheelvet;

namespace {

std::string shown(const std::string& text) { return text.empty() ? "-" : printable(text); }

void print(const PythonSource& source) {
  for (const PythonImport& each : source.imports) {
    std::string names;
    for (const std::string& name : each.names) names += (names.empty() ? "" : ",") + shown(name);
    fmt::print("import {} {} {} {} {} {}\n", each.line, each.guarded ? "guarded" : "plain",
               each.in_function ? "function" : "top", each.by_call ? "call" : "statement",
               shown(each.module), shown(names));
  }
  constexpr std::string_view kPlaces[] = {"searched", "packages", "absolute", "unknown"};
  for (const PythonOpen& each : source.opens) {
    fmt::print("open {} {} {} {} {} {} {}\n", each.line, each.guarded ? "guarded" : "plain",
               each.in_function ? "function" : "top", each.global ? "global" : "local",
               kPlaces[static_cast<int>(each.place)], each.call, shown(each.pattern));
  }
  for (const std::string& mention : source.mentions) fmt::print("mention {}\n", shown(mention));
  if (source.sets_dlopenflags_global) fmt::print("dlopenflags\n");
  if (source.incomplete) fmt::print("incomplete\n");
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::size_t space = line.find(' ');
    if (space == std::string::npos) return 2;
    std::ifstream file(line.substr(space + 1), std::ios::binary);
    if (!file) return 2;
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    fmt::print("file {}\n", line.substr(0, space));
    print(read_python_source(text, line.substr(0, space)));
  }
}
