#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <sstream>

#include "cli/commands.h"
#include "cli/option_table.h"
#include "report/printable.h"
#include "report/render.h"
#include "report/version.h"

namespace wheelvet::cli {
namespace {

// Everything of an output but its format.
void add_output_place(CLI::App& app, Options& options) {
  app.add_option("-o,--output", options.output, "write to FILE instead of standard output")
      ->type_name("FILE");
  app.add_option("--color", options.color, "auto (default), always or never; NO_COLOR is honoured")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");
  app.add_flag("-q,--quiet", options.quiet, "the verdict line only");
  app.add_flag("-v,--verbose", options.verbose, "everything: notes, every symbol, load plans");
}

void add_output(CLI::App& app, Options& options) {
  app.add_option("--format", options.format, "text (default) or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  add_output_place(app, options);
}

// For which machine a wheel is taken from the index.
void add_platform(CLI::App& app, Options& options) {
  app.add_option("--platform", options.platform,
                 "machine of wheels named as NAME==VERSION (default: that of the other inputs,\n"
                 "else this machine's)")
      ->check(CLI::IsMember({"x86_64", "aarch64"}))
      ->type_name("MACHINE");
}

void add_python(CLI::App& app, Options& options) {
  app.add_option("--python", options.python,
                 "interpreter of wheels named as NAME==VERSION, such as 3.12 or 3.13t")
      ->type_name("X.Y[t]");
}

void add_report_output(CLI::App& app, Options& options, bool of_matrix) {
  app.add_option_function<std::vector<std::string>>(
         "--format",
         [&options](const std::vector<std::string>& typed) {
           std::string reason = choose_formats(typed, options);
           if (!reason.empty()) throw CLI::ValidationError("--format", reason);
         },
         "text is the default; with =FILE it goes there, beside the output; may be repeated")
      ->type_name(fmt::format("FORMAT[=FILE]:{{{}}}", fmt::join(report_formats(of_matrix), ",")))
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  add_output_place(app, options);
}

// What decides a verdict.
void add_scenario(CLI::App& app, Options& options) {
  app.add_option("--with", options.providers,
                 "what is taken to be there beside it: a wheel or folder; may be repeated")
      ->type_name("PROVIDER")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--env", options.environment,
                 "a venv, conda or system prefix: the targets are laid over it as pip would,\n"
                 "and this machine's libraries are read (default without TARGET: the active one)")
      ->type_name("PREFIX");
  app.add_flag("--host", options.host,
               "this machine's libraries have to do, the NVIDIA driver's too: nothing of it\n"
               "is assumed");
  app.add_option("--sysroot", options.sysroot,
                 "judge for the machine whose root is this folder, such as a container's image")
      ->type_name("DIR");
  app.add_option("--python", options.python,
                 "interpreter, such as 3.12 or 3.13t (default: the tags')")
      ->type_name("X.Y[t]");
  add_platform(app, options);
  app.add_option("--import", options.imports,
                 "import this module first for every root; may be repeated, in that order")
      ->type_name("NAME")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  app.add_flag("--alone", options.alone,
               "what dlopen of each file alone does: nothing is imported or opened before it\n"
               "but what --import names, and nothing is excused");
  app.add_option("--driver", options.driver,
                 "NVIDIA driver it is to run with, such as 580.65.06: an error when it is too old")
      ->check(CLI::Validator(
          [](const std::string& text) {
            bool number = !text.empty() && text.front() != '.' &&
                          text.find_first_not_of("0123456789.") == std::string::npos;
            return number ? std::string() : std::string("not of the form 580.65.06");
          },
          "", ""))
      ->type_name("VERSION");
  app.add_option("--gpu", options.gpus,
                 "judge the device code for these GPUs: sm_120, 12.0, a product such as\n"
                 "'RTX PRO 6000 Blackwell', or host for this machine's; a list or repeated")
      ->type_name("GPU")
      ->delimiter(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

void add_probed(CLI::App& app, Options& options) {
  app.add_option("--probe", options.probe,
                 "result of `wheelvet probe --format json`: its GPUs and driver stand for --gpu\n"
                 "and --driver")
      ->type_name("FILE");
}

void add_rules(CLI::App& app, Options& options) {
  app.add_option("--select", options.select, "only these rules count: SYM-001, SYM or S*")
      ->type_name("RULE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  app.add_option("--ignore", options.ignore, "these rules do not count")
      ->type_name("RULE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

// What decides whether a finding counts, and how much is read.
void add_counting(CLI::App& app, Options& options) {
  app.add_option("--fail-on", options.fail_on, "exit 1 from this severity on: error, warning, note")
      ->check(CLI::IsMember({"error", "warning", "note"}))
      ->type_name("SEVERITY");
  add_rules(app, options);
  app.add_option("--baseline", options.baseline,
                 "findings that this earlier report (JSON) has do not count")
      ->type_name("FILE");
  app.add_flag("--strict", options.strict,
               "assumptions and stub wheels are unanswered questions (exit 3)");
  app.add_flag("--hash", options.hash,
               "read every member of the wheels: CRC and the sha256 in RECORD");
  app.add_option("-j,--jobs", options.jobs, "threads (default: one per processor)")->type_name("N");
}

void add_config_file(CLI::App& app, Options& options) {
  CLI::Option* file =
      app.add_option("--config", options.config,
                     "configuration file (default: wheelvet.toml, or pyproject.toml with\n"
                     "[tool.wheelvet], of this folder or the nearest above)")
          ->type_name("FILE");
  app.add_flag("--no-config", options.no_config, "obey no configuration file")->excludes(file);
}

void add_check(CLI::App& app, Options& options) {
  CLI::App* check = app.add_subcommand("check", "will every module load, and if not, why not");
  check
      ->add_option("TARGET", options.targets,
                   "wheel, stub wheel, folder or shared object, NAME==VERSION of the "
                   "index,\ntorch==VERSION of the history; without one: the active environment")
      ->type_name("");
  add_scenario(*check, options);
  add_probed(*check, options);
  check
      ->add_option("--rank-env", options.rank_environments,
                   "the environment of other ranks of the same job: an error when the NCCL that\n"
                   "it loads is of another release than that of --env; may be repeated")
      ->type_name("PREFIX")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  add_counting(*check, options);
  add_config_file(*check, options);
  check->add_flag("--plans", options.plans, "keep the load plans in JSON (text: -v)");
  check->add_flag("--stats", options.stats, "time and bytes per stage");
  add_report_output(*check, options, false);
  check->footer(
      "Examples:\n"
      "  wheelvet check sgl_kernel-0.3.21-*.whl --with torch-2.10.0-*.whl\n"
      "  wheelvet check ./site-packages --format json -o report.json\n"
      "  wheelvet check mine.whl --with torch.whl --format sarif=mine.sarif --format github\n"
      "  wheelvet check sgl_kernel-0.3.21-*.whl --gpu sm_90,sm_120 --driver 580.65.06\n"
      "Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 wrong usage,\n"
      "  3 a question could not be answered, 4 internal error.");
  check->callback([&options] { options.command = Command::check; });
}

void add_matrix(CLI::App& app, Options& options) {
  CLI::App* matrix = app.add_subcommand("matrix", "many wheels beside many providers, one table");
  matrix
      ->add_option("FILE", options.targets,
                   "the matrix file (TOML): targets, providers, scenarios, what is expected")
      ->required()
      ->expected(1)
      ->type_name("");
  matrix->add_option("--shard", options.shard, "only the I-th of N parts of the cells")
      ->type_name("I/N");
  CLI::Option* cache =
      matrix
          ->add_option("--cache", options.cache,
                       "folder of results that are kept (default: wheelvet/results\n"
                       "in XDG_CACHE_HOME or ~/.cache)")
          ->type_name("DIR");
  matrix->add_flag("--no-cache", options.no_cache, "judge every cell anew and keep nothing")
      ->excludes(cache);
  add_platform(*matrix, options);
  add_probed(*matrix, options);
  add_counting(*matrix, options);
  add_config_file(*matrix, options);
  add_report_output(*matrix, options, true);
  matrix->footer(
      "Examples:\n"
      "  wheelvet matrix matrix.toml --format sarif=wheels.sarif\n"
      "  wheelvet matrix matrix.toml --shard 2/8 --format jsonl=part-2.jsonl\n"
      "The smallest file:\n"
      "  targets = [\"dist/*.whl\"]\n"
      "  providers = [\"torch==2.9.1\", \"torch==2.10.0\"]\n"
      "Exit codes: 0 nothing at or above --fail-on in any cell but what is expected, 1 findings,\n"
      "  2 wrong usage, 3 a cell could not be judged, 4 internal error.");
  // Early, so that the options know which formats there are.
  matrix->preparse_callback([&options](std::size_t) { options.command = Command::matrix; });
  CLI::App* merge = app.add_subcommand("merge", "joins the parts of a matrix into one report");
  merge->add_option("PART", options.targets, "files that matrix wrote as json or jsonl")
      ->required()
      ->type_name("");
  merge
      ->add_option("--fail-on", options.fail_on,
                   "exit 1 from this severity on: error, warning, note")
      ->check(CLI::IsMember({"error", "warning", "note"}))
      ->type_name("SEVERITY");
  merge->add_flag("--strict", options.strict,
                  "assumptions and stub wheels are unanswered questions (exit 3)");
  add_report_output(*merge, options, true);
  merge->footer(
      "Examples:\n"
      "  wheelvet merge part-*.jsonl\n"
      "  wheelvet merge part-*.jsonl --format junit=wheels.xml --format html=wheels.html\n"
      "Exit codes: those of matrix; 2 also when parts are of different runs, 3 when cells are in\n"
      "  none of the parts.");
  merge->preparse_callback([&options](std::size_t) { options.command = Command::merge; });
}

void add_config(CLI::App& app, Options& options) {
  CLI::App* config =
      app.add_subcommand("config", "the configuration in force, and where each value is from");
  add_scenario(*config, options);
  add_counting(*config, options);
  add_config_file(*config, options);
  config->add_option("--format", options.format, "text (default) or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  config->footer(
      "Examples:\n"
      "  wheelvet config\n"
      "  wheelvet config --config ci/wheelvet.toml --fail-on warning --format json");
  config->callback([&options] { options.command = Command::config; });
}

void add_compat(CLI::App& app, Options& options) {
  CLI::App* compat = app.add_subcommand(
      "compat", "which releases of torch a wheel loads with, and whether its metadata says so");
  compat->add_option("WHEEL", options.targets, "wheel, stub wheel or NAME==VERSION of the index")
      ->required()
      ->expected(1)
      ->type_name("");
  compat
      ->add_option("--with", options.providers,
                   "what else is there beside it: a wheel or folder; may be repeated")
      ->type_name("PROVIDER")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  compat->add_option("--python", options.python, "interpreter, such as 3.12 (default: the tags')")
      ->type_name("X.Y[t]");
  add_platform(*compat, options);
  compat
      ->add_option("--fail-on", options.fail_on,
                   "exit 1 from this severity on: error, warning, note")
      ->check(CLI::IsMember({"error", "warning", "note"}))
      ->type_name("SEVERITY");
  compat->add_option("-j,--jobs", options.jobs, "threads (default: one per processor)")
      ->type_name("N");
  compat->add_flag("--stats", options.stats, "time per stage");
  add_output(*compat, options);
  compat->footer(
      "Examples:\n"
      "  wheelvet compat sgl_kernel-0.3.21-cp310-abi3-manylinux2014_x86_64.whl\n"
      "  wheelvet compat torchvision-0.24.1-*.whl --format json --fail-on warning\n"
      "Exit codes: 0 the metadata agrees with what loads, 1 it permits a release that fails, or\n"
      "  none loads, 2 wrong usage, 3 a release could not be judged, 4 internal error.");
  compat->callback([&options] { options.command = Command::compat; });
}

void add_explain(CLI::App& app, Options& options) {
  CLI::App* explain =
      app.add_subcommand("explain", "what an error message means, and what to change");
  explain
      ->add_option("TEXT", options.targets,
                   "the error line or traceback, a file that holds it, or - for standard input;\n"
                   "wheels, folders and shared objects beside it are what failed")
      ->type_name("");
  explain
      ->add_option("--with", options.providers,
                   "what was there beside it: a wheel or folder; may be repeated")
      ->type_name("PROVIDER")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  explain
      ->add_option("--env", options.environment,
                   "the venv, conda or system prefix where it happened")
      ->type_name("PREFIX");
  explain->add_option("--python", options.python, "interpreter, such as 3.12 or 3.13t")
      ->type_name("X.Y[t]");
  explain->add_option("-j,--jobs", options.jobs, "threads (default: one per processor)")
      ->type_name("N");
  add_output(*explain, options);
  explain->footer(
      "Examples:\n"
      "  wheelvet explain 'ImportError: .../_C.abi3.so: undefined symbol: "
      "_ZN3c104cuda9SetDeviceEa'\n"
      "  python train.py 2>&1 | wheelvet explain --env .venv\n"
      "Exit codes: 0 understood, 2 wrong usage, 3 not understood or unreadable, 4 internal error.");
  explain->callback([&options] { options.command = Command::explain; });
}

void add_inspect(CLI::App& app, Options& options) {
  CLI::App* inspect = app.add_subcommand("inspect", "the facts: needs, exports, versions, paths");
  inspect->add_option("TARGET", options.targets, "wheel, folder or shared object")
      ->required()
      ->type_name("");
  CLI::Option* imports =
      inspect->add_flag("--imports", options.list_imports, "list imported symbols");
  inspect->add_flag("--exports", options.list_exports, "list exported symbols")->excludes(imports);
  inspect
      ->add_option("--match", options.symbols,
                   "only symbols whose mangled or demangled name contains this")
      ->type_name("TEXT");
  inspect->add_flag("--mangled", options.mangled, "leave C++ names as they are");
  add_python(*inspect, options);
  add_platform(*inspect, options);
  inspect->add_flag("--device", options.device,
                    "device code: containers and images by architecture");
  inspect->add_flag("--kernels", options.kernels, "the kernels in it as well");
  inspect->add_flag("--headers", options.headers, "program headers, dynamic entries and notes");
  add_output(*inspect, options);
  inspect->footer(
      "Examples:\n"
      "  wheelvet inspect torch-2.10.0-*.whl\n"
      "  wheelvet inspect libc10_cuda.so --exports --match c10_cuda_check\n"
      "  wheelvet inspect libcufft.so.12 --device");
  inspect->callback([&options] { options.command = Command::inspect; });
}

void add_diff(CLI::App& app, Options& options) {
  CLI::App* diff = app.add_subcommand("diff", "what changed for users, and who of them breaks");
  diff->add_option("OLD_AND_NEW", options.targets,
                   "two wheels, stub wheels, folders or shared objects")
      ->required()
      ->expected(2)
      ->type_name("");
  diff->add_option("--used-by", options.users,
                   "a wheel or folder that uses it: which of its modules load beside OLD and fail\n"
                   "beside NEW; may be repeated")
      ->type_name("USER")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  diff->add_option("--with", options.providers, "what is there besides, on both sides")
      ->type_name("PROVIDER")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  diff->add_option("--python", options.python, "interpreter of the users, such as 3.12 or 3.13t")
      ->type_name("X.Y[t]");
  add_platform(*diff, options);
  diff->add_option("--fail-on", options.fail_on,
                   "exit 1 from this severity on: error (what was there is gone or changed; with\n"
                   "--used-by: one of them breaks), warning, note")
      ->check(CLI::IsMember({"error", "warning", "note"}))
      ->type_name("SEVERITY");
  diff->add_option("-j,--jobs", options.jobs, "threads (default: one per processor)")
      ->type_name("N");
  diff->add_flag("--stats", options.stats, "time and bytes per stage");
  add_output(*diff, options);
  diff->footer(
      "Examples:\n"
      "  wheelvet diff torch-2.9.1-*.whl torch-2.10.0-*.whl --used-by sgl_kernel-0.3.21-*.whl\n"
      "  wheelvet diff libnccl.so.2.27.5 libnccl.so.2.28.9 --format json -o changes.json\n"
      "Exit codes: 0 nothing at or above --fail-on, 1 something that breaks users, 2 wrong usage,\n"
      "  3 an input or an import could not be judged, 4 internal error.");
  diff->callback([&options] { options.command = Command::diff; });
}

void add_stub(CLI::App& app, Options& options) {
  CLI::App* stub = app.add_subcommand("stub", "a small wheel that holds only the loader's tables");
  stub->add_option("WHEEL", options.targets, "the wheel")->required()->expected(1)->type_name("");
  stub->add_option("-o,--output", options.output, "the stub wheel to write")
      ->required()
      ->type_name("OUT");
  add_python(*stub, options);
  add_platform(*stub, options);
  stub->footer(
      "Examples:\n"
      "  wheelvet stub torch-2.10.0-3-cp312-cp312-manylinux_2_28_x86_64.whl -o stubs/\n"
      "  wheelvet check mine.whl --with stubs/torch-2.10.0-*.whl");
  stub->callback([&options] { options.command = Command::stub; });
}

void add_doctor(CLI::App& app, Options& options) {
  CLI::App* doctor = app.add_subcommand(
      "doctor", "the host around an environment: toolkits, variables, driver, caches");
  doctor
      ->add_option("--env", options.environment,
                   "a venv, conda or system prefix (default: the active one)")
      ->type_name("PREFIX");
  doctor
      ->add_option("--sysroot", options.sysroot,
                   "examine the machine whose root this folder is, such as a container's image")
      ->type_name("DIR");
  doctor->add_option("--user", options.user, "whose home and rights are meant")->type_name("NAME");
  doctor
      ->add_option("--unit", options.units,
                   "a further way to start: a systemd unit, Compose file, Dockerfile, environment\n"
                   "file or shell profile; may be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  doctor
      ->add_option("--tuning", options.tuning,
                   "a record of `probe --tune`: is it still of this NCCL and driver")
      ->type_name("FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  doctor->add_flag("--python", options.ask_python,
                   "let the environment's interpreter parse sitecustomize.py and its kin (-I -S\n"
                   "-B, from standard input, 10 s); none of it is run");
  doctor
      ->add_option("--write-fix", options.write_fix,
                   "write corrected files, a diff and the commands left to do into this folder;\n"
                   "nothing else is changed")
      ->type_name("DIR");
  doctor->add_option("--expect", options.expect, "compare with this verification list (TOML)")
      ->type_name("FILE");
  doctor->add_option("--record", options.record, "write the present state as such a list")
      ->type_name("FILE");
  doctor
      ->add_option("--fail-on", options.fail_on,
                   "exit 1 from this severity on: error, warning, note")
      ->check(CLI::IsMember({"error", "warning", "note"}))
      ->type_name("SEVERITY");
  add_rules(*doctor, options);
  add_config_file(*doctor, options);
  doctor->add_option("-j,--jobs", options.jobs, "threads (default: one per processor)")
      ->type_name("N");
  doctor->add_flag("--stats", options.stats, "time per stage");
  add_output(*doctor, options);
  doctor->footer(
      "Examples:\n"
      "  wheelvet doctor --env .venv --unit vllm.service --write-fix fixes\n"
      "  wheelvet doctor --sysroot ./image --env /opt/venv --expect handover.toml\n"
      "Exit codes: 0 nothing at or above --fail-on, 1 findings or a line of --expect not met,\n"
      "  2 wrong usage, 3 something could not be read, 4 internal error.");
  doctor->callback([&options] { options.command = Command::doctor; });
}

/// The program beside this one has options of its own: what follows the word goes there unread.
void add_probe(CLI::App& app, Options& options) {
  CLI::App* probe =
      app.add_subcommand("probe", "confirms on this machine's GPUs what is predicted");
  probe->prefix_command();
  probe->set_help_flag();
  probe->callback([probe, &options] {
    options.command = Command::probe;
    options.targets = probe->remaining();
  });
}

void add_documents(CLI::App& app, Options& options) {
  CLI::App* rules = app.add_subcommand("rules", "the catalogue: what each finding means");
  rules->add_option("ID", options.targets, "only these entries, such as SYM-001")->type_name("");
  rules->add_option("--format", options.format, "text (default) or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  rules->footer("Examples:\n  wheelvet rules\n  wheelvet rules SYM-001");
  rules->callback([&options] { options.command = Command::rules; });
  CLI::App* schema = app.add_subcommand("schema", "the JSON Schemas of the outputs");
  schema->add_option("NAME", options.targets, "of which output; without one: their names")
      ->expected(0, 1)
      ->type_name(fmt::format(":{{{}}}", fmt::join(json_schema_names(), ",")));
  schema->footer("Examples:\n  wheelvet schema\n  wheelvet schema report > report.schema.json");
  schema->callback([&options] { options.command = Command::schema; });
  CLI::App* completion = app.add_subcommand("completion", "a script that completes the options");
  completion->add_option("SHELL", options.targets, "bash, zsh or fish")
      ->required()
      ->expected(1)
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("");
  completion->footer(
      "Examples:\n"
      "  source <(wheelvet completion bash)\n"
      "  wheelvet completion fish > ~/.config/fish/completions/wheelvet.fish");
  completion->callback([&options] { options.command = Command::completion; });
  CLI::App* manual = app.add_subcommand("manual", "the manual page, for man(1)");
  manual->footer("Examples:\n  wheelvet manual | man -l -\n  wheelvet manual > wheelvet.1");
  manual->callback([&options] { options.command = Command::manual; });
}

}  // namespace

const std::vector<std::string>& report_formats(bool of_matrix) {
  static const std::vector<std::string> report = {"text",     "json", "sarif", "junit",
                                                  "markdown", "html", "github"};
  static const std::vector<std::string> matrix = {"text",  "json",     "jsonl", "sarif",
                                                  "junit", "markdown", "html",  "github"};
  return of_matrix ? matrix : report;
}

std::string choose_formats(const std::vector<std::string>& words, Options& options) {
  const std::vector<std::string>& known =
      report_formats(options.command == Command::matrix || options.command == Command::merge);
  bool chosen = false;
  for (const std::string& word : words) {
    std::size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return fmt::format("{} is none of: {}", name, fmt::join(known, ", "));
    }
    if (equals == std::string::npos) {
      if (chosen) {
        return "only one format goes to the output: name a file for the others, as in sarif=FILE";
      }
      chosen = true;
      options.format = name;
      continue;
    }
    std::string file = word.substr(equals + 1);
    if (file.empty()) return name + "= names no file";
    for (const auto& [other, path] : options.format_files) {
      if (path == file) return other + " and " + name + " go to one file";
    }
    options.format_files.emplace_back(name, file);
  }
  return {};
}

namespace {

void add_commands(CLI::App& app, Options& options) {
  app.set_version_flag("--version", version_text);
  app.require_subcommand(1);
  add_check(app, options);
  add_compat(app, options);
  add_explain(app, options);
  add_inspect(app, options);
  add_diff(app, options);
  add_stub(app, options);
  add_doctor(app, options);
  add_probe(app, options);
  add_matrix(app, options);
  add_config(app, options);
  add_documents(app, options);
  app.footer(
      "Examples:\n"
      "  wheelvet check sgl_kernel-0.3.21-*.whl --with torch-2.10.0-*.whl\n"
      "  wheelvet inspect torch-2.10.0-*.whl\n"
      "`wheelvet COMMAND --help` tells more.");
}

constexpr const char* purpose =
    "wheelvet says before installation whether the native modules of a Python wheel will import.";

// CLI11 writes a checked option's type as "FORMAT:{text,json}".
OptionRow row_of(const CLI::Option& option) {
  OptionRow row{option.get_name(false, true), "", option.get_description(), {}};
  std::string type = option.get_items_expected_max() > 0 ? option.get_type_name() : "";
  std::size_t open = type.find(":{");
  row.value = type.substr(0, open);
  if (open == std::string::npos) return row;
  std::string words = type.substr(open + 2, type.find('}') - open - 2);
  for (std::size_t at = 0; at < words.size();) {
    std::size_t end = std::min(words.find(',', at), words.size());
    row.words.push_back(words.substr(at, end - at));
    at = end + 1;
  }
  return row;
}

}  // namespace

std::vector<CommandRow> option_table() {
  Options options;
  CLI::App app(purpose, "wheelvet");
  add_commands(app, options);
  std::vector<CommandRow> out;
  for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    CommandRow& row = out.emplace_back();
    row = {command->get_name(), command->get_description(), command->get_footer(), {}};
    for (const CLI::Option* option : command->get_options()) row.options.push_back(row_of(*option));
  }
  return out;
}

Options read_options(int argc, char** argv, int& exit_code) {
  Options options;
  CLI::App app(purpose, "wheelvet");
  add_commands(app, options);
  exit_code = -1;
  try {
    app.parse(argc, argv);
    for (const CLI::App* used : app.get_subcommands()) {
      for (const CLI::Option* option : used->get_options()) {
        if (option->count() && !option->get_lnames().empty()) {
          options.typed.insert(option->get_lnames().front());
        }
      }
    }
  } catch (const CLI::ParseError& error) {
    bool answered = error.get_exit_code() == 0;  // help or version
    if (answered) {
      std::ostringstream text;
      app.exit(error, text, text);
      write_output({}, text.str());
    } else {
      fmt::print(stderr, "{}\nRun with --help for more information.\n", printable(error.what()));
    }
    exit_code = answered ? 0 : 2;
  }
  return options;
}

}  // namespace wheelvet::cli
