#include <nlohmann/json.hpp>

#include "report/difference.h"
#include "report/inspection.h"
#include "report/json_document.h"
#include "report/printable.h"
#include "report/render.h"
#include "report/version.h"

namespace wheelvet {
namespace {

using Json = nlohmann::ordered_json;

constexpr int schema_version = 1;

// Strings from files go through the same gate as on a terminal: JSON must be UTF-8, and a report is
// read with tools that print it.
Json text(const std::string& value) { return printable(value); }

Json texts(const std::vector<std::string>& values) {
  Json out = Json::array();
  for (const std::string& value : values) out.push_back(text(value));
  return out;
}

Json of(const Problem& problem) {
  Json out;
  out["input"] = text(problem.input);
  out["member"] = text(problem.member);
  out["field"] = text(problem.field);
  out["offset"] = problem.offset ? Json(*problem.offset) : Json(nullptr);
  out["reason"] = text(problem.reason);
  return out;
}

Json of(const SymbolEvidence& symbol) {
  Json out;
  out["symbol"] = text(symbol.symbol);
  out["demangled"] = text(symbol.readable);
  out["version"] = text(symbol.version);
  out["wanted_by"] = texts(symbol.wanted_by);
  out["near_misses"] = Json::array();
  for (const NearMiss& near : symbol.near_misses) {
    out["near_misses"].push_back({{"symbol", text(near.symbol)},
                                  {"demangled", text(near.readable)},
                                  {"provider", text(near.provider)},
                                  {"difference", text(near.difference)}});
  }
  return out;
}

Json of(const Finding& finding) {
  Json out;
  out["id"] = finding.id;
  out["severity"] = to_string(finding.severity);
  out["title"] = text(finding.title);
  out["alternative"] = finding.alternative;
  out["objects"] = texts(finding.objects);
  out["roots"] = texts(finding.roots);
  out["symbols"] = Json::array();
  for (const SymbolEvidence& symbol : finding.symbols) out["symbols"].push_back(of(symbol));
  out["evidence"] = texts(finding.evidence);
  out["cause"] = text(finding.cause);
  out["fix"] = {{"text", text(finding.fix)}, {"verified", finding.fix_verified}};
  out["suppressed"] = text(finding.suppressed);
  out["known"] = finding.known;
  return out;
}

Json of(const ReportRoot& root) {
  Json out;
  out["path"] = text(root.path);
  out["name"] = text(root.name);
  out["package"] = text(root.package);
  out["module"] = root.module;
  out["status"] = to_string(root.status);
  out["alternatives"] = text(root.alternatives);
  out["excused"] = root.excused;
  out["imports_first"] = texts(root.imports_first);
  out["opens_first"] = Json::array();
  for (const ReportOpen& open : root.opens_first) {
    out["opens_first"].push_back({{"path", text(open.path)}, {"global", open.global}});
  }
  out["opener"] = text(root.opener);
  out["imports"] = {{"bound", root.bound},
                    {"assumed", root.assumed},
                    {"undecided", root.undecided},
                    {"missing", root.missing}};
  out["missing_libraries"] = texts(root.missing_libraries);
  out["missing_symbols"] = texts(root.missing_symbols);
  out["missing_versions"] = texts(root.missing_versions);
  return out;
}

Json of(const ReportInput& input) {
  Json out;
  out["label"] = text(input.label);
  out["kind"] = input.kind;
  out["role"] = input.target ? "target" : "provider";
  out["packages"] = texts(input.packages);
  out["size"] = input.size;
  out["directory_sha256"] = input.identity;
  if (input.origin) {
    out["stub_of"] = {{"file", text(input.origin->file)},
                      {"size", input.origin->size},
                      {"sha256", text(input.origin->sha256)}};
  }
  return out;
}

Json of(const LibraryCoverage& library) {
  Json out;
  out["path"] = text(library.path);
  out["architectures"] = texts(library.architectures);
  out["containers"] = {{"judged", library.containers}, {"own", library.own},
                       {"family", library.family},     {"older", library.older},
                       {"compiled", library.compiled}, {"elsewhere", library.elsewhere},
                       {"unserved", library.unserved}, {"unjudged", library.unjudged}};
  out["gap_architectures"] = texts(library.gap_architectures);
  out["kernels_without"] = library.kernels_without;
  out["examples"] = texts(library.examples);
  out["ptx_version"] = text(library.ptx_version);
  out["not_used"] = text(library.not_used);
  return out;
}

Json of(const GpuCoverage& gpu) {
  Json out;
  out["gpu"] = gpu.gpu;
  out["products"] = texts(gpu.products);
  out["driver"] = {{"lowest", text(gpu.driver)}, {"because", text(gpu.driver_because)}};
  out["libraries"] = Json::array();
  for (const LibraryCoverage& library : gpu.libraries) out["libraries"].push_back(of(library));
  return out;
}

Json of(const ReportPlan& plan) {
  Json out;
  out["root"] = text(plan.root);
  out["loads"] = texts(plan.loads);
  out["objects"] = Json::array();
  for (const ReportObject& object : plan.objects) {
    out["objects"].push_back({{"name", text(object.name)},
                              {"found", text(object.found)},
                              {"requested_by", text(object.requested_by)},
                              {"from", text(object.from)},
                              {"looked_in", texts(object.looked_in)}});
  }
  return out;
}

Json of(const Stats& stats) {
  Json seconds;
  for (const auto& [stage, value] : stats.seconds) seconds[stage] = value;
  return {{"bytes_read", stats.bytes_read},
          {"second_passes", stats.second_passes},
          {"seconds", seconds}};
}

Json of(const InspectedSymbol& symbol) {
  return {{"symbol", text(symbol.symbol)},
          {"demangled", text(symbol.readable.empty() ? symbol.symbol : symbol.readable)},
          {"version", text(symbol.version)},
          {"library", text(symbol.library)},
          {"weak", symbol.weak},
          {"needed", symbol.needed}};
}

Json optional_text(bool present, const std::string& value) {
  return present ? text(value) : Json(nullptr);
}

Json of(const DeviceImage& image) {
  Json out = {{"kind", to_string(image.kind)},
              {"arch", arch_name(image)},
              {"offset", image.offset},
              {"size", image.size},
              {"packing", to_string(image.packing)},
              {"unpacked", image.unpacked},
              {"relocatable", image.relocatable},
              {"debug", image.debug}};
  if (image.kind == ImageKind::ptx) {
    out["isa"] = std::to_string(image.isa_major) + "." + std::to_string(image.isa_minor);
  }
  return out;
}

Json of(const DeviceCode& code, bool kernels) {
  Json out = Json::array();
  for (const DeviceContainer& container : code.containers) {
    Json shown = {{"carrier", to_string(container.carrier)},
                  {"offset", container.offset},
                  {"size", container.size},
                  {"images", Json::array()}};
    for (const DeviceImage& image : code.images_of(container)) shown["images"].push_back(of(image));
    if (kernels) {
      shown["kernels_read"] = container.kernels_read;
      shown["kernels"] = Json::array();
      for (std::uint32_t kernel : code.kernels_of(container)) {
        shown["kernels"].push_back(text(code.names[kernel]));
      }
    }
    out.push_back(std::move(shown));
  }
  return out;
}

Json of(const InspectedArch& row) {
  return {{"arch", row.arch},     {"kind", row.kind},     {"isa", row.isa},
          {"driver", row.driver}, {"images", row.images}, {"relocatable", row.relocatable},
          {"packed", row.packed}, {"bytes", row.bytes}};
}

Json device_of(const InspectedFile& file) {
  Json rows = Json::array();
  for (const InspectedArch& row : file.architectures) rows.push_back(of(row));
  return {{"read", file.device.read},
          {"architectures", std::move(rows)},
          {"containers", of(file.device, file.with_kernels)}};
}

Json of(const InspectedFile& file) {
  Json out;
  out["path"] = text(file.path);
  out["kind"] = file.kind;
  if (file.with_device) out["device"] = device_of(file);
  if (file.machine.empty()) return out;
  out["machine"] = file.machine;
  out["size"] = file.size;
  out["module"] = text(file.module);
  out["soname"] = text(file.soname);
  out["needed"] = texts(file.needed);
  out["rpath"] = optional_text(file.has_rpath, file.rpath);
  out["runpath"] = optional_text(file.has_runpath, file.runpath);
  out["version_needs"] = Json::object();
  for (const auto& [name, versions] : file.version_needs) {
    out["version_needs"][printable(name)] = texts(versions);
  }
  out["version_definitions"] = texts(file.version_definitions);
  out["floors"] = Json::object();
  for (const auto& [prefix, number] : file.floors) out["floors"][printable(prefix)] = text(number);
  out["symbols"] = {{"count", file.symbols},
                    {"imports", file.imports},
                    {"unneeded_imports", file.unneeded_imports},
                    {"python_imports", file.python_imports},
                    {"exports", file.exports}};
  out["tls_size"] = file.tls_size;
  out["executable_stack"] = file.executable_stack;
  out["writable_code"] = file.writable_code;
  out["bind_now"] = file.bind_now;
  out["text_relocations"] = file.text_relocations;
  out["relro"] = !file.relro ? "none" : file.bind_now ? "full" : "partial";
  out["canary"] = file.canary;
  out["fortified"] = file.fortified;
  out["bundled_from"] = text(file.bundled_from);
  out["build_id"] = text(file.build_id);
  out["headers"] = texts(file.headers);
  out["listed"] = Json::array();
  for (const InspectedSymbol& symbol : file.listed) out["listed"].push_back(of(symbol));
  return out;
}

Json of(const InspectedPackage& package) {
  return {{"name", text(package.name)},
          {"version", text(package.version)},
          {"requires_python", text(package.requires_python)},
          {"platform_floor", text(package.platform_floor)},
          {"tags", texts(package.tags)},
          {"requirements", texts(package.requirements)},
          {"entry_points", texts(package.entry_points)}};
}

// Empty texts are left out: there are thousands of names.
Json of(const NameChange& name) {
  Json out = Json::object();
  const std::pair<const char*, const std::string*> fields[] = {
      {"symbol", &name.symbol},           {"demangled", &name.readable},
      {"version", &name.version},         {"library", &name.library},
      {"new_symbol", &name.new_symbol},   {"new_demangled", &name.new_readable},
      {"new_version", &name.new_version}, {"new_library", &name.new_library},
      {"difference", &name.difference}};
  for (const auto& [field, value] : fields) {
    if (!value->empty()) out[field] = text(*value);
  }
  if (name.used) out["used"] = true;
  return out;
}

Json of(const LibraryChange& library) {
  return {{"path", text(library.path)},        {"new_path", text(library.new_path)},
          {"paired_by", library.paired_by},    {"size", library.size},
          {"new_size", library.new_size},      {"exports", library.exports},
          {"new_exports", library.new_exports}};
}

Json of(const DifferenceSide& side) {
  return {{"label", text(side.label)},
          {"kind", side.kind},
          {"packages", texts(side.packages)},
          {"size", side.size}};
}

Json of(const Change& change);
Json of(const UserOutcome& user);

template <class List>
Json all(const List& list) {
  Json out = Json::array();
  for (const auto& each : list) out.push_back(of(each));
  return out;
}

Json of(const Change& change) {
  Json out;
  out["kind"] = change.kind;
  out["severity"] = to_string(change.severity);
  out["title"] = text(change.title);
  out["before"] = text(change.before);
  out["now"] = text(change.now);
  out["evidence"] = texts(change.evidence);
  out["names"] = all(change.names);
  return out;
}

Json of(const UserOutcome& user) {
  Json out;
  out["label"] = text(user.label);
  out["breaks"] = user.breaks;
  out["modules"] = Json::array();
  for (const UserModule& module : user.modules) {
    out["modules"].push_back({{"path", text(module.path)},
                              {"name", text(module.name)},
                              {"before", to_string(module.before)},
                              {"now", to_string(module.now)},
                              {"breaks", module.breaks}});
  }
  out["findings"] = all(user.now.findings);
  return out;
}

// Deeper than any document of ours; the parser and what walks its result use the stack per level.
constexpr int most_levels = 64;

void limit_levels(std::string_view json) {
  int level = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '[' || c == '{') && ++level > most_levels) {
      throw Unreadable("JSON", i, "nested too deeply");
    } else if (!quoted && (c == ']' || c == '}')) {
      --level;
    }
  }
}

