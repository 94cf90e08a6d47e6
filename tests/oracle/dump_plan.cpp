// Plays the loader of this machine over the files named on standard input, one a line, and prints
// for each what it holds and binds as a line of JSON that a script can compare with LD_DEBUG's.
//
// dump_plan [--program PATH] [--env PREFIX] [--first MODE:PATH]... [--library-path DIR]...
//           [--preload NAME]... [--glibc RELEASE] [--lazy] [--start]
//
// --program: the process; --first: opened before each file, MODE g for RTLD_GLOBAL or l; --lazy:
// the files are opened with RTLD_LAZY; --start: they are programs, which are started. Every file is
// opened in a process of its own.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "facts/read_facts.h"
#include "input/open_inputs.h"
#include "link/process.h"
#include "link/search_path.h"
#include "machine/environment.h"
#include "machine/find_machine.h"
#include "machine/read_machine.h"

using namespace wheelvet;
using Json = nlohmann::ordered_json;

namespace {

struct Options {
  std::string program, environment, glibc;
  std::vector<std::string> first, files, library_path, preload;
  bool lazy = false, start = false;
};

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string option = argv[i];
    if (option == "--start" || option == "--lazy") {
      (option == "--start" ? options.start : options.lazy) = true;
      continue;
    }
    if (i + 1 == argc) throw WrongUsage(option + ": a value is missing");
    std::string value = argv[++i];
    if (option == "--program") options.program = value;
    if (option == "--env") options.environment = value;
    if (option == "--glibc") options.glibc = value;
    if (option == "--first") options.first.push_back(value);
    if (option == "--library-path") options.library_path.push_back(value);
    if (option == "--preload") options.preload.push_back(value);
  }
  for (std::string line; std::getline(std::cin, line);) options.files.push_back(line);
  return options;
}

struct Stage {
  Machine machine;
  std::vector<Input> inputs;
  Facts facts;
  Rules rules = load_rules();
  Scene scene;

  explicit Stage(const Options& options) : machine(find_machine("")) {
    machine.interpreter = options.program;
    machine.library_path = options.library_path;
    machine.preload = options.preload;
    if (!options.glibc.empty()) use_release(options.glibc);
    if (!options.environment.empty()) open_environment(options.environment);
    facts = read_facts(inputs, {});
    add_files(options);
    InputFacts own = read_machine(machine, inputs, facts);
    own.input = inputs.size();
    inputs.emplace_back().kind = InputKind::machine;
    facts.inputs.push_back(std::move(own));
    scene = set_scene(inputs, facts, rules, machine, "");
    scene.exact = true;
  }

  // Another release of glibc on this machine: what it does not look into any more is left out.
  void use_release(const std::string& release) {
    machine.glibc = release;
    if (compare_versions(release, "2.37") < 0) return;
    std::erase_if(machine.capabilities,
                  [](const std::string& folder) { return !folder.starts_with("glibc-hwcaps/"); });
  }

  void open_environment(const std::string& prefix) {
    Environment environment = find_environment("", prefix);
    machine.site = environment.site;
    machine.python = environment.python;
    if (machine.interpreter.empty()) machine.interpreter = environment.interpreter;
    for (const std::string& folder : environment.roots) {
      std::string mount = folder == environment.site ? std::string() : folder;
      inputs.push_back(open_root("", folder, mount, true));
    }
    if (environment.extensions.empty()) return;
    inputs.push_back(open_root("", environment.extensions, environment.extensions, false));
  }

  // Those that no folder of the environment holds.
  void add_files(const Options& options) {
    InputFacts out;
    out.input = inputs.size();
    std::vector<std::string> paths = options.files;
    for (const std::string& each : options.first) paths.push_back(each.substr(2));
    for (const std::string& path : paths) {
      bool inside = std::any_of(inputs.begin(), inputs.end(), [&](const Input& input) {
        return path.starts_with(input.location + "/");
      });
      if (inside) continue;
      out.files.push_back(read_library(path));
      out.files.back().member = out.files.back().path = path;
    }
    inputs.emplace_back().kind = InputKind::machine;
    facts.inputs.push_back(std::move(out));
  }

