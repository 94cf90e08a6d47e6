#include "report/read_report.h"

#include <fmt/format.h>

#include "input/random_file.h"
#include "report/json_document.h"
#include "report/printable.h"

namespace wheelvet {
namespace {

using Kind = Document::Kind;

const Document& member(const Document& table, std::string_view name, Kind kind) {
  const Document* found = table.find(name);
  if (!found || found->kind != kind) {
    throw Unreadable(std::string(name), std::nullopt, "is missing, or not what the schema says");
  }
  return *found;
}

std::string text(const Document& table, std::string_view name) {
  return from_printable(member(table, name, Kind::text).text);
}

// Fields that came later than the schema's first version.
std::string text_if(const Document& table, std::string_view name) {
  return table.find(name) ? text(table, name) : "";
}

bool truth(const Document& table, std::string_view name) {
  return member(table, name, Kind::boolean).truth;
}

std::size_t size(const Document& table, std::string_view name) {
  std::int64_t value = member(table, name, Kind::integer).integer;
  if (value < 0) throw Unreadable(std::string(name), std::nullopt, "is negative");
  return static_cast<std::size_t>(value);
}

std::vector<std::string> texts(const Document& table, std::string_view name) {
  std::vector<std::string> out;
  for (const Document& item : member(table, name, Kind::list).items) {
    if (item.kind != Kind::text) {
      throw Unreadable(std::string(name), std::nullopt, "holds what is no text");
    }
    out.push_back(from_printable(item.text));
  }
  return out;
}

// Calls `each` for every table of a list.
template <class Each>
void for_all(const Document& table, std::string_view name, Each&& each) {
  for (const Document& item : member(table, name, Kind::list).items) each(item);
}

template <class Value>
Value one_of(const Document& table, std::string_view name, std::initializer_list<Value> values) {
  std::string word = text(table, name);
  for (Value value : values) {
    if (to_string(value) == word) return value;
  }
  throw Unreadable(std::string(name), std::nullopt, "is " + word);
}

Status status(const Document& table, std::string_view name) {
  return one_of(table, name, {Status::loads, Status::undecided, Status::fails});
}

ReportInput read_input(const Document& from) {
  ReportInput out;
  out.label = text(from, "label");
  out.kind = text(from, "kind");
  out.target = text(from, "role") == "target";
  out.packages = texts(from, "packages");
  out.size = size(from, "size");
  out.identity = text(from, "directory_sha256");
  if (const Document* origin = from.find("stub_of")) {
    out.origin = StubOrigin{text(*origin, "file"), size(*origin, "size"), text(*origin, "sha256")};
  }
  return out;
}

ReportRoot read_root(const Document& from) {
  ReportRoot out;
  out.path = text(from, "path");
  out.name = text(from, "name");
  out.package = text(from, "package");
  out.module = truth(from, "module");
  out.status = status(from, "status");
  out.alternatives = text(from, "alternatives");
  out.excused = truth(from, "excused");
  out.imports_first = texts(from, "imports_first");
  for_all(from, "opens_first", [&](const Document& each) {
    out.opens_first.push_back({text(each, "path"), truth(each, "global")});
  });
  out.opener = text(from, "opener");
  const Document& imports = member(from, "imports", Kind::table);
  out.bound = size(imports, "bound");
  out.assumed = size(imports, "assumed");
  out.undecided = size(imports, "undecided");
  out.missing = size(imports, "missing");
  out.missing_libraries = texts(from, "missing_libraries");
  out.missing_symbols = texts(from, "missing_symbols");
  out.missing_versions = texts(from, "missing_versions");
  return out;
}

SymbolEvidence read_symbol(const Document& from) {
  SymbolEvidence out;
  out.symbol = text(from, "symbol");
  out.readable = text(from, "demangled");
  out.version = text(from, "version");
  out.wanted_by = texts(from, "wanted_by");
  for_all(from, "near_misses", [&](const Document& near) {
    out.near_misses.push_back({text(near, "symbol"), text(near, "demangled"),
                               text(near, "provider"), text(near, "difference")});
  });
  return out;
}

CudaReport read_cuda(const Document& from) {
  CudaReport out;
  out.driver = text(from, "driver");
  out.driver_because = text(from, "driver_because");
  for_all(from, "libraries", [&](const Document& each) {
    out.libraries.push_back({text(each, "soname"), text(each, "kind"), text(each, "how"),
                             text(each, "state"), text(each, "path"), text(each, "owner"),
                             text(each, "version"), text(each, "cuda"), text(each, "declared_by"),
                             texts(each, "roots")});
  });
  for_all(from, "modules", [&](const Document& each) {
    out.modules.push_back({text(each, "path"), text(each, "runtime"), text(each, "driver"),
                           text(each, "driver_because"), texts(each, "driver_functions"),
                           text(each, "nccl"), texts(each, "nccl_functions")});
  });
  return out;
}

LibraryCoverage read_coverage(const Document& from) {
  LibraryCoverage out;
  out.path = text(from, "path");
  out.architectures = texts(from, "architectures");
  const Document& containers = member(from, "containers", Kind::table);
  out.containers = size(containers, "judged");
  out.own = size(containers, "own");
  out.family = size(containers, "family");
  out.older = size(containers, "older");
  out.compiled = size(containers, "compiled");
  out.elsewhere = size(containers, "elsewhere");
  out.unserved = size(containers, "unserved");
  out.unjudged = size(containers, "unjudged");
  out.gap_architectures = texts(from, "gap_architectures");
  out.kernels_without = size(from, "kernels_without");
  out.examples = texts(from, "examples");
  out.ptx_version = text(from, "ptx_version");
  out.not_used = text(from, "not_used");
  return out;
}

GpuCoverage read_gpu_coverage(const Document& from) {
  GpuCoverage out;
  out.gpu = text(from, "gpu");
  out.products = texts(from, "products");
  const Document& driver = member(from, "driver", Kind::table);
  out.driver = text(driver, "lowest");
  out.driver_because = text(driver, "because");
  for_all(from, "libraries",
          [&](const Document& each) { out.libraries.push_back(read_coverage(each)); });
  return out;
}

Problem read_problem(const Document& from) {
  Problem out{text(from, "input"), text(from, "member"), text(from, "field"), std::nullopt,
              text(from, "reason")};
  const Document* offset = from.find("offset");
  if (offset && offset->kind == Kind::integer) out.offset = size(from, "offset");
  return out;
}

// Every table below that looks like a report: the whole document, or the cells of a matrix.
void collect(const Document& document, std::vector<Report>& out) {
  if (document.find("verdict") && document.find("findings") && document.find("inputs")) {
    out.push_back(read_report(document));
    return;
  }
  if (const Document* report = document.find("report")) collect(*report, out);
  if (const Document* cells = document.find("cells")) {
    for (const Document& cell : cells->items) collect(cell, out);
  }
}

constexpr std::uint64_t most_bytes = 1u << 30;

}  // namespace

Finding read_finding(const Document& from) {
  Finding out;
  out.id = text(from, "id");
  out.severity = one_of(from, "severity", {Severity::note, Severity::warning, Severity::error});
  out.title = text(from, "title");
  out.alternative = truth(from, "alternative");
  out.objects = texts(from, "objects");
  out.roots = texts(from, "roots");
  for_all(from, "symbols", [&](const Document& each) { out.symbols.push_back(read_symbol(each)); });
  out.evidence = texts(from, "evidence");
  out.cause = text(from, "cause");
  const Document& fix = member(from, "fix", Kind::table);
  out.fix = text(fix, "text");
  out.fix_verified = truth(fix, "verified");
  out.suppressed = text_if(from, "suppressed");
  out.known = from.find("known") && truth(from, "known");
  return out;
}

Report read_report(const Document& from) {
  Report out;
  out.verdict = status(from, "verdict");
  out.headline = text(from, "headline");
  out.complete = truth(from, "complete");
  const Document& scenario = member(from, "scenario", Kind::table);
  out.python = text(scenario, "python");
  out.python_reason = text(scenario, "python_from");
  for_all(from, "inputs", [&](const Document& each) { out.inputs.push_back(read_input(each)); });
  for_all(from, "roots", [&](const Document& each) { out.roots.push_back(read_root(each)); });
  for_all(from, "findings",
          [&](const Document& each) { out.findings.push_back(read_finding(each)); });
  for_all(from, "assumptions", [&](const Document& each) {
    out.assumptions.push_back({text(each, "library"), text(each, "kind"), text(each, "owner"),
                               text(each, "because"), size(each, "roots")});
  });
  for_all(from, "undecided", [&](const Document& each) {
    out.undecided.push_back(
        {text(each, "owner"), size(each, "count"), texts(each, "examples"), texts(each, "roots")});
  });
  for_all(from, "problems",
          [&](const Document& each) { out.problems.push_back(read_problem(each)); });
  // Later than the schema's first version, as is the configuration.
  if (from.find("cuda")) out.cuda = read_cuda(member(from, "cuda", Kind::table));
  if (from.find("gpus")) {
    for_all(from, "gpus",
            [&](const Document& each) { out.gpus.push_back(read_gpu_coverage(each)); });
  }
  out.scope = texts(from, "scope");
  out.configuration = text_if(from, "configuration");
  return out;
}

std::vector<Document> read_json_file(const std::string& path) {
  try {
    RandomFile file(path);
    if (file.size() > most_bytes) throw Unreadable("size", std::nullopt, "is larger than 1 GB");
    std::vector<std::uint8_t> bytes = file.read(0, file.size(), "text");
    std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    // Lines of JSON when the first line is a document by itself.
    std::size_t end = all.find('\n');
    bool lines = end != std::string_view::npos && end > 1 && all[end - 1] == '}';
    std::vector<Document> out;
    while (!all.empty()) {
      end = lines ? all.find('\n') : std::string_view::npos;
      std::string_view one = all.substr(0, end);
      all.remove_prefix(end == std::string_view::npos ? all.size() : end + 1);
      if (one.find_first_not_of(" \t\r\n") != std::string_view::npos) {
        out.push_back(read_json(one));
      }
    }
    return out;
  } catch (const Unreadable& error) {
    throw Unreadable(error.in(path, ""));
  }
}

std::vector<Report> read_reports(const std::string& path) {
  std::vector<Report> out;
  try {
    for (const Document& document : read_json_file(path)) collect(document, out);
  } catch (const Unreadable& error) {
    throw Unreadable(error.in(path, ""));
  }
  if (out.empty()) {
    throw Unreadable(Problem{path, {}, {}, std::nullopt, "holds no report of wheelvet's"});
  }
  return out;
}

}  // namespace wheelvet
