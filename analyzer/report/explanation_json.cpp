#include "report/explanation.h"
#include "report/json_document.h"
#include "report/printable.h"
#include "report/version.h"

namespace wheelvet {
namespace {

constexpr int schema_version = 1;

Document document_of(const Side& side) {
  return table_of({{"role", printable(side.role)},
                   {"what", printable(side.what)},
                   {"owner", table_of({{"kind", printable(side.owner.kind)},
                                       {"name", printable(side.owner.name)},
                                       {"version", printable(side.owner.version)}})},
                   {"built_for", printable(side.built_for)}});
}

Document document_of(const SymbolForm& form) {
  return table_of({{"symbol", printable(form.symbol)},
                   {"demangled", printable(form.readable)},
                   {"releases", printable(form.releases)},
                   {"difference", printable(form.difference)},
                   {"wanted", form.wanted}});
}

Document document_of(const Repair& repair) {
  return table_of({{"side", printable(repair.side)},
                   {"fix", printable(repair.sentence)},
                   {"command", printable(repair.command)},
                   {"verified", repair.verified},
                   {"next", printable_list(repair.next)}});
}

template <class Items>
Document list(const Items& items);

Document document_of(const Explanation& each) {
  return table_of({{"kind", printable(each.kind)},
                   {"sentence", printable(each.sentence)},
                   {"line", std::size_t{each.line}},
                   {"text", printable(each.text)},
                   {"times", std::size_t{each.times}},
                   {"hidden", each.hidden},
                   {"sides", list(each.sides)},
                   {"symbols", list(each.forms)},
                   {"fixes", list(each.repairs)},
                   {"confirmed", printable_list(each.confirmed)},
                   {"next", printable_list(each.next)},
                   {"show", printable_list(each.shows)},
                   {"unknown", printable_list(each.unknown)}});
}

template <class Items>
Document list(const Items& items) {
  Document out = empty_list();
  for (const auto& item : items) out.add(document_of(item));
  return out;
}

}  // namespace

std::string render_explanation_json(const Answer& answer) {
  Document out =
      table_of({{"schema_version", schema_version},
                {"tool", table_of({{"name", "wheelvet"}, {"version", program_version()}})},
                {"understood", !answer.explanations.empty()},
                {"bytes", std::size_t{answer.bytes}},
                {"lines", std::size_t{answer.lines}},
                {"cut", answer.cut},
                {"binary", answer.binary},
                {"explanations", list(answer.explanations)}});
  return write_json(out, 2) + "\n";
}

}  // namespace wheelvet
