#include "probe_job.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "checks/alternatives.h"
#include "checks/coverage.h"
#include "device/device_code.h"
#include "facts/metadata.h"
#include "facts/record.h"
#include "input/archive.h"
#include "input/open_inputs.h"
#include "input/random_file.h"
#include "machine/environment.h"
#include "rules/device_rules.h"
#include "run.h"
#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_record = 64u << 20;

ProbeContainer container_of(const DeviceContainer& container, const DeviceCode& code,
                            const DeviceRules& rules) {
  ProbeContainer out;
  out.offset = container.offset;
  out.size = container.size;
  for (const GpuRule& gpu : rules.gpus) {
    const DeviceImage* image = best_of(code.images_of(container), gpu.arch, rules).image;
    out.predicted[fmt::format("{}.{}", gpu.arch / 10, gpu.arch % 10)] =
        image ? arch_name(*image) : "none";
  }
  for (std::uint32_t name : code.kernels_of(container)) out.kernels.push_back(code.names[name]);
  return out;
}

// What the driver takes as it lies there: code that is to be linked first, and cubins that a
// library packs and unpacks by itself, are left out.
std::vector<ProbeContainer> containers_in(const std::string& file, bool ptx,
                                          const DeviceRules& rules) {
  RandomFile random(file);
  DeviceCode code;
  if (ptx) {
    std::vector<std::uint8_t> text = random.read(0, random.size(), "PTX");
    code = read_ptx_file(text, true);
  } else {
    code = scan_device_code(view_of(random), true);
  }
  std::vector<ProbeContainer> out;
  for (const DeviceContainer& container : code.containers) {
    if (container.carrier == Carrier::frame || !is_judged(container, code)) continue;
    out.push_back(container_of(container, code, rules));
  }
  return out;
}

void add_code(const std::string& library, const std::string& file, const DeviceRules& rules,
              ProbeJob& job) {
  try {
    std::vector<ProbeContainer> containers = containers_in(file, is_ptx_file(library), rules);
    bool variant = without_variant(library) != library;
    if (!containers.empty()) job.code.push_back({library, file, variant, std::move(containers)});
  } catch (const Unreadable& error) {
    job.notes.push_back(fmt::format("{}: {}", library, error.what()));
  }
}

// A member's bytes in a file without a name, gone with the last process that has it open.
std::string extract(const RandomFile& archive, const Member& member) {
  std::string folder = fs::temp_directory_path().string();
  int file = open(folder.c_str(), O_TMPFILE | O_RDWR, 0600);
  if (file < 0) {
    throw Unreadable({folder, member.name, {}, std::nullopt, std::strerror(errno)});
  }
  stream_member(archive, member, [&](Bytes chunk) {
    for (std::size_t done = 0; done < chunk.size();) {
      ssize_t wrote = write(file, chunk.data() + done, chunk.size() - done);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0)
        throw Unreadable({folder, member.name, {}, std::nullopt, std::strerror(errno)});
      done += static_cast<std::size_t>(wrote);
    }
    return true;
  });
  // Whoever inherits it only reads it.
  int readable = open(fmt::format("/proc/self/fd/{}", file).c_str(), O_RDONLY);
  close(file);
  if (readable < 0) throw Unreadable({folder, member.name, {}, std::nullopt, std::strerror(errno)});
  return fmt::format("/proc/self/fd/{}", readable);
}

void add_wheel(const std::string& path, const DeviceRules& rules, ProbeJob& job) {
  Input input = open_input(path, true);
  if (input.kind != InputKind::wheel) {
    throw WrongUsage(fmt::format("probe: {} is no wheel: a stub carries no code", path));
  }
  RandomFile archive(path);
  for (const Member& member : input.members) {
    if (!is_library_name(member.name) && !is_device_file(member.name)) continue;
    std::string file = extract(archive, member);
    std::size_t before = job.code.size();
    add_code(installed_path(member.name), file, rules, job);
    if (job.code.size() == before) close(std::stoi(file.substr(file.rfind('/') + 1)));
  }
}

