#include "probe_job.h"

#include <nlohmann/json.hpp>

namespace wheelvet {

using Json = nlohmann::ordered_json;

namespace {

Json of(const ProbeContainer& container) {
  return {{"offset", container.offset},
          {"size", container.size},
          {"predicted", container.predicted},
          {"kernels", container.kernels}};
}

Json of(const ProbeOpen& open) {
  return {{"path", open.path},
          {"global", open.global},
          {"optional", open.optional},
          {"lazy", open.lazy}};
}

template <typename T>
Json all(const std::vector<T>& values) {
  Json out = Json::array();
  for (const T& value : values) out.push_back(of(value));
  return out;
}

Json of(const ProbeCode& code) {
  return {{"library", code.library},
          {"file", code.file},
          {"optional", code.optional},
          {"containers", all(code.containers)}};
}

Json of(const ProbeLoad& load) {
  return {{"root", load.root},
          {"predicted", load.predicted},
          {"python", load.python},
          {"opens", all(load.opens)},
          {"objects", load.objects}};
}

}  // namespace

std::string render_probe_job(const ProbeJob& job) {
  Json code = Json::array(), loads = Json::array();
  for (const ProbeCode& each : job.code) code.push_back(of(each));
  for (const ProbeLoad& each : job.loads) loads.push_back(of(each));
  Json json = {{"notes", job.notes}, {"code", code}, {"loads", loads}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace wheelvet
