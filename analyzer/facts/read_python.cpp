#include "facts/read_python.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "facts/metadata.h"
#include "facts/python_source.h"
#include "input/archive.h"
#include "input/random_file.h"

namespace wheelvet {
namespace {

constexpr std::uint64_t max_source = 8u << 20;

std::string_view top_of(std::string_view path) { return path.substr(0, path.find('/')); }

bool of_tests(std::string_view path) {
  return path.find("/tests/") != std::string_view::npos ||
         path.find("/test/") != std::string_view::npos ||
         path.find("/testing/") != std::string_view::npos;
}

// The symbol that makes a file importable is looked for by name here; who asks for the loader's own
// answer is link/scene.
bool looks_like_module(const FileFacts& file) {
  std::string_view base = base_name(file.path);
  std::string wanted = "PyInit_" + std::string(base.substr(0, base.find('.')));
  const SymbolTable& table = file.elf.symbols;
  for (std::size_t i = 1; i < table.count; ++i) {
    if (!table.undefined(i) && table.name(i) == wanted) return true;
  }
  return false;
}

// One Python file on its way.
struct Source {
  const Member* member = nullptr;
  std::string path;
  std::string text;
  PythonSource read;
};

// The sources of one input.
class Reader {
 public:
  Reader(const Input& input, const std::set<std::string>& known, InputFacts& facts, unsigned jobs)
      : input_(input), described_(known), facts_(facts), jobs_(jobs) {
    for (const Member& member : input.members) {
      if (!member.name.ends_with(".py")) continue;
      facts.python_read = true;
      std::string path = installed_path(member.name);
      if (!known.contains(std::string(top_of(path)))) by_name_.emplace(std::move(path), &member);
    }
  }

  void run() {
    if (by_name_.empty()) return;
    std::set<std::string> tops = tops_of_loose_libraries();
    std::vector<Source> sources;
    for (const auto& [path, member] : by_name_) {
      bool wanted = tops.contains(std::string(top_of(path))) && !of_tests(path);
      if (wanted) sources.push_back({member, path, {}, {}});
    }
    load_texts(sources);
    std::erase_if(sources, [](const Source& each) { return !may_open_libraries(each.text); });
    parse(sources, {});
    PythonHelpers helpers;
    for (const Source& each : sources)
      helpers.insert(each.read.helpers.begin(), each.read.helpers.end());
    if (!helpers.empty()) parse(sources, helpers);
    for (Source& each : sources) add(each);
    follow_imports();
    std::sort(facts_.python.begin(), facts_.python.end(),
              [](const PythonFacts& a, const PythonFacts& b) { return a.path < b.path; });
  }

 private:
  // First folders of libraries that are no modules: something opens them, or what they need.
  std::set<std::string> tops_of_loose_libraries() const {
    std::set<std::string> tops;
    for (const FileFacts& file : facts_.files) {
      std::string inside = installed_path(file.member);
      bool loose = file.kind == FileKind::elf && !file.problem &&
                   inside.find('/') != std::string::npos && !looks_like_module(file);
      if (loose) tops.emplace(top_of(inside));
    }
    return tops;
  }

  std::string text_of(const Member& member) const {
    try {
      std::vector<std::uint8_t> bytes;
      if (input_.archive) {
        bytes = read_member(*input_.archive, member, max_source);
      } else {
        RandomFile file(member.source.empty() ? input_.path + "/" + member.name : member.source);
        if (file.size() > max_source) return {};
        bytes = file.read(0, file.size(), "file");
      }
      return {bytes.begin(), bytes.end()};
    } catch (const Unreadable&) {
      return {};
    }
  }

  template <class Work>
  void in_parallel(std::size_t count, Work&& work) const {
    std::atomic<std::size_t> next{0};
    auto run = [&] {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    };
    std::vector<std::jthread> pool;
    for (unsigned i = 1; i < jobs_ && i < count; ++i) pool.emplace_back(run);
    run();
  }

  void load_texts(std::vector<Source>& sources) const {
    in_parallel(sources.size(),
                [&](std::size_t i) { sources[i].text = text_of(*sources[i].member); });
  }

  void parse(std::vector<Source>& sources, const PythonHelpers& helpers) const {
    in_parallel(sources.size(), [&](std::size_t i) {
      sources[i].read = read_python_source(sources[i].text, sources[i].path, helpers);
    });
  }