// What a package of the environment installed that may hold device code, from its RECORD.
std::vector<std::string> files_of(const std::string& site, const std::string& package) {
  std::string wanted = normalised_name(package);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(site, error)) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(".dist-info")) continue;
    if (normalised_name(name.substr(0, name.find('-'))) != wanted) continue;
    RandomFile file((entry.path() / "RECORD").string());
    if (file.size() > most_record) throw Unreadable("RECORD", std::nullopt, "is over 64 MiB");
    std::vector<std::uint8_t> bytes = file.read(0, file.size(), "RECORD");
    std::vector<std::string> files;
    std::string wrong = read_record(
        {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, [&](const RecordRow& row) {
          bool code = is_library_name(row.path) || is_device_file(row.path);
          if (code) files.emplace_back(row.path);
        });
    if (!wrong.empty()) throw Unreadable("RECORD", std::nullopt, wrong);
    return files;
  }
  throw WrongUsage(fmt::format("probe: no package {} in {}", package, site));
}

std::string on_disk(const std::string& site, const std::string& path) {
  return path.starts_with('/') ? path : site + "/" + path;
}

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

std::string why_not(const ReportRoot& root) {
  if (root.status == Status::loads) return "loads";
  if (root.status == Status::undecided) return "undecided";
  for (const auto* missing :
       {&root.missing_libraries, &root.missing_versions, &root.missing_symbols}) {
    if (!missing->empty()) return "fails: " + missing->front();
  }
  return "fails";
}

ProbeLoad load_of(const ReportRoot& root, const ReportPlan& plan, const Environment& environment) {
  ProbeLoad load;
  load.root = root.path;
  load.predicted = why_not(root);
  load.python = environment.interpreter;
  for (const ReportOpen& open : plan.opens) {
    // The first load of a process is the program itself.
    if (open.path == environment.interpreter) continue;
    load.opens.push_back(
        {on_disk(environment.site, open.path), open.global, open.optional, open.lazy});
  }
  for (const ReportObject& object : plan.objects) {
    std::string path = on_disk(environment.site, object.name);
    if (object.from.empty() && is_file(path)) load.objects.push_back(path);
  }
  return load;
}

// "torch 2.10.0" -> torch
bool is_of(const ReportRoot& root, const std::string& package) {
  return normalised_name(root.package.substr(0, root.package.find(' '))) ==
         normalised_name(package);
}

// The libraries that the probe's steps ask, as roots load them: those of the package first.
void add_libraries(const Report& report, const std::string& site, const std::string& package,
                   ProbeJob& job) {
  for (bool of_package : {true, false}) {
    for (std::size_t i = 0; i < report.roots.size() && i < report.plans.size(); ++i) {
      if (of_package && (package.empty() || !is_of(report.roots[i], package))) continue;
      for (const ReportObject& object : report.plans[i].objects) {
        std::string name(base_name(object.name));
        std::string stem = name.substr(0, name.find(".so."));
        bool asked =
            stem == "libnvrtc" || stem == "libcurand" || stem == "libcublas" || stem == "libnccl";
        std::string path = on_disk(site, object.name);
        if (!asked || !object.from.empty() || job.libraries.contains(stem) || !is_file(path))
          continue;
        job.libraries[stem] = path;
        job.notes.push_back(fmt::format("{} is what {} loads", object.name, report.plans[i].root));
      }
    }
  }
}

void add_environment(const ProbeWish& wish, const DeviceRules& rules, ProbeJob& job) {
  Request request;
  request.environment = wish.environment;
  request.with_plans = true;
  request.progress = wish.progress;
  Report report = check(request);
  std::string prefix = fs::absolute(wish.environment).lexically_normal().string();
  Environment environment = find_environment("", prefix);
  add_libraries(report, environment.site, wish.package, job);
  if (wish.package.empty()) return;
  for (const std::string& library : files_of(environment.site, wish.package)) {
    add_code(library, on_disk(environment.site, library), rules, job);
  }
  for (std::size_t i = 0; i < report.roots.size() && i < report.plans.size(); ++i) {
    const ReportRoot& root = report.roots[i];
    // What nobody can foretell, and builds for other GPUs, are not opened.
    bool judged = root.status != Status::undecided && root.alternatives.empty();
    if (!is_of(root, wish.package) || !judged || environment.interpreter.empty()) continue;
    job.loads.push_back(load_of(root, report.plans[i], environment));
  }
}

}  // namespace

ProbeJob make_probe_job(const ProbeWish& wish) {
  ProbeJob job;
  DeviceRules rules = load_device_rules();
  if (!wish.environment.empty()) add_environment(wish, rules, job);
  for (const std::string& path : name_inputs(wish.wheels)) add_wheel(path, rules, job);
  return job;
}

}  // namespace wheelvet
