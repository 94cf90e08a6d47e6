#include "matrix/run_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "history/release.h"
#include "machine/find_machine.h"
#include "matrix/result_cache.h"
#include "named_input.h"
#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

// All inputs of the cells to be judged, each once; a cell borrows its own.
struct Pool {
  Reading reading;
  std::map<std::string, std::vector<std::size_t>> places;  // of an environment several
  std::map<std::string, Machine> machines;                 // of each environment

  void open(const std::vector<std::string>& names, const Request& request) {
    for (std::size_t i = 0; i < names.size(); ++i) places[names[i]] = {i};
    NamedFor wanted{request.python, request.platform, "", request.progress != nullptr};
    reading.inputs = open_named(names, {}, wanted);
  }

  void open_folders_of(const MatrixPlan& plan, const MatrixColumn& column, const Request& request) {
    if (column.environment.empty() || machines.contains(column.environment)) return;
    Machine& machine = machines[column.environment] = find_machine("");
    std::vector<Input> folders;
    try {
      folders = open_environment(request, machine);
    } catch (const WrongUsage& error) {
      complain(plan.file, column.line, error.what());
    }
    for (Input& input : folders) {
      places[column.environment].push_back(reading.inputs.size());
      reading.inputs.push_back(std::move(input));
    }
  }

  // Out of a pool that is needed no more. Python source is read of targets.
  void take(const std::string& name, bool target, Pool& other) {
    auto [place, fresh] = places.try_emplace(name);
    if (fresh) {
      for (std::size_t from : other.places.at(name)) {
        place->second.push_back(reading.inputs.size());
        reading.inputs.push_back(std::move(other.reading.inputs[from]));
      }
    }
    if (target) reading.inputs[place->second.front()].target = true;
  }
};

// The target goes first.
std::vector<std::string> names_of(const MatrixPlan& plan, const PlannedCell& cell) {
  std::vector<std::string> names = {plan.targets[cell.target]};
  const MatrixColumn& column = plan.columns[cell.column];
  // A wheel beside itself is the same wheel.
  for (const std::string& name : column.providers) {
    if (name != names.front()) names.push_back(name);
  }
  if (!column.environment.empty()) names.push_back(column.environment);
  return names;
}

Request request_of(const MatrixPlan& plan, const PlannedCell& cell, const Request& each) {
  Request request = each;
  request.targets = {plan.targets[cell.target]};
  request.environment = plan.columns[cell.column].environment;
  const MatrixScenario& scenario = plan.scenarios[cell.scenario];
  if (!scenario.python.empty()) request.python = scenario.python;
  if (!scenario.imports.empty()) request.imports = scenario.imports;
  if (!scenario.gpus.empty()) request.gpus = scenario.gpus;
  return request;
}

// What was read is handed over and taken back, never copied: a torch has megabytes of tables. A
// release known by its history was not read, and every cell has its own.
class Loan {
 public:
  Loan(Pool& pool, const std::vector<std::string>& names) : pool_(pool) {
    for (const std::string& name : names) {
      for (std::size_t from : pool_.places.at(name)) borrow(from);
      auto machine = pool_.machines.find(name);
      if (machine != pool_.machines.end()) reading.machine = machine->second;
    }
    reading.facts.hashed = pool_.reading.facts.hashed;
  }
  ~Loan() {
    for (std::size_t i = 0; i < from_.size(); ++i) {
      if (reading.inputs[i].kind == InputKind::release) continue;
      pool_.reading.inputs[from_[i]] = std::move(reading.inputs[i]);
      pool_.reading.facts.inputs[from_[i]] = std::move(reading.facts.inputs[i]);
    }
  }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;

  Reading reading;

 private:
  void borrow(std::size_t from) {
    Input& input = pool_.reading.inputs[from];
    bool release = input.kind == InputKind::release;
    reading.inputs.push_back(release ? input : std::move(input));
    reading.inputs.back().target = from_.empty();
    reading.facts.inputs.push_back(release ? InputFacts()
                                           : std::move(pool_.reading.facts.inputs[from]));
    reading.facts.inputs.back().input = from_.size();
    from_.push_back(from);
  }

  Pool& pool_;
  std::vector<std::size_t> from_;
};

// Inputs that do not go together are told in their cell; the others are judged.
Report not_judged(const std::string& reason) {
  Report report;
  report.verdict = Status::undecided;
  report.complete = false;
  report.headline = "not judged: " + reason;
  report.problems.push_back({{}, {}, {}, std::nullopt, reason});
  return report;
}

// All that a judgement follows from but the releases of torch.
std::string about(const Request& request, const std::vector<std::string>& names) {
  std::string out = request.python;
  for (const std::string& name : request.imports) out += "\n" + name;
  for (const std::string& name : names) {
    if (!read_release_name(name)) out += "\n\n" + name;
  }
  return out;
}

Report judge_cell(const Rules& rules, const Request& request, Pool& pool,
                  const std::vector<std::string>& names, Memory& memory) {
  Loan loan(pool, names);
  std::string about_cell = about(request, names);
  if (memory.about != about_cell) memory = {about_cell, true, std::nullopt, {}, {}, {}, {}};
  try {
    return judge(rules, request, loan.reading, memory);
  } catch (const WrongUsage& error) {
    memory = {};
    return not_judged(error.what());
  }
}

