#include "machine/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "facts/metadata.h"
#include "machine/tree.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_text = 1u << 20;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    lines.push_back(trimmed(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string parent(const std::string& path) {
  std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

bool is_python_folder(std::string_view name) {
  constexpr std::string_view stem = "python3.";
  if (!name.starts_with(stem) || name.size() == stem.size()) return false;
  std::string_view minor = name.substr(stem.size());
  if (minor.ends_with('t')) minor.remove_suffix(1);
  return !minor.empty() && minor.find_first_not_of("0123456789") == std::string_view::npos;
}

// One environment in the making.
struct Finder {
  const std::string& root;
  Environment env;
  std::map<std::string, std::string> settings;  // of pyvenv.cfg

  void read_settings() {
    std::string text = text_of(root, env.prefix + "/pyvenv.cfg", most_text);
    for (std::string_view line : lines_of(text)) {
      std::size_t equal = line.find('=');
      if (equal == std::string_view::npos) continue;
      settings.emplace(trimmed(line.substr(0, equal)), trimmed(line.substr(equal + 1)));
    }
  }

  bool is_venv() const { return settings.contains("home"); }

  // The prefix that the standard library belongs to.
  std::string base() const { return is_venv() ? parent(settings.at("home")) : env.prefix; }

  void find_interpreter() {
    for (const char* name : {"bin/python3", "bin/python"}) {
      std::string real = real_path(root, env.prefix + "/" + name);
      if (!real.empty() && is_file(root, real)) {
        env.interpreter = real;
        return;
      }
    }
  }

  // "python3.12": the folder of the prefix that has packages, or the one that the interpreter's own
  // name or pyvenv.cfg picks among several.
  std::string python_folder(const std::string& wanted) const {
    std::vector<std::string> found;
    for (const std::string& name : names_in(root, env.prefix + "/lib")) {
      std::string folder = env.prefix + "/lib/" + name;
      if (is_python_folder(name) && is_folder(root, folder)) found.push_back(name);
    }
    if (found.size() == 1) return found.front();
    if (!wanted.empty() &&
        std::find(found.begin(), found.end(), "python" + wanted) != found.end()) {
      return "python" + wanted;
    }
    std::string program = env.interpreter.substr(env.interpreter.find_last_of('/') + 1);
    auto named = settings.find("version_info");
    if (named == settings.end()) named = settings.find("version");
    for (const std::string& name : found) {
      bool by_file =
          named != settings.end() && (named->second + ".").starts_with(name.substr(6) + ".");
      if (name == program || by_file) return name;
    }
    if (found.empty()) {
      throw WrongUsage(fmt::format("{}: no environment: there is no lib/python3.*", env.prefix));
    }
    throw WrongUsage(
        fmt::format("{}: has {}, and nothing says which is meant: name one with --python",
                    env.prefix, fmt::join(found, " and ")));
  }

  void add_root(const std::string& folder) {
    if (!is_folder(root, folder)) return;
    std::string real = real_path(root, folder);
    for (const std::string& known : env.roots) {
      if (real_path(root, known) == real) return;
    }
    env.roots.push_back(folder);
  }

  // Debian keeps what pip installs for its own Python apart from what dpkg installs.
  void add_site(const std::string& prefix, const std::string& python) {
    if (prefix == "/usr") {
      add_root(fmt::format("/usr/local/lib/{}/dist-packages", python));
      add_root("/usr/lib/python3/dist-packages");
    }
    add_root(fmt::format("{}/lib/{}/site-packages", prefix, python));
    add_root(fmt::format("{}/lib64/{}/site-packages", prefix, python));
  }

  void add_user_site(const std::string& python) {
    const char* home = std::getenv("HOME");
    if (!root.empty() || !home || *home == '\0' || std::getenv("PYTHONNOUSERSITE")) return;
    add_root(fmt::format("{}/.local/lib/{}/site-packages", home, python));
  }

