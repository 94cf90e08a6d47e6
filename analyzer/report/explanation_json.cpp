#include <nlohmann/json.hpp>

#include "report/explanation.h"
#include "report/printable.h"
#include "report/version.h"

namespace wheelvet {
namespace {

using Json = nlohmann::ordered_json;

constexpr int schema_version = 1;

Json text(const std::string& value) { return printable(value); }

Json texts(const std::vector<std::string>& values) {
  Json out = Json::array();
  for (const std::string& value : values) out.push_back(text(value));
  return out;
}

Json of(const Side& side) {
  Json out;
  out["role"] = text(side.role);
  out["what"] = text(side.what);
  out["owner"] = {{"kind", text(side.owner.kind)},
                  {"name", text(side.owner.name)},
                  {"version", text(side.owner.version)}};
  out["built_for"] = text(side.built_for);
  return out;
}

Json of(const SymbolForm& form) {
  return {{"symbol", text(form.symbol)},
          {"demangled", text(form.readable)},
          {"releases", text(form.releases)},
          {"difference", text(form.difference)},
          {"wanted", form.wanted}};
}

Json of(const Repair& repair) {
  return {{"side", text(repair.side)},
          {"fix", text(repair.sentence)},
          {"command", text(repair.command)},
          {"verified", repair.verified},
          {"next", texts(repair.next)}};
}

Json of(const Explanation& each);

template <class Items>
Json list(const Items& items) {
  Json out = Json::array();
  for (const auto& item : items) out.push_back(of(item));
  return out;
}

Json of(const Explanation& each) {
  Json out;
  out["kind"] = text(each.kind);
  out["sentence"] = text(each.sentence);
  out["line"] = each.line;
  out["text"] = text(each.text);
  out["times"] = each.times;
  out["hidden"] = each.hidden;
  out["sides"] = list(each.sides);
  out["symbols"] = list(each.forms);
  out["fixes"] = list(each.repairs);
  out["confirmed"] = texts(each.confirmed);
  out["next"] = texts(each.next);
  out["show"] = texts(each.shows);
  out["unknown"] = texts(each.unknown);
  return out;
}

}  // namespace

std::string render_explanation_json(const Answer& answer) {
  Json out;
  out["schema_version"] = schema_version;
  out["tool"] = {{"name", "wheelvet"}, {"version", program_version()}};
  out["understood"] = !answer.explanations.empty();
  out["bytes"] = answer.bytes;
  out["lines"] = answer.lines;
  out["cut"] = answer.cut;
  out["binary"] = answer.binary;
  out["explanations"] = list(answer.explanations);
  return out.dump(2) + "\n";
}

}  // namespace wheelvet