Document document_of(const Json& json) {
  Document out;
  if (json.is_boolean()) {
    out = json.get<bool>();
  } else if (json.is_number_integer()) {
    out.kind = Document::Kind::integer;
    out.integer = json.get<std::int64_t>();
  } else if (json.is_number()) {
    out.kind = Document::Kind::real;
    out.real = json.get<double>();
  } else if (json.is_string()) {
    out = json.get<std::string>();
  } else if (json.is_array()) {
    out = empty_list();
    for (const Json& item : json) out.add(document_of(item));
  } else if (json.is_object()) {
    out = empty_table();
    for (const auto& [key, value] : json.items()) out.set(key, document_of(value));
  }
  return out;
}

Json json_of(const Document& document) {
  switch (document.kind) {
    case Document::Kind::null:
      return nullptr;
    case Document::Kind::boolean:
      return document.truth;
    case Document::Kind::integer:
      return document.integer;
    case Document::Kind::real:
      return document.real;
    case Document::Kind::text:
    case Document::Kind::date:
      return document.text;
    case Document::Kind::list: {
      Json out = Json::array();
      for (const Document& item : document.items) out.push_back(json_of(item));
      return out;
    }
    case Document::Kind::table: {
      Json out = Json::object();
      for (const auto& [name, value] : document.members) out[name] = json_of(value);
      return out;
    }
  }
  return nullptr;
}

