#include "run.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
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

// The folders of an environment, which is the target itself when nothing else is.
void open_environment(const Request& request, Machine& machine, std::vector<Input>& inputs) {
  std::string prefix = request.environment;
  if (machine.root.empty()) prefix = std::filesystem::absolute(prefix).lexically_normal().string();
  Environment environment = find_environment(machine.root, prefix, request.python);
  machine.interpreter = environment.interpreter;
  machine.site = environment.site;
  machine.python = environment.python;
  bool target = request.targets.empty();
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
}

std::vector<Input> open_inputs(const Request& request, Machine& machine) {
  std::vector<Input> inputs;
  for (const std::string& path : name_inputs(request.targets)) {
    inputs.push_back(open_named(path, true));
  }
  for (const std::string& path : name_inputs(request.providers)) {
    inputs.push_back(open_named(path, false));
  }
  if (!request.environment.empty()) open_environment(request, machine, inputs);
  // A folder beside the machine's own files lies somewhere on it.
  for (Input& input : inputs) {
    bool placed = machine.given && machine.root.empty() && machine.site.empty();
    if (input.kind != InputKind::folder || !placed) continue;
    input.location = input.path;
    machine.site = input.path;
  }
  return inputs;
}

// First folders of the packages whose imports rules/ describes.
std::set<std::string> known_packages(const Rules& rules) {
  std::set<std::string> folders;
  for (const ImportRule& rule : rules.imports) {
    folders.insert(rule.module.substr(0, rule.module.find('.')));
  }
  return folders;
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

// What the history knows of the releases among the inputs, which it is asked for unless it was.
void open_releases(std::vector<Input>& inputs, Facts& facts, std::optional<TorchReleases>& torch) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind != InputKind::release) continue;
    if (!torch) torch.emplace().asked = ask_history(inputs, facts);
    const AskedHistory& asked = torch->asked;
    ReleaseBuild release =
        find_release(asked.history, *read_release_name(inputs[i].path), asked.machine);
    facts.inputs[i] = open_release(asked, release, inputs[i], i);
  }
}

// How the roots that miss something of torch's fare with each of its releases.
void compare_releases(Staging& staging, const Scene& scene, std::set<std::string>& tried,
                      std::optional<TorchReleases>& torch) {
  if (!torch) torch.emplace().asked = ask_history(staging.inputs, staging.facts);
  torch->beside = build_beside(torch->asked, scene);
  const std::set<std::string>& wanted = staging.options.only;
  bool known =
      !tried.empty() && std::includes(tried.begin(), tried.end(), wanted.begin(), wanted.end());
  if (known) return;
  // Together with those tried before: cells of one target miss now these, now those.
  tried.insert(wanted.begin(), wanted.end());
  LinkOptions options = staging.options;
  staging.options.only = tried;
  torch->trials = try_releases(staging, torch->asked);
  staging.options = options;
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
    HostGpus host = find_host_gpus();
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

Input open_named(const std::string& name, bool target) {
  std::error_code error;
  if (!std::filesystem::exists(name, error)) {
    if (std::optional<ReleaseName> release = read_release_name(name)) {
      return name_release(*release, target);
    }
  }
  return open_input(name, target);
}

void read_inputs(std::future<Rules>& loaded, const Request& request, Rules& rules,
                 Reading& reading) {
  ReadOptions options{request.jobs, request.hash, request.progress};
  if (!request.gpus.empty()) options.device = DeviceDepth::kernels;
  reading.facts = read_facts(reading.inputs, options);
  rules = loaded.get();
  read_python(reading.inputs, known_packages(rules), reading.facts, request.jobs);
}

Report judge(const Rules& rules, const Request& request, Reading& reading, Memory* memory) {
  Memory own;
  Memory& kept = memory ? *memory : own;
  Stats stats;
  Clock clock(stats);
  DeviceQuestion question = device_question(request);
  auto& [inputs, facts, machine] = reading;
  open_releases(inputs, facts, kept.torch);
  add_machine(machine, inputs, facts);
  clock.lap("machine");
  Scene scene = set_scene(inputs, facts, rules, machine, request.python);
  scene.exact = request.alone;
  clock.lap("scene");
  LinkOptions options;
  options.imports = request.imports;
  options.alone = request.alone;
  options.jobs = request.jobs ? request.jobs : std::max(1u, std::thread::hardware_concurrency());
  Links links = link_scene(scene, options);
  add_broken(inputs, facts, scene, options, links);
  std::vector<Remedy> remedies = try_remedies(inputs, scene, options, links);
  clock.lap("link");
  cover_targets(inputs, facts, scene, question);
  Run run{inputs, facts, scene, links};
  if (!question.gpus.empty()) run.device = &question;
  run.remedies = std::move(remedies);
  run.driver = question.driver;
  std::vector<RootView> roots = view_roots(run);
  options.only = roots_missing_torch(run, roots);
  if (!options.only.empty()) {
    Staging staging{inputs, facts, rules, machine, scene.python, options};
    compare_releases(staging, scene, kept.tried, kept.torch);
    run.torch = &*kept.torch;
  }
  clock.lap("releases");
  Report report = explain(run, roots, run_checks(run, roots), request.with_plans);
  clock.lap("checks");
  report.stats = stats;
  return report;
}

Report check(const Request& request) {
  Stats stats;
  Clock clock(stats);
  Reading reading;
  bool on_machine = request.host || !request.environment.empty() || !request.sysroot.empty();
  if (on_machine) reading.machine = find_machine(request.sysroot);
  reading.machine.strict = request.host;
  reading.inputs = open_inputs(request, reading.machine);
  clock.lap("open");
  std::future<Rules> loaded = std::async(std::launch::async, load_rules);
  device_question(request);  // a question that makes no sense is told before anything is read
  Rules rules;
  read_inputs(loaded, request, rules, reading);
  clock.lap("facts");
  Report report = judge(rules, request, reading);
  stats.seconds.insert(stats.seconds.end(), report.stats.seconds.begin(),
                       report.stats.seconds.end());
  stats.bytes_read = reading.facts.bytes_read;
  stats.second_passes = reading.facts.second_passes;
  report.stats = stats;
  return report;
}

}  // namespace wheelvet