  // The finder of an editable install holds a literal MAPPING = {'package': '/folder', ...}.
  void read_finder(const std::string& path) {
    std::string text = text_of(root, path, most_text);
    std::size_t at = text.find("MAPPING");
    std::size_t open = at == std::string::npos ? at : text.find('{', at);
    std::size_t end = open == std::string::npos ? open : text.find('}', open);
    if (end == std::string::npos) {
      env.problems.push_back({env.prefix, path, "MAPPING", std::nullopt,
                              "an editable install whose finder could not be read"});
      return;
    }
    std::vector<std::string> strings;
    for (std::size_t i = open; i < end;) {
      char quote = text[i];
      std::size_t close =
          quote == '\'' || quote == '"' ? text.find(quote, i + 1) : std::string::npos;
      if (close == std::string::npos || close > end) {
        ++i;
        continue;
      }
      strings.push_back(text.substr(i + 1, close - i - 1));
      i = close + 1;
    }
    for (std::size_t i = 1; i < strings.size(); i += 2) {
      bool inside = std::any_of(env.roots.begin(), env.roots.end(), [&](const std::string& known) {
        return strings[i].starts_with(known + "/");
      });
      if (!inside && is_folder(root, strings[i])) env.packages.push_back(strings[i]);
    }
  }

  // A line of a .pth file is a folder, a comment, or a statement (Lib/site.py, addpackage).
  void read_path_file(const std::string& folder, const std::string& name) {
    std::string text = text_of(root, folder + "/" + name, most_text);
    for (std::string_view line : lines_of(text)) {
      if (line.empty() || line.starts_with('#')) continue;
      if (line.starts_with("import ") || line.starts_with("import\t")) {
        std::size_t at = line.find("__editable__");
        if (at == std::string_view::npos) continue;
        std::string_view module = line.substr(at);
        module = module.substr(0, module.find_first_of("; ,."));
        read_finder(fmt::format("{}/{}.py", folder, module));
        continue;
      }
      add_root(line.starts_with('/') ? std::string(line) : fmt::format("{}/{}", folder, line));
    }
  }

  void read_path_files() {
    std::vector<std::string> sites = env.roots;  // .pth files of added folders are not read
    for (const std::string& folder : sites) {
      for (const std::string& name : names_in(root, folder)) {
        if (name.ends_with(".pth") && !name.starts_with('.')) read_path_file(folder, name);
      }
    }
  }
};

}  // namespace

Environment find_environment(const std::string& root, const std::string& prefix,
                             const std::string& wanted) {
  Finder finder{root, {}, {}};
  Environment& env = finder.env;
  env.prefix = prefix;
  while (env.prefix.size() > 1 && env.prefix.ends_with('/')) env.prefix.pop_back();
  if (!is_folder(root, env.prefix)) {
    throw WrongUsage(fmt::format("{}{}: no such folder", root, env.prefix));
  }
  finder.read_settings();
  finder.find_interpreter();
  std::string python = finder.python_folder(wanted);
  env.python = python.substr(6);
  std::string base = finder.base();
  auto shared = finder.settings.find("include-system-site-packages");
  bool with_system = shared != finder.settings.end() && shared->second == "true";
  // The user's own folder comes before those of the prefix (Lib/site.py, main).
  if (!finder.is_venv() || with_system) finder.add_user_site(python);
  std::size_t own = env.roots.size();
  finder.add_site(env.prefix, python);
  if (own < env.roots.size()) env.site = env.roots[own];
  if (with_system) finder.add_site(base, python);
  if (env.site.empty()) {
    throw WrongUsage(fmt::format("{}: no site-packages for {}", env.prefix, python));
  }
  finder.read_path_files();
  std::string extensions = fmt::format("{}/lib/{}/lib-dynload", base, python);
  if (is_folder(root, extensions)) env.extensions = extensions;
  return env;
}

}  // namespace wheelvet
