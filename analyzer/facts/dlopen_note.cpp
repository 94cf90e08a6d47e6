#include "facts/dlopen_note.h"

#include <nlohmann/json.hpp>

namespace wheelvet {

std::vector<DlopenWish> read_dlopen_note(std::string_view text) {
  using Json = nlohmann::json;
  std::vector<DlopenWish> wishes;
  Json list = Json::parse(text, nullptr, false);
  if (!list.is_array()) return wishes;
  auto string_of = [](const Json& entry, const char* key, const char* otherwise) {
    auto found = entry.find(key);
    return found != entry.end() && found->is_string() ? found->get<std::string>()
                                                      : std::string(otherwise);
  };
  for (const Json& entry : list) {
    if (!entry.is_object()) continue;
    auto sonames = entry.find("soname");
    if (sonames == entry.end() || !sonames->is_array()) continue;
    DlopenWish& wish = wishes.emplace_back();
    for (const Json& name : *sonames) {
      if (name.is_string()) wish.sonames.push_back(name.get<std::string>());
    }
    wish.feature = string_of(entry, "feature", "");
    wish.priority = string_of(entry, "priority", "recommended");  // the specification's default
  }
  return wishes;
}

}  // namespace wheelvet
