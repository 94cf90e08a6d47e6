#include <CLI/CLI.hpp>

#include <algorithm>

#include "request.h"
#include "sweep.h"

namespace wheelvet::probe {
namespace {

const std::vector<std::string> step_names{"driver",      "kernel", "nvrtc",      "curand",
                                          "cublas",      "nccl",   "nccl-ranks", "nccl-abort",
                                          "device-code", "load"};

void add_asked(CLI::App& app, Request& request) {
  app.add_option(
         "--env", request.environment,
         "environment whose NVRTC, cuRAND, cuBLAS and NCCL are asked (default: $VIRTUAL_ENV)")
      ->envname("VIRTUAL_ENV")
      ->check(CLI::ExistingDirectory)
      ->type_name("PREFIX");
  app.add_option("--nvrtc", request.targets.nvrtc, "this libnvrtc instead")->type_name("PATH");
  app.add_option("--curand", request.targets.curand, "this libcurand instead")->type_name("PATH");
  app.add_option("--cublas", request.targets.cublas, "this libcublas instead")->type_name("PATH");
  app.add_option("--nccl", request.targets.nccl, "this libnccl instead")->type_name("PATH");
  app.add_option("--driver", request.targets.driver, "the driver (default: libcuda.so.1)")
      ->type_name("PATH");
  app.add_option("--nvml", request.targets.management, "its NVML (default: libnvidia-ml.so.1)")
      ->type_name("PATH");
  app.add_option("--steps", request.steps, "only these, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(step_names))
      ->type_name("NAME,...");
  app.add_option("--sizes", request.sizes, "sizes of collectives, such as 8k,64k,4m")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->type_name("BYTES,...");
  app.add_option("--limit", request.limit, "seconds that a step may take (default: 60)")
      ->check(CLI::Range(1.0, 3600.0))
      ->type_name("SECONDS");
  CLI::Option* tune = app.add_flag(
      "--tune", request.tune,
      "measure NCCL without the environment's NCCL_* settings, with each alone and with all");
  CLI::Option* sweep =
      app.add_flag("--sweep", request.sweep,
                   "measure NCCL over a small grid of settings and print the best block of them");
  app.add_option("--grid", request.grid,
                 "a setting and its values for --sweep, such as NCCL_ALGO=Ring,Tree; repeatable")
      ->needs(sweep)
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("NAME=VALUE,...");
  app.add_option("--rounds", request.rounds, "rounds of --tune and --sweep (default: 3)")
      ->check(CLI::Range(2, 100));
  app.add_option("--keep", request.keep, "settings that --tune leaves as they are")
      ->needs(tune)
      ->delimiter(',')
      ->type_name("NAME,...");
  app.add_option("--record", request.record, "write the tuning record to FILE")
      ->needs(tune)
      ->type_name("FILE");
  CLI::Option* launcher =
      app.add_option("--launcher", request.launcher,
                     "this is one of several processes that torchrun, mpirun (openmpi), mpiexec "
                     "(pmi) or srun (slurm) started: NCCL over all of them, one report by rank 0; "
                     "auto: whose variables are there")
          ->check(CLI::IsMember({"auto", "torchrun", "openmpi", "pmi", "slurm"}))
          ->excludes(tune)
          ->excludes(sweep)
          ->type_name("NAME");
  app.add_option(
         "--rendezvous", request.rendezvous,
         "where rank 0 listens (default: MASTER_ADDR and MASTER_PORT, or SLURM's first host)")
      ->needs(launcher)
      ->type_name("HOST:PORT");
  app.add_option(
         "--rehearse", request.rehearse,
         "play a fault on purpose in every step, to see it told: exit, abort, segv, flood, hang, "
         "illegal-address, endless-kernel")
      ->check(CLI::IsMember(
          {"exit", "abort", "segv", "flood", "hang", "illegal-address", "endless-kernel"}))
      ->type_name("FAULT");
}

void add_output(CLI::App& app, Request& request) {
  app.add_option("--format", request.format, "text (default) or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  app.add_option("-o,--output", request.output, "write to FILE instead of standard output")
      ->type_name("FILE");
  app.add_flag("--anonymous", request.anonymous,
               "leave out host name, paths, UUIDs, bus ids and captured output");
  app.add_flag("-q,--quiet", request.quiet, "the verdict line only");
  app.add_flag("-v,--verbose", request.verbose, "every library and every check");
}

/// What the probe tells its own children; no part of --help.
void add_internal(CLI::App& app, Request& request) {
  app.add_option("--channel", request.channel)->group("");
  app.add_option("--step", request.step)->group("");
  app.add_option("--rank", request.rank)->group("");
  app.add_option("--ranks", request.ranks)->group("");
  app.add_option("--local-rank", request.local_rank)->group("");
  app.add_option("--job", request.job)->group("");
  app.add_option("--item", request.item)->group("");
}

/// At least one element for each of 4096 ranks, and no more than fits a GPU of today.
std::string wrong_size(const Request& request) {
  for (std::uint64_t bytes : request.sizes) {
    if (bytes < 16384 || bytes > (8ull << 30) || bytes % 4 != 0) {
      return "--sizes: " + std::to_string(bytes) + ": 16k to 8g, a multiple of 4";
    }
  }
  return "";
}

}  // namespace

Request read_request(int argc, char** argv, int& exit_code) {
  Request request;
  CLI::App app(
      "wheelvet-probe confirms on the GPUs of this machine what wheelvet predicts: driver, a "
      "kernel, NVRTC,\n"
      "cuRAND, cuBLAS and NCCL of an environment, each step in a process of its own with a time "
      "limit.\n"
      "It runs code of the environment's libraries, of nothing else.",
      "wheelvet-probe");
  app.set_version_flag("--version", "wheelvet-probe " WHEELVET_VERSION);
  add_asked(app, request);
  add_output(app, request);
  add_internal(app, request);
  app.footer(
      "Examples:\n"
      "  wheelvet-probe --env .venv\n"
      "  wheelvet-probe --env .venv --format json --anonymous -o probe.json\n"
      "  srun -N2 --ntasks-per-node=8 wheelvet-probe --env .venv --launcher slurm\n"
      "Exit codes: 0 every step passed, 1 a step failed, 2 wrong usage, 3 a step did not run,\n"
      "  4 internal error, 130 interrupted.");
  exit_code = -1;
  try {
    app.parse(argc, argv);
    std::sort(request.sizes.begin(), request.sizes.end());
    request.sizes.erase(std::unique(request.sizes.begin(), request.sizes.end()),
                        request.sizes.end());
    if (request.sizes.empty()) request.sizes = {16u << 10, 1u << 20, 16u << 20, 256u << 20};
    std::string wrong = wrong_size(request);
    if (request.sweep && wrong.empty()) {
      grid_of(request.grid.empty() ? default_axes() : request.grid, wrong);
    }
    if (!wrong.empty()) throw CLI::ValidationError(wrong);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? 0 : 2;
  }
  return request;
}

std::vector<std::string> step_arguments(const Request& request, const std::string& step) {
  const Targets& targets = request.targets;
  std::vector<std::string> out{"--step",       step,     "--driver",
                               targets.driver, "--nvml", targets.management};
  auto add = [&out](const char* option, const std::string& value) {
    if (!value.empty()) out.insert(out.end(), {option, value});
  };
  add("--nvrtc", targets.nvrtc);
  add("--curand", targets.curand);
  add("--cublas", targets.cublas);
  add("--nccl", targets.nccl);
  add("--rehearse", request.rehearse);
  std::string sizes;
  for (std::uint64_t bytes : request.sizes)
    sizes += (sizes.empty() ? "" : ",") + std::to_string(bytes);
  add("--sizes", sizes);
  add("--rank", std::to_string(request.rank));
  add("--ranks", std::to_string(request.ranks));
  add("--local-rank", std::to_string(request.local_rank));
  add("--job", request.job);
  add("--item", std::to_string(request.item));
  return out;
}

}  // namespace wheelvet::probe
