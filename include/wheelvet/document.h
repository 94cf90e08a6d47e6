// JSON or TOML text as plain data, so that no parser's types cross a stage.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wheelvet {

struct Document {
  enum class Kind { null, boolean, integer, real, text, date, list, table };

  Kind kind = Kind::null;
  bool truth = false;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;  ///< a date is written YYYY-MM-DD
  std::vector<Document> items;
  std::vector<std::pair<std::string, Document>> members;  ///< in the order of the text
  unsigned line = 0;                                      ///< where it stands; 0 when not known

  Document() = default;
  Document(bool value) : kind(Kind::boolean), truth(value) {}
  Document(int value) : kind(Kind::integer), integer(value) {}
  Document(std::size_t value) : kind(Kind::integer), integer(static_cast<std::int64_t>(value)) {}
  Document(std::string value) : kind(Kind::text), text(std::move(value)) {}
  Document(std::string_view value) : kind(Kind::text), text(value) {}
  Document(const char* value) : kind(Kind::text), text(value) {}

  /// The member of a table, or null when there is none.
  const Document* find(std::string_view name) const {
    for (const auto& [key, value] : members) {
      if (key == name) return &value;
    }
    return nullptr;
  }
  void set(std::string name, Document value) {
    kind = Kind::table;
    members.emplace_back(std::move(name), std::move(value));
  }
  void add(Document value) {
    kind = Kind::list;
    items.push_back(std::move(value));
  }
};

inline Document empty_list() {
  Document out;
  out.kind = Document::Kind::list;
  return out;
}

inline Document empty_table() {
  Document out;
  out.kind = Document::Kind::table;
  return out;
}

inline Document table_of(std::initializer_list<std::pair<std::string, Document>> members) {
  Document out = empty_table();
  out.members.assign(members.begin(), members.end());
  return out;
}

}  // namespace wheelvet
