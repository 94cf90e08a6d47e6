// The calls that open libraries, and those that make the paths which they are given.
#include <algorithm>
#include <charconv>

#include "facts/python_reader.h"

namespace wheelvet {
namespace {

constexpr std::size_t kMaxHelperOpens = 64;

struct Opener {
  std::string_view name;  // the whole dotted name, or its last part(s)
  std::size_t path;       // the argument's position, and its name
  std::string_view keyword;
  std::size_t mode = kNone;
  std::string_view mode_keyword = "";
  bool global = false;  // whatever the arguments say

  static constexpr std::size_t kNone = 99;
};

// ctypes: Lib/ctypes/__init__.py. torch: torch/_ops.py opens by ctypes.CDLL(path), RTLD_LOCAL.
// cffi: FFI.dlopen(name, flags=0), 0 meaning RTLD_NOW. llvmlite: LLVM's DynamicLibrary opens with
// RTLD_LAZY | RTLD_GLOBAL. jax: the plugin is opened with RTLD_NOW, RTLD_LOCAL.
constexpr Opener kOpeners[] = {
    {"CDLL", 0, "name", 1, "mode"},
    {"PyDLL", 0, "name", 1, "mode"},
    {"cdll.LoadLibrary", 0, "name"},
    {"pydll.LoadLibrary", 0, "name"},
    {"torch.ops.load_library", 0, "path"},
    {"torch.classes.load_library", 0, "path"},
    {"load_op_library", 0, "library_filename"},
    {"tensorflow.load_library", 0, "library_location"},
    {"dlopen", 0, "name", 1, "flags"},
    {"load_library_permanently", 0, "filename", Opener::kNone, "", true},
    {"tvm_ffi.load_module", 0, "path"},
    {"tvm_ffi.module.load_module", 0, "path"},
    {"tvm.runtime.load_module", 0, "path"},
    {"load_dynamic", 1, "path"},
    {"ExtensionFileLoader", 1, "path"},
    {"spec_from_file_location", 1, "location"},
    {"load_pjrt_plugin_dynamically", 1, "library_path"},
    {"register_plugin", Opener::kNone, "library_path"},
};

// They return what they are given: a path in another form, or the elements of a list.
constexpr std::string_view kSame[] = {"str",
                                      "list",
                                      "tuple",
                                      "set",
                                      "sorted",
                                      "iter",
                                      "next",
                                      "reversed",
                                      "os.fspath",
                                      "os.fsdecode",
                                      "os.fsencode",
                                      "frozenset",
                                      "os.path.abspath",
                                      "os.path.realpath",
                                      "os.path.normpath",
                                      "os.path.expanduser",
                                      "os.path.expandvars",
                                      "importlib.resources.as_file",
                                      "contextlib.closing",
                                      "glob.escape",
                                      "typing.cast"};
constexpr std::string_view kSameMethods[] = {
    "resolve", "absolute", "as_posix", "expanduser", "strip", "rstrip",  "copy",
    "encode",  "decode",   "values",   "keys",       "items", "__str__", "enter_context"};
constexpr std::string_view kPaths[] = {"pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath",
                                       "pathlib.PurePosixPath"};

template <std::size_t Count>
bool listed(const std::string_view (&names)[Count], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool ends_with_name(std::string_view whole, std::string_view name) {
  if (!whole.ends_with(name)) return false;
  return whole.size() == name.size() || whole[whole.size() - name.size() - 1] == '.';
}

const PythonArgument* argument_at(const PythonArguments& arguments, std::size_t position,
                                  std::string_view keyword) {
  std::size_t at = 0;
  for (const PythonArgument& argument : arguments) {
    if (argument.star) return nullptr;
    if (argument.keyword.empty() ? at++ == position
                                 : !keyword.empty() && argument.keyword == keyword) {
      return &argument;
    }
  }
  return nullptr;
}

PythonValue value_at(const PythonArguments& arguments, std::size_t position,
                     std::string_view keyword = {}) {
  const PythonArgument* argument = argument_at(arguments, position, keyword);
  return argument == nullptr ? unknown_value() : argument->value;
}

bool says_flag(const PythonValue& mode, std::string_view flag) {
  return std::any_of(mode.texts.begin(), mode.texts.end(), [&](const std::string& text) {
    return text.starts_with(kPyName) && ends_with_name(text, flag);
  });
}

/// "libfoo.so" of a text that is a module's name: any of the suffixes of extension modules.
PythonValue with_suffix(const PythonValue& stem) {
  return concatenate(stem, ".", concatenate(unknown_value(), "so", text_value("")));
}

/// spec_from_file_location opens Python files as well.
bool may_be_extension(std::string_view pattern) {
  std::string_view last = pattern.substr(pattern.rfind('/') + 1);
  return last != "*" && !last.ends_with(".py") && !last.ends_with(".pyc");
}

/// A tuple whose elements are known each, as an element of a list of such.
PythonValue row_of(const PythonValue& tuple) {
  PythonValue row = text_value("");
  for (std::size_t i = 0; i < tuple.texts.size(); ++i) {
    std::string before(i == 0 ? 0 : 1, kPyColumn);
    row.texts[0] += before + tuple.texts[i];
  }
  return row;
}

PythonPlace place_of(std::string_view text, std::string_view pattern) {
  if (text.starts_with(kPyRoot)) return PythonPlace::packages;
  if (text.starts_with('/')) return PythonPlace::absolute;
  bool searched = pattern.find('/') == pattern.npos && !pattern.starts_with('*');
  return searched ? PythonPlace::searched : PythonPlace::unknown;
}

/// `text.format(arguments)`, fields without attributes and the like.
PythonValue brace_formatted(std::string_view text, const PythonArguments& arguments) {
  PythonValue out = text_value("");
  std::size_t next = 0;
  while (!text.empty()) {
    std::size_t brace = std::min(text.find_first_of("{}"), text.size());
    bool twice = brace + 1 < text.size() && text[brace + 1] == text[brace];
    out = concatenate(out, text.substr(0, brace + (twice ? 1 : 0)), text_value(""));
    if (twice || brace >= text.size() || text[brace] == '}') {
      text.remove_prefix(std::min(brace + (twice ? 2 : 1), text.size()));
      continue;
    }
    std::size_t close = std::min(text.find('}', brace), text.size());
    std::string_view field = text.substr(brace + 1, close - brace - 1);
    field = field.substr(0, field.find_first_of(":!"));
    text.remove_prefix(std::min(close + 1, text.size()));
    std::size_t position = Opener::kNone;
    if (field.empty()) position = next++;
    std::from_chars(field.data(), field.data() + field.size(), position);
    out = concatenate(out, "", value_at(arguments, position, field));
  }
  return out;
}

}  // namespace

PythonValue PythonReader::own_file() const {
  return text_value(std::string(1, kPyRoot) + "/" + module_.path);
}

/// The folder of a package or module that is named with dots.
PythonValue PythonReader::package_folder(const PythonValue& name) const {
  PythonValue out;
  for (std::string text : name.texts) {
    if (text.starts_with(kPyName)) text.erase(0, 1);
    if (text == module_.name) text = module_.package;
    std::replace(text.begin(), text.end(), '.', '/');
    std::string folder = std::string(1, kPyRoot) + (text.empty() ? "" : "/") + text;
    join_values(out, text.starts_with(kPyUnknown) ? unknown_value() : text_value(folder));
  }
  return out;
}

const PythonHelper* PythonReader::find_helper(const std::string& name) const {
  auto own = own_.end();
  if (name.starts_with("self.") || name.starts_with("cls.")) {
    own = own_.find(name.substr(name.find('.')));
  } else if (name.find('.') == std::string::npos) {
    own = own_.find(name);
  }
  if (own != own_.end()) return &own->second;
  auto known = known_.find(name);
  return known == known_.end() || known->second.constant ? nullptr : &known->second;
}

PythonValue PythonReader::call_function(const std::string& name, const PythonArguments& arguments) {
  if (const PythonHelper* helper = find_helper(name)) return call_helper(*helper, arguments);
  if (call_opener(name, arguments)) return unknown_value();
  if (name == "importlib.import_module" || name == "__import__") {
    call_importer(arguments);
    // The module, by its name.
    std::optional<std::string> module = known_text(value_at(arguments, 0, "name"));
    return module && !module->starts_with('.') ? text_value(std::string(1, kPyName) + *module)
                                               : unknown_value();
  }
  if (name == "sys.setdlopenflags" && says_flag(value_at(arguments, 0), "RTLD_GLOBAL")) {
    out_.sets_dlopenflags_global = true;
  }
  if (name == "getattr") {
    // getattr(ctypes, "RTLD_GLOBAL", 0)
    std::optional<std::string> base = dotted_name(value_at(arguments, 0));
    PythonValue member = value_at(arguments, 1);
    if (base && member.texts.size() == 1 && !member.texts[0].starts_with(kPyName)) {
      return text_value(std::string(1, kPyName) + *base + "." + member.texts[0]);
    }
    return unknown_value();
  }
  return call_path_function(name, arguments).value_or(unknown_value());
}

std::optional<PythonValue> PythonReader::call_path_function(std::string_view name,
                                                            const PythonArguments& arguments) {
  PythonValue first = value_at(arguments, name == "typing.cast" ? 1 : 0);
  if (name == "os.path.join" || listed(kPaths, name)) {
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      first = join_paths(first, arguments[i].star ? unknown_value() : arguments[i].value);
    }
    return first;
  }
  if (listed(kSame, name)) {
    bool list = name == "list" || name == "tuple" || name == "set" || name == "sorted";
    if (arguments.empty()) return list ? PythonValue{{}, true, false} : unknown_value();
    if (name == "next" && arguments.size() > 1) join_values(first, arguments[1].value);
    first.list = list || (first.list && name != "next");
    return first;
  }
  if (name == "os.path.dirname") return parent_folder(first);
  if (name == "os.path.basename") return base_name(first);
  if (name == "glob.glob" || name == "glob.iglob") {
    const PythonArgument* root = argument_at(arguments, Opener::kNone, "root_dir");
    return glob_value(root == nullptr ? first : join_paths(root->value, first));
  }
  if (name == "os.listdir") return PythonValue{unknown_value().texts, true, false};
  if (name == "enumerate") {
    PythonValue rows = concatenate(unknown_value(), std::string(1, kPyColumn), first);
    rows.list = true;
    return rows;
  }
  if (name == "filter" || name == "map") {
    return name == "filter" ? value_at(arguments, 1) : unknown_value();
  }
  if (name == "dict") {
    PythonValue rows{{}, true, false};
    for (const PythonArgument& each : arguments) {
      std::string key(each.keyword);
      join_values(rows, concatenate(text_value(key), std::string(1, kPyColumn), each.value));
    }
    return rows;
  }
  if (name == "os.getenv" || name == "os.environ.get") {
    PythonValue value = unknown_value();
    if (arguments.size() > 1) join_values(value, arguments[1].value);
    return value;
  }
  if (name == "platform.system") return platform_value("Linux");
  if (name == "sysconfig.get_config_var" || name.ends_with(".sysconfig.get_config_var")) {
    std::optional<std::string> variable = known_text(first);
    bool suffix = variable && (*variable == "EXT_SUFFIX" || *variable == "SO");
    return suffix ? with_suffix(text_value("")) : unknown_value();
  }
  if (name == "ctypes.util.find_library") {
    return concatenate(concatenate(text_value("lib"), "", first), ".so", unknown_value());
  }
  if (name == "importlib.resources.files" || name == "importlib.util.find_spec" ||
      name == "importlib_resources.files") {
    return package_folder(first);
  }
  if (name == "importlib.resources.path" || name == "pkg_resources.resource_filename") {
    return join_paths(package_folder(first), value_at(arguments, 1));
  }
  if (name == "importlib.machinery.FileFinder") return first;
  return std::nullopt;
}

PythonValue PythonReader::call_method(const PythonValue& value, std::string_view name,
                                      const PythonArguments& arguments,
                                      const std::string& variable) {
  PythonValue first = value_at(arguments, 0);
  bool adds = name == "append" || name == "extend" || name == "add" || name == "update" ||
              name == "insert" || name == "appendleft";
  if (adds) {
    if (find_name(variable) != nullptr) {
      PythonValue more = name == "insert" ? value_at(arguments, 1) : first;
      PythonValue whole = *find_name(variable);
      bool rows = std::any_of(whole.texts.begin(), whole.texts.end(),
                              [](const std::string& text) { return has_mark(text, kPyColumn); });
      if (rows && more.list && name != "extend") more = row_of(more);
      more.list = true;
      join_values(whole, more);
      assign_name(variable, whole, false);
    }
    return {};
  }
  if (listed(kSameMethods, name)) return value;
  if (name == "joinpath" || name == "find_spec") {
    PythonValue path = value;
    for (const PythonArgument& each : arguments) {
      path = join_paths(path, each.star ? unknown_value() : each.value);
    }
    return path;
  }
  if (name == "with_name") return join_paths(parent_folder(value), first);
  if (name == "glob") return glob_value(join_paths(value, first));
  if (name == "rglob") return glob_value(join_paths(join_paths(value, text_value("*")), first));
  if (name == "iterdir") {
    PythonValue inside = join_paths(value, unknown_value());
    inside.list = true;
    return inside;
  }
  if (name == "get" || name == "pop") {
    PythonValue entry = entry_of(value, first);
    if (arguments.size() > 1) join_values(entry, arguments[1].value);
    return entry;
  }
  std::optional<std::string> text = known_text(value);
  if (name == "format" && text) return brace_formatted(*text, arguments);
  if (name == "lower" && text && value.platform) {
    std::string lower = *text;
    for (char& c : lower) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return platform_value(lower);
  }
  if (name == "startswith" && text && value.platform) {
    bool any = false, open = false;
    for (const std::string& start : first.texts) {
      any |= text->starts_with(start);
      open |= !known_text(text_value(start));
    }
    return open ? unknown_value() : truth_value(any);
  }
  if (name == "dlopen") call_opener("dlopen", arguments);
  return unknown_value();
}

PythonValue PythonReader::call_helper(const PythonHelper& called,
                                      const PythonArguments& arguments) {
  // A copy: the call may add to the very helper that is called.
  PythonHelper helper = called;
  std::vector<PythonValue> values = helper.defaults;
  std::size_t position = 0;
  for (const PythonArgument& argument : arguments) {
    if (argument.star) {
      for (; position < values.size(); ++position) values[position] = unknown_value();
    } else if (argument.keyword.empty()) {
      if (position < values.size()) values[position++] = argument.value;
    } else {
      auto named = std::find(helper.parameters.begin(), helper.parameters.end(), argument.keyword);
      if (named == helper.parameters.end()) continue;
      values[static_cast<std::size_t>(named - helper.parameters.begin())] = argument.value;
    }
  }
  for (const PythonHelper::Open& each : helper.opens) {
    bool own = std::none_of(each.path.texts.begin(), each.path.texts.end(),
                            [](const std::string& text) { return has_mark(text, kPyParameter); });
    PythonValue path = charged(substitute(each.path, values));
    PythonValue mode = charged(substitute(each.mode, values));
    open(path, mode, each.call, each.guarded, own);
  }
  return charged(substitute(helper.returns, values));
}

bool PythonReader::call_opener(const std::string& name, const PythonArguments& arguments) {
  if (ends_with_name(name, "load_nvidia_dynamic_lib")) {
    // cuda.pathfinder: finds the library of that name and opens it.
    PythonValue library = concatenate(text_value("lib"), "", value_at(arguments, 0));
    open(concatenate(library, ".so", unknown_value()), {}, name, false, false);
    return true;
  }
  if (name == "numpy.ctypeslib.load_library") {
    // The folder may be given as a file in it.
    PythonValue folder = value_at(arguments, 1, "loader_path");
    for (std::string& text : folder.texts) {
      if (text.ends_with(".py")) text = parent_folder(text_value(text)).texts[0];
    }
    PythonValue library = value_at(arguments, 0, "libname");
    for (std::string& text : library.texts) {
      if (text.find('.') == text.npos) text = with_suffix(text_value(text)).texts[0];
    }
    open(join_paths(folder, library), {}, name, false, false);
    return true;
  }
  for (const Opener& opener : kOpeners) {
    if (!ends_with_name(name, opener.name)) continue;
    const PythonArgument* path = argument_at(arguments, opener.path, opener.keyword);
    if (path == nullptr && opener.path == Opener::kNone) return false;
    PythonValue mode;
    const PythonArgument* said = argument_at(arguments, opener.mode, opener.mode_keyword);
    if (said != nullptr) mode = said->value;
    if (opener.global) mode = text_value(std::string(1, kPyName) + "os.RTLD_GLOBAL");
    open(path == nullptr ? unknown_value() : path->value, mode, name, false, false);
    return true;
  }
  return false;
}

void PythonReader::call_importer(const PythonArguments& arguments) {
  PythonValue names = value_at(arguments, 0, "name");
  bool in_function = !scopes_[state().scope].function.empty();
  for (const std::string& text : names.texts) {
    std::string module = pattern_of(text);
    if (module == "*" || module.empty()) continue;
    if (module.starts_with('.')) module = module_.package + module;
    out_.imports.push_back({module, {}, state().guarded, in_function, true, line_});
  }
}

void PythonReader::open(const PythonValue& path, const PythonValue& mode, const std::string& call,
                        bool guarded, bool seen_before) {
  // RTLD_NOLOAD opens nothing that is not there.
  if (path.texts.empty() || says_flag(mode, "RTLD_NOLOAD")) return;
  guarded |= state().guarded;
  const std::string& function = scopes_[state().scope].function;
  PythonValue paths = path;
  PythonValue modes = mode;
  if (!function.empty()) {
    PythonHelper& helper = own_[function];
    if (helper.opens.size() < kMaxHelperOpens) helper.opens.push_back({path, mode, call, guarded});
    if (seen_before) return;
    paths = substitute(path, helper.defaults);
    modes = substitute(mode, helper.defaults);
  }
  bool global = says_flag(modes, "RTLD_GLOBAL");
  for (std::string text : paths.texts) {
    // module.__file__, which only an extension module's can be here.
    constexpr std::string_view kInit = "/__init__.py";
    if (text.ends_with(kInit)) {
      text = with_suffix(text_value(text.substr(0, text.size() - kInit.size()))).texts[0];
    }
    std::string pattern = pattern_of(text);
    if (call.ends_with("spec_from_file_location") && !may_be_extension(pattern)) continue;
    bool shown = std::any_of(out_.opens.begin(), out_.opens.end(), [&](const PythonOpen& each) {
      return each.line == line_ && each.pattern == pattern && each.global == global;
    });
    if (shown) continue;
    out_.opens.push_back(
        {pattern, place_of(text, pattern), global, guarded, !function.empty(), call, line_});
  }
}

}  // namespace wheelvet