  std::size_t file(const std::string& path) const {
    auto known = scene.by_path.find(place(scene, path));
    if (known == scene.by_path.end()) throw WrongUsage(path + ": is not on the stage");
    return known->second;
  }

  std::string path_of(const PlannedObject& object) const {
    if (object.file == none) return object.name;
    return join_path(machine.site.empty() ? "/" : machine.site, object.name);
  }
};

const char* text_of(Found found) {
  switch (found) {
    case Found::interpreter:
      return "interpreter";
    case Found::preload:
      return "preload";
    case Found::root:
      return "root";
    case Found::loaded:
      return "loaded";
    case Found::rpath:
      return "RPATH";
    case Found::library_path:
      return "LD_LIBRARY_PATH";
    case Found::runpath:
      return "RUNPATH";
    case Found::cache:
      return "cache";
    case Found::built_in:
      return "system search path";
    case Found::absent:
      return "absent";
    default:
      return "assumed";
  }
}

const char* text_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::bound:
      return "bound";
    case Outcome::assumed:
      return "assumed";
    case Outcome::undecided:
      return "undecided";
    case Outcome::missing:
      return "missing";
    default:
      return "weak";
  }
}

Json json_of(const Stage& stage, const Link& link) {
  const LoadPlan& plan = link.plan;
  Json out;
  for (const PlannedObject& object : plan.objects) {
    out["objects"].push_back({stage.path_of(object), text_of(object.found), object.load});
    if (object.file != none && !elf_of(stage.scene, object)) {
      out["unreadable"].push_back(stage.path_of(object));
      const std::optional<Problem>& problem = stage.scene.files[object.file].facts->problem;
      out["unread fields"].push_back(problem ? problem->field : "no ELF file");
    }
  }
  out["load"] = plan.loads.size() - 1;
  out["scope"] = plan.loads.back().scope;
  out["global"] = plan.global_scope;
  out["bindings"] = out["unbound"] = Json::array();
  for (const Binding& each : link.bindings) {
    const ElfFacts& elf = *elf_of(stage.scene, plan.objects[each.object]);
    std::string_view name = elf.symbols.name(each.symbol);
    if (each.provider != none) {
      out["bindings"].push_back({each.object, name, each.version, each.provider});
    } else {
      out["unbound"].push_back({each.object, name, each.version, text_of(each.outcome)});
    }
  }
  for (const VersionMismatch& each : link.mismatches) {
    out["mismatches"].push_back({each.object, each.file, each.version, each.provider != none});
  }
  for (const Refusal& each : link.refusals) out["refusals"].push_back({each.object, each.reason});
  return out;
}

void print(const std::string& file, Json json) {
  json["file"] = file;
  std::cout << json.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
}

void open_all(Stage& stage, LinkContext& context, const Options& options) {
  Link before;
  before.plan = start_process(stage.scene);
  if (before.plan.loads.empty()) throw WrongUsage("the program is not on the stage");
  bind(context, before, 0, true);
  print(options.program, json_of(stage, before));
  for (const std::string& each : options.first) {
    open_caught(context, before, stage.file(each.substr(2)), each.front() == 'g', "first", true);
  }
  before.bindings.clear();
  for (const std::string& path : options.files) {
    Link link = before;
    std::size_t load = open_file(stage.scene, link.plan, stage.file(path), false, "");
    link.plan.loads[load].lazy = options.lazy;
    bind(context, link, load, true);
    print(path, json_of(stage, link));
  }
}

void start_all(Stage& stage, LinkContext& context, const Options& options) {
  for (const std::string& path : options.files) {
    stage.scene.interpreter = stage.file(path);
    Link link;
    link.plan = start_process(stage.scene);
    if (link.plan.loads.empty()) continue;  // of another machine
    bind(context, link, 0, true);
    print(path, json_of(stage, link));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Options options = read_options(argc, argv);
    Stage stage(options);
    LinkContext context(stage.scene);
    if (options.start) {
      start_all(stage, context, options);
    } else {
      open_all(stage, context, options);
    }
  } catch (const std::exception& error) {
    std::cerr << "dump_plan: " << error.what() << "\n";
    return 2;
  }
  return 0;
}
