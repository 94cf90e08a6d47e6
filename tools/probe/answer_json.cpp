#include "answer_json.h"

#include <nlohmann/json.hpp>

#include <stdexcept>

namespace wheelvet::probe {
namespace {

using Json = nlohmann::ordered_json;

constexpr int schema_version = 1;

// A member that is missing, or of another type, is an exception of the JSON library's; an unknown
// one is left alone by it, so that members are counted.
template <typename T>
void take(const Json& json, const char* name, T& value) {
  value = json.at(name).get<T>();
}

template <typename T>
void take_optional(const Json& json, const char* name, std::optional<T>& value) {
  if (!json.at(name).is_null()) value = json.at(name).get<T>();
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Ended ended_from(const std::string& text) {
  for (Ended ended :
       {Ended::answered, Ended::exited, Ended::signalled, Ended::timeout, Ended::flood,
        Ended::forged, Ended::stopped, Ended::interrupted, Ended::not_started}) {
    if (text == word(ended)) return ended;
  }
  throw std::runtime_error("no end " + text);
}

Outcome outcome_from(const std::string& text) {
  for (Outcome outcome : {Outcome::pass, Outcome::fail, Outcome::not_run, Outcome::interrupted}) {
    if (text == word(outcome)) return outcome;
  }
  throw std::runtime_error("no outcome " + text);
}

Json to_object(const CallError& e) {
  return {{"call", e.call}, {"code", e.code}, {"name", e.name}, {"text", e.text}};
}

CallError error_from(const Json& json) {
  CallError e;
  take(json, "call", e.call);
  take(json, "code", e.code);
  take(json, "name", e.name);
  take(json, "text", e.text);
  return e;
}

Json to_object(const LoadedLibrary& l) {
  return {{"name", l.name}, {"path", l.path}, {"version", l.version}};
}

void from_object(const Json& json, LoadedLibrary& l) {
  take(json, "name", l.name);
  take(json, "path", l.path);
  take(json, "version", l.version);
}

Json to_object(const Check& c) {
  return {{"subject", c.subject},
          {"predicted", c.predicted},
          {"observed", c.observed},
          {"agrees", c.agrees},
          {"kind", c.kind}};
}

void from_object(const Json& json, Check& c) {
  take(json, "subject", c.subject);
  take(json, "predicted", c.predicted);
  take(json, "observed", c.observed);
  take(json, "agrees", c.agrees);
  take(json, "kind", c.kind);
}

Json to_object(const DeviceFacts& d) {
  return {{"index", d.index},
          {"name", d.name},
          {"uuid", d.uuid},
          {"pci", d.pci},
          {"compute_capability", {d.capability_major, d.capability_minor}},
          {"memory", d.memory},
          {"multiprocessors", d.multiprocessors},
          {"compute_mode", d.compute_mode},
          {"ecc", d.ecc},
          {"persistence", or_null(d.persistence)},
          {"mig", or_null(d.mig)},
          {"uncorrected_errors", or_null(d.uncorrected_errors)},
          {"active_nvlinks", or_null(d.active_nvlinks)}};
}

void from_object(const Json& json, DeviceFacts& d) {
  take(json, "index", d.index);
  take(json, "name", d.name);
  take(json, "uuid", d.uuid);
  take(json, "pci", d.pci);
  d.capability_major = json.at("compute_capability").at(0).get<int>();
  d.capability_minor = json.at("compute_capability").at(1).get<int>();
  take(json, "memory", d.memory);
  take(json, "multiprocessors", d.multiprocessors);
  take(json, "compute_mode", d.compute_mode);
  take(json, "ecc", d.ecc);
  take_optional(json, "persistence", d.persistence);
  take_optional(json, "mig", d.mig);
  take_optional(json, "uncorrected_errors", d.uncorrected_errors);
  take_optional(json, "active_nvlinks", d.active_nvlinks);
}

Json to_object(const LinkFacts& l) {
  return {{"from", l.from},       {"to", l.to},
          {"type", l.type},       {"peer_access", l.peer_access},
          {"atomics", l.atomics}, {"performance_rank", l.performance_rank}};
}

void from_object(const Json& json, LinkFacts& l) {
  take(json, "from", l.from);
  take(json, "to", l.to);
  take(json, "type", l.type);
  take(json, "peer_access", l.peer_access);
  take(json, "atomics", l.atomics);
  take(json, "performance_rank", l.performance_rank);
}

Json to_object(const Figure& f) {
  return {{"collective", f.collective},
          {"bytes", f.bytes},
          {"ranks", f.ranks},
          {"microseconds", f.microseconds},
          {"algorithm_gb_s", f.algorithm_gb_s},
          {"bus_gb_s", or_null(f.bus_gb_s)},
          {"correct", f.correct}};
}

void from_object(const Json& json, Figure& f) {
  take(json, "collective", f.collective);
  take(json, "bytes", f.bytes);
  take(json, "ranks", f.ranks);
  take(json, "microseconds", f.microseconds);
  take(json, "algorithm_gb_s", f.algorithm_gb_s);
  take_optional(json, "bus_gb_s", f.bus_gb_s);
  take(json, "correct", f.correct);
}

Json to_object(const TunedCell& c) {
  return {{"collective", c.collective}, {"bytes", c.bytes},   {"without_us", c.without},
          {"with_us", c.with},          {"change", c.change}, {"beyond_noise", c.beyond_noise}};
}

Json to_object(const TunedSetting& s);
Json to_object(const ChildRun& r);
Json to_object(const HostFacts& h);
void from_object(const Json& json, CodeContainer& c);
void from_object(const Json& json, CodeLibrary& l);
void from_object(const Json& json, PlannedOpen& o);
void from_object(const Json& json, PlannedLoad& l);

template <typename T>
Json to_array(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(to_object(value));
  return array;
}

template <typename T>
void take_array(const Json& json, const char* name, std::vector<T>& values) {
  if (!json.at(name).is_array()) throw std::runtime_error(std::string(name) + " is no array");
  for (const Json& each : json.at(name)) from_object(each, values.emplace_back());
}

Json to_object(const NcclLog& n) {
  return {{"version", n.version}, {"channels", n.channels}, {"transports", n.transports},
          {"network", n.network}, {"settings", n.settings}, {"warnings", n.warnings}};
}

Json to_object(const DriverFacts& d) {
  return {{"version", d.version}, {"cuda", {d.cuda / 1000, d.cuda % 1000 / 10}}};
}

DriverFacts driver_from(const Json& json) {
  DriverFacts d;
  take(json, "version", d.version);
  d.cuda = json.at("cuda").at(0).get<int>() * 1000 + json.at("cuda").at(1).get<int>() * 10;
  return d;
}

Json to_object(const Answer& a) {
  return {{"outcome", word(a.outcome)},
          {"reason", a.reason},
          {"error", a.error ? to_object(*a.error) : Json(nullptr)},
          {"driver", a.driver ? to_object(*a.driver) : Json(nullptr)},
          {"devices", to_array(a.devices)},
          {"links", to_array(a.links)},
          {"libraries", to_array(a.libraries)},
          {"checks", to_array(a.checks)},
          {"figures", to_array(a.figures)}};
}

/// Libraries' bytes may be no UTF-8: replaced, never an exception.
std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json to_object(const Capture& c) {
  return {{"bytes", c.bytes}, {"first", c.first}, {"last", c.last}};
}

Json to_object(const ChildRun& r) {
  return {{"rank", r.rank},
          {"host", r.host},
          {"ended", word(r.ended)},
          {"code", r.code},
          {"seconds", r.seconds},
          {"stage", r.stage},
          {"left", r.left},
          {"stdout", to_object(r.output)},
          {"stderr", to_object(r.errors)}};
}

Json to_object(const StepReport& step) {
  const Answer& a = step.answer;
  return {{"name", step.name},
          {"subject", step.subject},
          {"outcome", word(step.outcome)},
          {"reason", step.reason},
          {"seconds", step.seconds},
          {"error", a.error ? to_object(*a.error) : Json(nullptr)},
          {"libraries", to_array(a.libraries)},
          {"checks", to_array(a.checks)},
          {"figures", to_array(a.figures)},
          {"nccl", a.nccl ? to_object(*a.nccl) : Json(nullptr)},
          {"processes", to_array(step.processes)}};
}

Json to_object(const TunedSetting& s) {
  return {{"setting", s.setting},
          {"effect", s.effect},
          {"reason", s.reason},
          {"cells", to_array(s.cells)}};
}

void from_object(const Json& json, Capture& c) {
  take(json, "bytes", c.bytes);
  take(json, "first", c.first);
  take(json, "last", c.last);
}

void from_object(const Json& json, ChildRun& r) {
  r.ended = ended_from(json.at("ended").get<std::string>());
  take(json, "code", r.code);
  take(json, "seconds", r.seconds);
  take(json, "stage", r.stage);
  take(json, "left", r.left);
  from_object(json.at("stdout"), r.output);
  from_object(json.at("stderr"), r.errors);
  take(json, "answer", r.answer);
}

/// As in the report, and the answer as it came: rank 0 judges it.
Json with_answer(const ChildRun& run) {
  Json json = to_object(run);
  json["answer"] = run.answer;
  return json;
}

void from_object(const Json& json, NcclLog& n) {
  take(json, "version", n.version);
  take(json, "channels", n.channels);
  take(json, "transports", n.transports);
  take(json, "network", n.network);
  take(json, "settings", n.settings);
  take(json, "warnings", n.warnings);
}

Json to_object(const HostFacts& h) {
  return {{"name", h.name},
          {"ranks", h.ranks},
          {"driver", h.driver ? to_object(*h.driver) : Json(nullptr)},
          {"gpus", h.gpus}};
}

Json to_object(const World& w) {
  return {{"launcher", w.launcher}, {"ranks", w.ranks}, {"hosts", to_array(w.hosts)}};
}

Json to_object(const Sweep& s) {
  return {{"rounds", s.rounds},           {"tried", s.tried}, {"failed", s.failed},
          {"finals", to_array(s.finals)}, {"best", s.best},   {"gain", s.gain}};
}

void from_object(const Json& json, CodeContainer& c) {
  take(json, "offset", c.offset);
  take(json, "size", c.size);
  take(json, "predicted", c.predicted);
  take(json, "kernels", c.kernels);
}

void from_object(const Json& json, CodeLibrary& l) {
  take(json, "library", l.library);
  take(json, "file", l.file);
  take(json, "optional", l.optional);
  take_array(json, "containers", l.containers);
}

void from_object(const Json& json, PlannedOpen& o) {
  take(json, "path", o.path);
  take(json, "global", o.global);
  take(json, "optional", o.optional);
  take(json, "lazy", o.lazy);
}

void from_object(const Json& json, PlannedLoad& l) {
  take(json, "root", l.root);
  take(json, "predicted", l.predicted);
  take(json, "python", l.python);
  take_array(json, "opens", l.opens);
  take(json, "objects", l.objects);
}

/// What the steps found out together.
struct Facts {
  Json driver = nullptr, devices = Json::array(), links = Json::array();
  std::string nccl;
};

Facts facts_of(const Report& report) {
  Facts facts;
  for (const StepReport& step : report.steps) {
    if (step.answer.nccl && !step.answer.nccl->version.empty())
      facts.nccl = step.answer.nccl->version;
    if (!step.answer.driver) continue;
    facts.driver = to_object(*step.answer.driver);
    facts.devices = to_array(step.answer.devices);
    facts.links = to_array(step.answer.links);
  }
  return facts;
}

Json tool() { return {{"name", "wheelvet-probe"}, {"version", WHEELVET_VERSION}}; }

}  // namespace

std::string to_json(const Answer& answer) { return dump(to_object(answer), -1); }

Answer parse_answer(const std::string& text) {
  Answer answer;
  try {
    Json json = Json::parse(text);
    answer.outcome = outcome_from(json.at("outcome").get<std::string>());
    take(json, "reason", answer.reason);
    if (!json.at("error").is_null()) answer.error = error_from(json.at("error"));
    if (!json.at("driver").is_null()) answer.driver = driver_from(json.at("driver"));
    take_array(json, "devices", answer.devices);
    take_array(json, "links", answer.links);
    take_array(json, "libraries", answer.libraries);
    take_array(json, "checks", answer.checks);
    take_array(json, "figures", answer.figures);
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(error.what());
  }
  return answer;
}

std::string to_json(const RankPart& part) {
  Json json = {{"host", part.host},
               {"driver", with_answer(part.driver)},
               {"nccl", with_answer(part.nccl)},
               {"log", to_object(part.log)}};
  return dump(json, -1);
}

RankPart parse_rank_part(const std::string& text) {
  RankPart part;
  try {
    Json json = Json::parse(text);
    take(json, "host", part.host);
    from_object(json.at("driver"), part.driver);
    from_object(json.at("nccl"), part.nccl);
    from_object(json.at("log"), part.log);
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(error.what());
  }
  return part;
}

Job parse_job(const std::string& text) {
  Job job;
  try {
    Json json = Json::parse(text);
    take(json, "notes", job.notes);
    take_array(json, "code", job.code);
    take_array(json, "loads", job.loads);
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(error.what());
  }
  return job;
}

std::string to_json(const Report& report) {
  Json steps = Json::array();
  for (const StepReport& step : report.steps) steps.push_back(to_object(step));
  Facts facts = facts_of(report);
  Json tuning = nullptr;
  if (report.tuning) {
    tuning = {{"rounds", report.tuning->rounds}, {"settings", to_array(report.tuning->settings)}};
  }
  Json json = {
      {"schema_version", schema_version},
      {"tool", tool()},
      {"verdict", word(report.verdict)},
      {"headline", report.headline},
      {"complete", report.verdict == Outcome::pass || report.verdict == Outcome::fail},
      {"anonymous", report.anonymous},
      {"limit", report.limit},
      {"host", {{"name", report.host}, {"kernel", report.kernel}, {"machine", report.machine}}},
      {"environment", report.environment},
      {"driver", facts.driver},
      {"devices", facts.devices},
      {"links", facts.links},
      {"steps", steps},
      {"tuning", tuning},
      {"sweep", report.sweep ? to_object(*report.sweep) : Json(nullptr)},
      {"world", report.world ? to_object(*report.world) : Json(nullptr)},
      {"notes", report.notes}};
  return dump(json, 1) + "\n";
}

std::string to_tuning_record(const Report& report) {
  Facts facts = facts_of(report);
  Json gpus = Json::array(), links = Json::array();
  for (const Json& device : facts.devices) gpus.push_back(device.at("name"));
  for (const Json& link : facts.links) {
    links.push_back({{"from", link.at("from")}, {"to", link.at("to")}, {"type", link.at("type")}});
  }
  Json json = {{"schema_version", schema_version},
               {"tool", tool()},
               {"nccl", facts.nccl},
               {"driver", facts.driver},
               {"gpus", gpus},
               {"links", links},
               {"rounds", report.tuning->rounds},
               {"settings", to_array(report.tuning->settings)}};
  return dump(json, 1) + "\n";
}

}  // namespace wheelvet::probe
