#include "run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <iterator>
#include <set>
#include <thread>

#include "checks/checks.h"
#include "checks/explain.h"
#include "checks/torch_releases.h"
#include "facts/read_facts.h"
#include "facts/read_python.h"
#include "history/release.h"
#include "input/open_inputs.h"
#include "link/link.h"
#include "link/remedy.h"
#include "link/scene.h"
#include "machine/environment.h"
#include "machine/find_machine.h"
#include "machine/host_gpus.h"
#include "machine/read_machine.h"
#include "named_input.h"
#include "plan_install.h"

namespace wheelvet {
namespace {

class Clock {
 public:
  explicit Clock(Stats& stats) : stats_(stats) {}
  void lap(const char* stage) {
    auto now = std::chrono::steady_clock::now();
    stats_.seconds.emplace_back(stage, std::chrono::duration<double>(now - last_).count());
    last_ = now;
  }

 private:
  Stats& stats_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

std::vector<Input> open_inputs(const Request& request, Machine& machine) {
  std::vector<Input> installed;
  if (!request.environment.empty()) installed = open_environment(request, machine);
  NamedFor wanted{request.python.empty() ? machine.python : request.python, request.platform,
                  machine.glibc, request.progress != nullptr};
  std::vector<Input> inputs = open_named(request.targets, request.providers, wanted);
  std::move(installed.begin(), installed.end(), std::back_inserter(inputs));
  // A folder beside the machine's own files lies somewhere on it.
  for (Input& input : inputs) {
    bool placed = machine.given && machine.root.empty() && machine.site.empty();
    if (input.kind != InputKind::folder || !placed) continue;
    input.location = input.path;
    machine.site = input.path;
  }
  return inputs;
}

bool replaces_something(const Scene& scene) {
  return std::any_of(scene.packages.begin(), scene.packages.end(),
                     [](const ScenePackage& package) { return package.replaced; });
}

// What the targets break by taking the place of installed packages: roots of the environment that
// load before and fail after.
void add_broken(const std::vector<Input>& inputs, const Facts& facts, const Scene& scene,
                LinkOptions options, Links& links) {
  bool targets = std::any_of(scene.files.begin(), scene.files.end(),
                             [](const SceneFile& file) { return file.target && !file.installed; });
  if (!targets || options.alone || !replaces_something(scene)) return;
  options.installed = true;
  Scene before = set_scene(inputs, facts, *scene.rules, *scene.machine, scene.python, true);
  Links loaded = link_scene(before, options);
  std::set<std::string> sound;
  for (const LinkedRoot& root : loaded.roots) {
    if (!fails(before, root, loaded)) sound.insert(before.files[root.file].facts->path);
  }
  Links now = link_scene(scene, options);
  for (LinkedRoot& root : now.roots) {
    bool broken = sound.contains(scene.files[root.file].facts->path) && fails(scene, root, now);
    if (!broken) continue;
    root.broken = true;
    links.roots.push_back(std::move(root));
  }
  links.imports.merge(now.imports);
}

// How the roots that miss something of torch's fare with each of its releases; those that `memory`
// speaks of are not tried again.
TorchReleases compare_releases(Staging& staging, const Scene& scene,
                               const std::vector<RootView>& roots, Memory& memory) {
  MissedNames missed;
  std::set<const FileFacts*> files;
  std::set<std::string> fresh;
  for (const RootView& view : roots) {
    if (!staging.options.only.contains(view.path) || memory.tried.contains(view.path)) continue;
    fresh.insert(view.path);
    missed.push_back(missed_of_torch(scene, view));
    for (std::size_t index : view.objects) {
      std::size_t file = view.object(index).file;
      if (file != none) files.insert(scene.files[file].facts);
    }
  }
  // Other judgements will ask for what other roots import.
  if (memory.lasting) files.clear();
  if (!memory.asked) memory.asked = ask_history(staging.inputs, staging.facts, files);
  TorchReleases out;
  out.asked = std::move(*memory.asked);
  out.beside = build_beside(out.asked, scene);
  out.trials = std::move(memory.trials);
  if (fresh.empty()) return out;
  staging.options.only = fresh;
  staging.options.memory = memory.bound.get();
  std::vector<ReleaseTrial> trials = try_releases(staging, out.asked, missed);
  if (out.trials.empty()) {
    out.trials = std::move(trials);
  } else {
    for (std::size_t i = 0; i < trials.size(); ++i) {
      out.trials[i].loads.merge(trials[i].loads);
      out.trials[i].undecided.merge(trials[i].undecided);
    }
  }
  memory.tried.merge(fresh);
  return out;
}

// The machine's own files, as one more input.
void add_machine(const Machine& machine, std::vector<Input>& inputs, Facts& facts) {
  if (!machine.given) return;
  InputFacts files = read_machine(machine, inputs, facts);
  Input& input = inputs.emplace_back();
  input.kind = InputKind::machine;
  input.label = machine.root.empty() ? "this machine" : machine.root;
  files.input = inputs.size() - 1;
  facts.inputs.push_back(std::move(files));
}

// What is asked of the device code; "host" stands for this machine's GPUs and its driver.
DeviceQuestion device_question(const Request& request) {
  DeviceQuestion question;
  question.driver = request.driver;
  if (request.gpus.empty()) return question;
  question.rules = load_device_rules();
  for (const std::string& text : request.gpus) {
    if (text != "host") {
      question.gpus.push_back(read_gpu(text, question.rules));
      continue;
    }
    static const HostGpus host = find_host_gpus();  // the driver is asked once
    for (const std::string& product : host.products) {
      question.gpus.push_back(read_gpu(product, question.rules));
    }
    if (question.driver.empty()) question.driver = host.driver;
  }
  // Eight GPUs of one kind are one question.
  std::vector<Gpu> each;
  for (Gpu& gpu : question.gpus) {
    bool known = std::any_of(each.begin(), each.end(),
                             [&](const Gpu& other) { return other.arch == gpu.arch; });
    if (!known) each.push_back(std::move(gpu));
  }
  question.gpus = std::move(each);
  return question;
}

}  // namespace

std::set<std::string> known_packages(const Rules& rules) {
  std::set<std::string> folders;
  for (const ImportRule& rule : rules.imports) {
    folders.insert(rule.module.substr(0, rule.module.find('.')));
  }
  return folders;
}

std::vector<Input> open_environment(const Request& request, Machine& machine) {
  std::string prefix = request.environment;
  if (machine.root.empty()) prefix = std::filesystem::absolute(prefix).lexically_normal().string();
  Environment environment = find_environment(machine.root, prefix, request.python);
  machine.interpreter = environment.interpreter;
  machine.site = environment.site;
  machine.python = environment.python;
  bool target = request.targets.empty();
  std::vector<Input> inputs;
  auto open = [&](const std::string& folder, bool is_target) {
    std::string mount = folder == environment.site ? std::string() : folder;
    inputs.push_back(open_root(machine.root, folder, mount, is_target));
    if (mount.empty()) inputs.back().label = request.environment;
  };
  for (const std::string& folder : environment.roots) open(folder, target);
  for (const std::string& folder : environment.packages) open(folder, target);
  if (!environment.extensions.empty()) open(environment.extensions, false);
  std::vector<Problem>& problems = inputs.back().problems;
  problems.insert(problems.end(), environment.problems.begin(), environment.problems.end());
  return inputs;
}

void read_inputs(std::future<Rules>& loaded, const Request& request, Rules& rules,
                 Reading& reading) {
  Clock clock(reading.stats);
  ReadOptions options{request.jobs, request.hash, request.progress};
  if (!request.gpus.empty()) options.device = DeviceDepth::kernels;
  reading.facts = read_facts(reading.inputs, options);
  clock.lap("facts");
  rules = loaded.get();
  read_python(reading.inputs, known_packages(rules), reading.facts, request.jobs);
  clock.lap("python");
  reading.stats.bytes_read = reading.facts.bytes_read;
  reading.stats.second_passes = reading.facts.second_passes;
}

Report judge(const Rules& rules, const Request& request, Reading& reading, Memory& memory) {
  Clock clock(reading.stats);
  DeviceQuestion question = device_question(request);
  std::vector<Input>& inputs = reading.inputs;
  Facts& facts = reading.facts;
  const Machine& machine = reading.machine;
  open_releases(inputs, facts, memory.asked);
  add_machine(machine, inputs, facts);
  clock.lap("machine");
  Scene scene = set_scene(inputs, facts, rules, machine, request.python);
  scene.exact = request.alone;
  clock.lap("scene");
  LinkOptions options;
  options.imports = request.imports;
  options.alone = request.alone;
  options.jobs = request.jobs ? request.jobs : std::max(1u, std::thread::hardware_concurrency());
  // The machine's files are read for each judgement.
  if (machine.given || !memory.bound) {
    memory.bound = std::make_shared<BindMemory>();
    memory.files = std::make_shared<FileMemory>();
  }
  if (memory.lasting) options.memory = memory.bound.get();
  Links links = link_scene(scene, options);
  add_broken(inputs, facts, scene, options, links);
  std::vector<Remedy> remedies = try_remedies(inputs, scene, options, links);
  clock.lap("link");
  cover_targets(inputs, facts, scene, question);
  Run run{inputs, facts, scene, links};
  if (!question.gpus.empty()) run.device = &question;
  run.remedies = std::move(remedies);
  run.driver = question.driver;
  run.memory = memory.files.get();
  std::vector<RootView> roots = view_roots(run);
  options.only = roots_missing_torch(run, roots);
  Staging staging{inputs, facts, rules, machine, scene.python, options};
  staging.options.only.clear();
  staging.options.memory = nullptr;  // what pip would bring is not there for long
  InstallPlan install;
  if (!options.alone) {
    install = plan_install(staging, scene, memory.asked);
    run.install = &install;
  }
  std::optional<TorchReleases> torch;
  if (!options.only.empty() && request.compare_torch) {
    staging.options.only = options.only;
    torch = compare_releases(staging, scene, roots, memory);
    run.torch = &*torch;
  }
  clock.lap("releases");
  Report report = explain(run, roots, run_checks(run, roots), request.with_plans);
  if (torch) {
    memory.asked = std::move(torch->asked);
    memory.trials = std::move(torch->trials);
  }
  clock.lap("checks");
  report.stats = reading.stats;
  return report;
}

Report check(const Request& request) {
  Reading reading;
  Clock clock(reading.stats);
  bool on_machine = request.host || !request.environment.empty() || !request.sysroot.empty();
  if (on_machine) reading.machine = find_machine(request.sysroot);
  reading.machine.strict = request.host;
  reading.inputs = open_inputs(request, reading.machine);
  clock.lap("open");
  std::future<Rules> loaded = std::async(std::launch::async, load_rules);
  device_question(request);  // a question that makes no sense is told before anything is read
  Rules rules;
  read_inputs(loaded, request, rules, reading);
  Memory memory;
  return judge(rules, request, reading, memory);
}

}  // namespace wheelvet
