#include "input/stub_manifest.h"

#include <fmt/format.h>

#include <charconv>

#include "facts/metadata.h"
#include "report/printable.h"

namespace wheelvet {
namespace {

constexpr std::string_view format_version = "1";

std::string offset_text(const std::optional<std::uint64_t>& offset) {
  return offset ? fmt::format("{}", *offset) : "-";
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Tab-separated fields; the last one takes the rest.
std::vector<std::string> fields(std::string_view text, std::size_t count) {
  std::vector<std::string> out;
  while (out.size() + 1 < count) {
    std::size_t tab = text.find('\t');
    out.emplace_back(text.substr(0, tab));
    text.remove_prefix(tab == std::string_view::npos ? text.size() : tab + 1);
  }
  out.emplace_back(text);
  return out;
}

}  // namespace

std::string write_stub_manifest(const Input& original, const std::vector<ArchiveFault>& faults,
                                const std::vector<Problem>& problems) {
  std::string out = fmt::format(
      "Stub-Version: {}\nOrigin-File: {}\nOrigin-Size: {}\nOrigin-SHA256: {}\n", format_version,
      printable(original.label), original.size, printable(original.origin->sha256));
  out += "Record: paths and sizes compared\n";
  for (const ArchiveFault& fault : faults) {
    out += fmt::format("Archive-Fault: {}\t{}\t{}\t{}\n", printable(fault.rule),
                       offset_text(fault.offset), printable(fault.member), printable(fault.detail));
  }
  for (const Problem& problem : problems) {
    out +=
        fmt::format("Problem: {}\t{}\t{}\t{}\n", offset_text(problem.offset),
                    printable(problem.member), printable(problem.field), printable(problem.reason));
  }
  return out;
}

void read_stub_manifest(std::string_view text, Input& stub) {
  stub.origin = StubOrigin{};
  for (const auto& [name, value] : read_headers(text)) {
    if (name == "stub-version" && value != format_version) {
      throw Unreadable("Stub-Version", std::nullopt,
                       "the stub was written by another version of this program");
    }
    if (name == "origin-file") stub.origin->file = value;
    if (name == "origin-size") stub.origin->size = number(value).value_or(0);
    if (name == "origin-sha256") stub.origin->sha256 = value;
    if (name == "archive-fault") {
      std::vector<std::string> parts = fields(value, 4);
      stub.faults.push_back({parts[0], parts[2], parts[3], number(parts[1])});
    }
    if (name == "problem") {
      std::vector<std::string> parts = fields(value, 4);
      stub.problems.push_back({stub.label, parts[1], parts[2], number(parts[0]), parts[3]});
    }
  }
}

}  // namespace wheelvet