Json of(const CudaReport& cuda) {
  Json out = {{"driver", text(cuda.driver)}, {"driver_because", text(cuda.driver_because)}};
  out["libraries"] = Json::array();
  for (const CudaLibrary& each : cuda.libraries) {
    out["libraries"].push_back({{"soname", text(each.soname)},
                                {"kind", each.kind},
                                {"how", each.how},
                                {"state", each.state},
                                {"path", text(each.path)},
                                {"owner", text(each.owner)},
                                {"version", text(each.version)},
                                {"cuda", text(each.major)},
                                {"declared_by", text(each.declared_by)},
                                {"roots", texts(each.roots)}});
  }
  out["modules"] = Json::array();
  for (const CudaModule& each : cuda.modules) {
    out["modules"].push_back({{"path", text(each.path)},
                              {"runtime", text(each.runtime)},
                              {"driver", text(each.driver)},
                              {"driver_because", text(each.because)},
                              {"driver_functions", texts(each.driver_functions)},
                              {"nccl", text(each.nccl)},
                              {"nccl_functions", texts(each.nccl_functions)}});
  }
  return out;
}

Json header() {
  return {{"schema_version", schema_version},
          {"tool", {{"name", "wheelvet"}, {"version", program_version()}}}};
}

}  // namespace

std::string render_json(const Report& report, bool stats, int indent) {
  Json out = header();
  out["verdict"] = to_string(report.verdict);
  out["headline"] = text(report.headline);
  out["complete"] = report.complete;
  out["scenario"] = {{"python", text(report.python)}, {"python_from", text(report.python_reason)}};
  out["inputs"] = all(report.inputs);
  out["roots"] = all(report.roots);
  out["findings"] = all(report.findings);
  out["assumptions"] = Json::array();
  for (const Assumption& each : report.assumptions) {
    out["assumptions"].push_back({{"library", text(each.library)},
                                  {"kind", each.kind},
                                  {"owner", text(each.owner)},
                                  {"because", text(each.because)},
                                  {"roots", each.roots}});
  }
  out["undecided"] = Json::array();
  for (const Undecided& each : report.undecided) {
    out["undecided"].push_back({{"owner", text(each.owner)},
                                {"count", each.count},
                                {"examples", texts(each.examples)},
                                {"roots", texts(each.roots)}});
  }
  out["cuda"] = of(report.cuda);
  out["load_plans"] = all(report.plans);
  out["gpus"] = all(report.gpus);
  out["problems"] = all(report.problems);
  out["scope"] = texts(report.scope);
  out["configuration"] = text(report.configuration);
  if (stats) out["stats"] = of(report.stats);
  return out.dump(indent) + "\n";
}

