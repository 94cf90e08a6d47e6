#include "history/name_forms.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <tuple>

#include "link/demangle.h"

namespace wheelvet {
namespace {

// The parts of a qualified name, as in "at::TensorBase::const_data_ptr<short, 0>".
struct Scoped {
  std::string enclosing;  // "TensorBase", without template arguments
  std::string last;       // "const_data_ptr"
  std::string base;       // the whole without the last component's template arguments
  std::string arguments;  // "<short, 0>"
};

bool is_operator(std::string_view component) {
  return component.starts_with("operator") &&
         (component.size() == 8 || !std::isalnum(static_cast<unsigned char>(component[8])));
}

// Where the last component starts: after the last "::" outside of brackets, or before "operator".
std::size_t last_component(std::string_view scoped) {
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i < scoped.size(); ++i) {
    if (depth == 0 && i == start && is_operator(scoped.substr(i))) break;
    if (scoped[i] == '<' || scoped[i] == '(' || scoped[i] == '{') ++depth;
    if (scoped[i] == '>' || scoped[i] == ')' || scoped[i] == '}') --depth;
    if (depth == 0 && scoped.substr(i, 2) == "::") start = i + 2;
  }
  return start;
}

// Where the template arguments of a component start, or its end.
std::size_t arguments_of(std::string_view component) {
  if (is_operator(component)) return component.size();
  return std::min(component.find('<'), component.size());
}

Scoped take_apart(const std::string& text) {
  Scoped out;
  std::string scoped = without_string_abi(text);
  std::size_t start = last_component(scoped);
  std::string_view last = std::string_view(scoped).substr(start);
  std::size_t arguments = arguments_of(last);
  out.last = last.substr(0, arguments);
  out.arguments = last.substr(arguments);
  out.base = scoped.substr(0, start) + out.last;
  if (start >= 2) {
    std::string_view scope = std::string_view(scoped).substr(0, start - 2);
    std::string_view enclosing = scope.substr(last_component(scope));
    out.enclosing = enclosing.substr(0, arguments_of(enclosing));
  }
  return out;
}

// Where the first identifier `word` of a mangled name ends; 0 when there is none.
std::size_t end_of_identifier(std::string_view mangled, std::string_view word) {
  std::size_t end = 0;
  each_identifier(mangled, [&](std::string_view each) {
    if (each != word) return true;
    end = static_cast<std::size_t>(each.data() - mangled.data()) + each.size();
    return false;
  });
  return end;
}

struct Form {
  CxxName name;
  Scoped scoped;
};

std::optional<Form> read_form(std::string_view symbol) {
  std::optional<CxxName> name = read_cxx_name(symbol);
  if (!name || !name->function) return std::nullopt;
  Scoped scoped = take_apart(name->scoped);
  return Form{std::move(*name), std::move(scoped)};
}

// The operators that take their two operands as parameters are told apart by these alone: an
// overload of them is another function, not another form.
bool free_operator(const Form& form) {
  return is_operator(form.scoped.last) && form.scoped.last != "operator()" &&
         form.name.parameters.size() == 2;
}

// "<short" of "<short, 0>".
std::string_view first_argument(std::string_view arguments) {
  int depth = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == '<' || arguments[i] == '(') ++depth;
    bool ends = (arguments[i] == ',' || arguments[i] == '>') && depth == 1;
    if (arguments[i] == '>' || arguments[i] == ')') --depth;
    if (ends) return arguments.substr(0, i);
  }
  return arguments;
}

// Two functions of one qualified name are forms of each other unless they are instances of a
// template for different types.
bool same_function(const Form& a, const Form& b) {
  std::string_view left = a.scoped.arguments, right = b.scoped.arguments;
  return a.scoped.base == b.scoped.base &&
         (left.empty() || right.empty() || first_argument(left) == first_argument(right));
}

int differences(const Form& a, const Form& b) {
  const std::vector<std::string>&left = a.name.parameters, &right = b.name.parameters;
  std::size_t common = std::min(left.size(), right.size());
  auto count = static_cast<int>(std::max(left.size(), right.size()) - common);
  for (std::size_t i = 0; i < common; ++i) {
    count += without_string_abi(left[i]) != without_string_abi(right[i]);
  }
  return count + (a.name.qualifiers != b.name.qualifiers) +
         (a.scoped.arguments != b.scoped.arguments);
}

std::vector<std::uint32_t> builds_of(const History& history, const std::vector<Export>& exports,
                                     std::string_view machine) {
  std::vector<std::uint32_t> out;
  for (const Export& each : exports) {
    bool known = !out.empty() && out.back() == each.build;
    if (!known && history.builds[each.build].machine == machine) out.push_back(each.build);
  }
  return out;
}

bool overlap(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](std::uint32_t i) { return std::binary_search(b.begin(), b.end(), i); });
}

}  // namespace

std::string_view shared_beginning(std::string_view mangled) {
  std::optional<Form> form = read_form(mangled);
  if (!form) return {};
  const Scoped& scoped = form->scoped;
  bool has_code = is_operator(scoped.last);
  std::string_view word = has_code ? scoped.enclosing : scoped.last;
  if (word.starts_with('~') || word == scoped.enclosing) {
    word = scoped.enclosing;
    has_code = true;
  }
  std::size_t end = word.empty() ? 0 : end_of_identifier(mangled, word);
  if (end == 0) return {};
  // The two letters that say which operator, constructor or destructor it is; not after a class
  // template, whose arguments come first.
  if (has_code && end + 2 <= mangled.size() && mangled[end] != 'I' && mangled[end] != 'B') end += 2;
  return mangled.substr(0, end);
}

NameStory story_of(History& history, std::string_view name, std::uint32_t installed) {
  NameStory story;
  const std::string machine = history.builds[installed].machine;
  story.covered = covers(history, name);
  story.builds = builds_of(history, exports_of(history, name), machine);
  std::string_view beginning = shared_beginning(name);
  std::optional<Form> wanted = read_form(name);
  if (beginning.empty() || !wanted || free_operator(*wanted)) return story;
  each_name(history, beginning, [&](std::string_view symbol, const std::vector<Export>& exports) {
    std::vector<std::uint32_t> builds = builds_of(history, exports, machine);
    if (symbol == name || builds.empty()) return;
    std::optional<Form> other = read_form(symbol);
    if (!other || !same_function(*wanted, *other)) return;
    NameForm& form = story.forms.emplace_back();
    form.symbol = symbol;
    form.instead = !story.builds.empty() && !overlap(builds, story.builds);
    form.differences = differences(*wanted, *other);
    form.only_strings =
        without_string_abi(wanted->name.text) == without_string_abi(other->name.text);
    form.builds = std::move(builds);
  });
  auto rank = [&](const NameForm& form) {
    bool there = std::binary_search(form.builds.begin(), form.builds.end(), installed);
    return std::tuple(!form.instead, !there, form.differences, std::string_view(form.symbol));
  };
  std::sort(story.forms.begin(), story.forms.end(),
            [&](const NameForm& a, const NameForm& b) { return rank(a) < rank(b); });
  return story;
}

std::string release_range(const History& history, const std::vector<std::uint32_t>& builds) {
  std::string out;
  for (std::size_t first = 0; first < builds.size();) {
    std::size_t last = first;
    while (last + 1 < builds.size() && builds[last + 1] == builds[last] + 1) ++last;
    if (!out.empty()) out += ", ";
    out += history.builds[builds[first]].version;
    if (last > first) out += " to " + history.builds[builds[last]].version;
    first = last + 1;
  }
  return out;
}

}  // namespace wheelvet
