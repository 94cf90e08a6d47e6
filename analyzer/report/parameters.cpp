#include "report/parameters.h"

namespace wheelvet {
namespace {

bool opens(char c) { return c == '(' || c == '<' || c == '[' || c == '{'; }
bool closes(char c) { return c == ')' || c == '>' || c == ']' || c == '}'; }

// Where the parameter list that ends at `end` (a ")") begins; npos when brackets do not pair.
std::size_t list_start(std::string_view name, std::size_t end) {
  int depth = 0;
  for (std::size_t i = end + 1; i-- > 0;) {
    if (name[i] == '>' && i > 0 && name[i - 1] == '-') continue;  // operator->
    if (closes(name[i])) ++depth;
    if (opens(name[i]) && --depth == 0) return name[i] == '(' ? i : std::string_view::npos;
  }
  return std::string_view::npos;
}

}  // namespace

NameParts split_name(std::string_view readable) {
  NameParts out;
  out.before = readable;
  std::size_t end = readable.rfind(')');
  if (end == std::string_view::npos) return out;
  std::size_t start = list_start(readable, end);
  if (start == std::string_view::npos) return out;
  out.before = readable.substr(0, start + 1);
  out.after = readable.substr(end);
  std::string_view list = readable.substr(start + 1, end - start - 1);
  int depth = 0;
  std::string parameter;
  for (char c : list) {
    if (opens(c)) ++depth;
    if (closes(c)) --depth;
    if (c == ',' && depth == 0) {
      out.parameters.push_back(std::move(parameter));
      parameter.clear();
    } else if (c != ' ' || !parameter.empty()) {
      parameter += c;
    }
  }
  if (!parameter.empty()) out.parameters.push_back(std::move(parameter));
  return out;
}

}  // namespace wheelvet