std::string render_json(const Inspection& inspection) {
  Json out = header();
  out["packages"] = all(inspection.packages);
  out["files"] = all(inspection.files);
  out["problems"] = all(inspection.problems);
  return out.dump(2) + "\n";
}

std::string render_json(const DoctorReport& report, bool stats) {
  Json out = header();
  out["headline"] = text(report.headline);
  out["complete"] = report.complete;
  out["machine"] = text(report.machine);
  out["environment"] = text(report.environment);
  out["python"] = text(report.python);
  out["torch"] = {{"version", text(report.torch)}, {"cuda", text(report.torch_cuda)}};
  out["driver"] = {{"kernel", text(report.driver)},
                   {"libcuda", text(report.libcuda)},
                   {"gpus", texts(report.gpus)}};
  out["starts"] = texts(report.starts);
  out["toolkits"] = Json::array();
  for (const DoctorToolkit& each : report.toolkits) {
    out["toolkits"].push_back({{"path", text(each.path)},
                               {"kind", each.kind},
                               {"release", text(each.release)},
                               {"nvcc", text(each.nvcc)},
                               {"picked_by", texts(each.picked_by)}});
  }
  out["nccl"] = {{"version", text(report.nccl)}, {"settings", Json::array()}};
  for (const DoctorSetting& each : report.settings) {
    out["nccl"]["settings"].push_back({{"start", text(each.start)},
                                       {"name", text(each.name)},
                                       {"given", text(each.given)},
                                       {"effective", text(each.effective)},
                                       {"from", text(each.from)},
                                       {"note", text(each.note)}});
  }
  out["caches"] = Json::array();
  for (const DoctorCache& each : report.caches) {
    out["caches"].push_back({{"kind", each.kind},
                             {"path", text(each.path)},
                             {"made_for", text(each.made_for)},
                             {"bytes", each.bytes},
                             {"libraries", each.libraries}});
  }
  out["findings"] = all(report.findings);
  out["expectations"] = Json::array();
  for (const VerificationLine& each : report.expectations) {
    out["expectations"].push_back({{"name", text(each.name)},
                                   {"wanted", text(each.wanted)},
                                   {"found", text(each.found)},
                                   {"met", each.met}});
  }
  out["written"] = Json::array();
  for (const WrittenFix& each : report.written) {
    out["written"].push_back({{"path", text(each.path)},
                              {"replaces", text(each.replaces)},
                              {"settles", texts(each.settles)}});
  }
  out["problems"] = all(report.problems);
  out["scope"] = texts(report.scope);
  out["configuration"] = text(report.configuration);
  if (stats) {
    Json seconds = Json::object();
    for (const auto& [stage, value] : report.stats.seconds) seconds[stage] = value;
    out["stats"] = {{"bytes_read", report.stats.bytes_read}, {"seconds", seconds}};
  }
  return out.dump(2) + "\n";
}