  void add(Source& source) {
    PythonFacts& out = facts_.python.emplace_back();
    out.path = input_.mount.empty() ? source.path : input_.mount + "/" + source.path;
    known_.insert(source.path);
    for (const PythonImport& each : source.read.imports) {
      if (!each.guarded && !each.in_function && !each.by_call) add_import(each, out);
    }
    for (const PythonOpen& each : source.read.opens) {
      if (each.place != PythonPlace::searched && each.place != PythonPlace::packages) continue;
      std::string prefix = input_.mount.empty() || each.place == PythonPlace::searched
                               ? std::string()
                               : input_.mount + "/";
      out.opens.push_back({prefix + each.pattern, each.place == PythonPlace::searched, each.global,
                           each.guarded || each.in_function, each.line});
    }
  }

  // `from a import b` imports a, and a.b where that is a module.
  void add_import(const PythonImport& each, PythonFacts& out) const {
    out.imports.push_back(each.module);
    for (const std::string& name : each.names) {
      std::string module = each.module + "." + name;
      if (member_of(module)) out.imports.push_back(module);
    }
  }

  const Member* member_of(const std::string& module) const {
    std::string path = module;
    std::replace(path.begin(), path.end(), '.', '/');
    for (const char* ending : {"/__init__.py", ".py"}) {
      auto found = by_name_.find(path + ending);
      if (found != by_name_.end()) return found->second;
    }
    return nullptr;
  }

  // First folders of packages that require one whose import is described: no other one imports it.
  // Empty: all folders.
  std::set<std::string> tops_that_import(const std::set<std::string>& known) const {
    std::set<std::string> tops;
    for (const PackageFacts& package : facts_.packages) {
      bool requires_it = std::any_of(package.requirements.begin(), package.requirements.end(),
                                     [&](const std::string& each) {
                                       std::size_t end = each.find_first_of(" ;<>=!~[(,");
                                       return known.contains(normalised_name(each.substr(0, end)));
                                     });
      if (!requires_it) continue;
      if (facts_.packages.size() == 1) return {};
      for (const std::string& top : package.top_level) tops.emplace(top_of(top));
    }
    tops.emplace();  // nothing else: an empty set stands for all
    return tops;
  }

  // The __init__ files above every extension module, and what they import of this input.
  void follow_imports() {
    std::set<std::string> work;
    std::set<std::string> tops = tops_that_import(described_);
    for (const FileFacts& file : facts_.files) {
      std::string path = installed_path(file.member);
      if (!tops.empty() && !tops.contains(std::string(top_of(path)))) continue;
      for (std::size_t slash = path.find('/'); slash != std::string::npos;
           slash = path.find('/', slash + 1)) {
        work.insert(path.substr(0, slash) + "/__init__.py");
      }
    }
    constexpr std::size_t most_files = 20'000;
    while (!work.empty() && known_.size() < most_files) {
      std::vector<Source> sources;
      for (const std::string& path : work) {
        auto member = by_name_.find(path);
        if (member != by_name_.end() && !known_.contains(path)) {
          sources.push_back({member->second, path, {}, {}});
        }
      }
      work.clear();
      load_texts(sources);
      parse(sources, {});
      for (Source& each : sources) {
        add(each);
        for (const std::string& module : facts_.python.back().imports) {
          if (const Member* member = member_of(module)) work.insert(installed_path(member->name));
        }
      }
    }
  }

  const Input& input_;
  const std::set<std::string>& described_;
  InputFacts& facts_;
  unsigned jobs_;
  std::map<std::string, const Member*> by_name_;
  std::set<std::string> known_;
};

}  // namespace

void read_python(const std::vector<Input>& inputs, const std::set<std::string>& known, Facts& facts,
                 unsigned jobs) {
  if (jobs == 0) jobs = std::max(1u, std::thread::hardware_concurrency());
  for (InputFacts& input : facts.inputs) {
    const Input& of = inputs[input.input];
    bool has_source = of.target && (of.kind == InputKind::wheel || of.kind == InputKind::folder);
    if (has_source && !of.members.empty()) Reader(of, known, input, jobs).run();
  }
}

}  // namespace wheelvet