std::string key_of(const Request& request, Pool& pool, const std::vector<std::string>& names) {
  if (!request.environment.empty()) return {};  // a folder
  std::vector<Input> roles;
  std::vector<const Input*> inputs;
  roles.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Input& known = pool.reading.inputs[pool.places.at(names[i]).front()];
    Input& role = roles.emplace_back();
    role.kind = known.kind;
    role.path = known.path;
    role.label = known.label;
    role.size = known.size;
    role.identity = known.identity;
    role.problems = known.problems;
    role.target = i == 0;
    inputs.push_back(&role);
  }
  return cache_key(request, inputs);
}

struct Todo {
  const PlannedCell* cell;
  std::vector<std::string> names;
  std::string key;
  std::optional<Report> report;
};

// Opening reads the table of an archive alone: enough to ask the cache.
std::vector<Todo> look_up(const MatrixPlan& plan, const std::vector<PlannedCell>& cells,
                          const MatrixRequest& request, Pool& pool) {
  std::vector<Todo> out;
  std::vector<std::string> names;
  for (const PlannedCell& cell : cells) {
    out.push_back({&cell, names_of(plan, cell), {}, {}});
    for (const std::string& name : out.back().names) {
      if (name == plan.columns[cell.column].environment) continue;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  pool.open(names, request.each);
  for (const Todo& todo : out) {
    pool.open_folders_of(plan, plan.columns[todo.cell->column],
                         request_of(plan, *todo.cell, request.each));
  }
  if (request.cache.empty()) return out;
  for (Todo& todo : out) {
    todo.key = key_of(request_of(plan, *todo.cell, request.each), pool, todo.names);
    if (!todo.key.empty()) todo.report = cached_report(request.cache, todo.key);
  }
  return out;
}

// Cells that can be judged at the same time: a target beside nothing but releases known by their
// history shares no input with another. The others follow one by one.
struct Groups {
  std::vector<std::vector<Todo*>> apart;  // of one target each
  std::vector<Todo*> rest;
};

Groups group(std::vector<Todo>& todos) {
  std::map<std::size_t, std::vector<Todo*>> by_target;
  std::set<std::size_t> sharing;
  for (Todo& todo : todos) {
    if (todo.report) continue;
    by_target[todo.cell->target].push_back(&todo);
    bool shares = std::any_of(todo.names.begin() + 1, todo.names.end(),
                              [](const std::string& name) { return !read_release_name(name); });
    if (shares) sharing.insert(todo.cell->target);
  }
  Groups out;
  for (auto& [target, list] : by_target) {
    if (sharing.contains(target)) {
      out.rest.insert(out.rest.end(), list.begin(), list.end());
    } else {
      out.apart.push_back(std::move(list));
    }
  }
  return out;
}

void judge_rest(const MatrixPlan& plan, const MatrixRequest& request, Pool& opened,
                std::vector<Todo>& todos) {
  Pool pool;
  pool.machines = opened.machines;
  for (const Todo& todo : todos) {
    if (todo.report) continue;
    for (std::size_t i = 0; i < todo.names.size(); ++i) pool.take(todo.names[i], i == 0, opened);
  }
  if (pool.reading.inputs.empty()) return;
  std::future<Rules> loaded = std::async(std::launch::async, load_rules);
  Rules rules;
  // Device code is read when some scenario asks for it.
  Request all = request.each;
  for (const MatrixScenario& scenario : plan.scenarios) {
    all.gpus.insert(all.gpus.end(), scenario.gpus.begin(), scenario.gpus.end());
  }
  read_inputs(loaded, all, rules, pool.reading);
  auto judge_all = [&](const std::vector<Todo*>& list, unsigned jobs) {
    Memory memory;
    for (Todo* todo : list) {
      Request own = request_of(plan, *todo->cell, request.each);
      own.jobs = jobs;
      todo->report = judge_cell(rules, own, pool, todo->names, memory);
      bool keep = !todo->key.empty() && todo->report->problems.empty();
      if (keep) keep_report(request.cache, todo->key, *todo->report);
    }
  };
  Groups groups = group(todos);
  unsigned jobs =
      request.each.jobs ? request.each.jobs : std::max(1u, std::thread::hardware_concurrency());
  unsigned threads = std::min<unsigned>(jobs, static_cast<unsigned>(groups.apart.size()));
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    for (std::size_t i = next++; i < groups.apart.size(); i = next++) {
      judge_all(groups.apart[i], std::max(1u, jobs / threads));
    }
  };
  std::vector<std::future<void>> others;
  for (unsigned i = 1; i < threads; ++i) others.push_back(std::async(std::launch::async, work));
  work();
  for (std::future<void>& other : others) other.get();
  judge_all(groups.rest, jobs);
}

}  // namespace

MatrixReport run_matrix(const MatrixPlan& plan, const MatrixRequest& request, Gate& gate,
                        const Baseline* baseline) {
  std::vector<PlannedCell> all = plan_cells(plan);
  std::vector<PlannedCell> cells = shard_of(all, request.part, request.parts);
  Pool opened;
  std::vector<Todo> todos = look_up(plan, cells, request, opened);
  MatrixReport out;
  for (const Todo& todo : todos) out.from_cache += todo.report ? 1 : 0;
  judge_rest(plan, request, opened, todos);
  out.file = plan.file;
  out.total = all.size();
  out.configuration = gate.file;
  for (Todo& todo : todos) {
    MatrixCell& cell = out.cells.emplace_back();
    cell.index = todo.cell->index;
    cell.name = todo.cell->name;
    cell.report = std::move(*todo.report);
    apply_gate(gate, cell.report);
    if (baseline) apply_baseline(*baseline, cell.report);
    apply_expectations(plan, request.threshold, cell);
  }
  out.findings = judge_expectations(plan, all);
  return out;
}

}  // namespace wheelvet