std::string render_json(const Difference& difference, bool stats) {
  Json out = header();
  out["breaks"] = difference.breaks;
  out["headline"] = text(difference.headline);
  out["complete"] = difference.complete;
  out["old"] = of(difference.before);
  out["new"] = of(difference.now);
  out["users"] = all(difference.users);
  out["changes"] = all(difference.changes);
  out["libraries"] = all(difference.libraries);
  out["problems"] = all(difference.problems);
  if (stats) out["stats"] = of(difference.stats);
  return out.dump(2) + "\n";
}

std::string render_json_rules(const std::vector<CatalogEntry>& catalog) {
  Json out = header();
  out["rules"] = Json::array();
  for (const CatalogEntry& entry : catalog) {
    out["rules"].push_back({{"id", entry.id},
                            {"severity", entry.severity},
                            {"title", entry.title},
                            {"why", entry.why},
                            {"fix", entry.fix},
                            {"source", entry.source}});
  }
  return out.dump(2) + "\n";
}

std::vector<std::string> json_schema_names() {
  return {"report",  "load-plan", "inspect", "matrix", "compat",
          "explain", "diff",      "doctor",  "probe",  "tuning"};
}

std::string json_schema(const std::string& name) {
  return std::string(rules_text("schema/" + name + ".json"));
}

std::string render_json_error(const Problem& problem, int exit_code) {
  Json out = header();
  out["error"] = of(problem);
  out["exit_code"] = exit_code;
  return out.dump(2) + "\n";
}

Document read_json(std::string_view text) {
  limit_levels(text);
  try {
    return document_of(Json::parse(text.begin(), text.end()));
  } catch (const Json::parse_error& error) {
    throw Unreadable("JSON", error.byte, "is not JSON");
  } catch (const Json::out_of_range&) {
    throw Unreadable("JSON", std::nullopt, "holds a number that is too large");
  }
}

std::string write_json(const Document& document, int indent) {
  return json_of(document).dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace wheelvet
