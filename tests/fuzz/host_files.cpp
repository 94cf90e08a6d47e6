// The text files that a host has: what its loader, services, NCCL, toolkits, driver and environment
// are read from. The first byte says which file the rest is; what is found is judged and printed.
#include <vector>

#include "doctor/driver.h"
#include "doctor/expectation.h"
#include "doctor/loader_paths.h"
#include "doctor/nccl_settings.h"
#include "doctor/packages.h"
#include "doctor/services.h"
#include "doctor/site_files.h"
#include "doctor/toolkits.h"
#include "machine/find_machine.h"
#include "report/render.h"
#include "require.h"
#include "rules/rules.h"
#include "support/temporary_folder.h"

using namespace wheelvet;
using namespace wheelvet::fuzz;

namespace {

// A root with little in it; the file under test is written anew each time.
const test::TemporaryFolder& root() {
  static const test::TemporaryFolder folder;
  static const bool made = [] {
    for (const char* name :
         {"/etc/ld.so.conf.d/a.conf", "/etc/ld.so.conf.d/b.conf", "/etc/one.env",
          "/usr/local/cuda-13.0/lib64/libcudart.so.13", "/opt/env/bin/python3.12",
          "/opt/env/lib/python3.12/site-packages/torch/lib/libtorch_global_deps.so"}) {
      folder.put(name, "A=1\n");
    }
    folder.put("/opt/env/pyvenv.cfg", "home = /usr/bin\nversion = 3.12.1\n");
    return true;
  }();
  require(made, "a root to read");
  return folder;
}

constexpr const char* site = "/opt/env/lib/python3.12/site-packages";

const TomlText& rules() {
  static const TomlText text =
      read_toml(rules_text("doctor.toml"), std::string_view("rules/doctor.toml"));
  return text;
}

HostFacts new_host() {
  HostFacts host;
  host.machine.root = root().path();
  host.live = host.self = false;
  host.user = "root";
  host.home = host.account_home = "/root";
  host.starts.push_back(read_interactive(host));
  host.sys_path = {site};
  return host;
}

void show(std::vector<Finding> findings) {
  DoctorReport report;
  report.findings = std::move(findings);
  require_plain(render_text(report, {false, 1, false}));
  require_plain(render_json(report, false));
}

std::size_t bytes_of(const Start& start) {
  std::size_t bytes = 0;
  for (const auto& [name, variable] : start.inherited) bytes += name.size() + variable.value.size();
  return bytes;
}

void judge_starts(HostFacts host) {
  for (Start& start : host.starts) {
    require(bytes_of(start) < (32u << 20), "no environment grows without end");
    start.effective = start.inherited;
  }
  show(check_services(host, rules()));
  show(check_loader_paths(host));
}

void read_loader(std::string_view text) {
  root().put("/etc/ld.so.conf", text);
  for (const std::string& folder : configured_folders(root().path())) {
    require(folder.starts_with('/'), "a folder of ld.so.conf is absolute");
  }
}

void read_shell(std::string_view text) {
  root().put("/etc/profile", text);
  judge_starts(new_host());
  root().put("/etc/profile");
}

void read_start(const char* path, std::string_view text) {
  root().put(path, text);
  HostFacts host = new_host();
  for (Start& start : read_service(host, path)) {
    require(!start.name.empty() && !start.file.empty(), "a start has a name and a file");
    host.starts.push_back(std::move(start));
  }
  judge_starts(std::move(host));
}

void read_nccl_file(std::string_view text) {
  HostFacts host = new_host();
  host.nccl.files = {{"/etc/nccl.conf", std::string(text)}};
  for (const NcclSetting& setting : nccl_settings(host, rules())) {
    require(!setting.fails || !setting.fault.empty(), "what fails says why");
  }
  show(check_nccl_settings(host, rules(), {}));
}

void read_toolkit(const char* file, std::string_view text) {
  std::string path = std::string("/usr/local/cuda-13.0/") + file;
  root().put(path, text);
  HostFacts host = new_host();
  host.toolkits = read_toolkits(host, rules());
  show(check_toolkits(host, rules()));
  root().put(path);
}

void read_driver_file(const char* path, std::string_view text) {
  root().put(path, text);
  HostFacts host = new_host();
  host.driver = read_driver(host);
  show(check_host_driver(host));
  std::filesystem::remove_all(root().path() + "/proc");
}

void read_site(const char* name, std::string_view text) {
  std::string path = std::string(site) + "/" + name;
  root().put(path, text);
  HostFacts host = new_host();
  Environment environment = find_environment(host.machine.root, "/opt/env", "3.12");
  host.site_files = read_site_files(host, environment);
  for (Start& start : host.starts) apply_site_files(host, start);
  show(check_site_files(host, rules()));
  read_torch(host);
  show(check_torch_copies(host));
  root().put(path);
}

void read_machine_file(const char* path, std::string_view text) {
  root().put(path, text);
  for (const std::string& folder : find_machine(root().path()).default_folders) {
    require(folder.starts_with('/'), "a folder of the loader is absolute");
  }
}

// The verification list of --expect.
void read_list(std::string_view text) {
  HostFacts host = new_host();
  host.packages = {{"torch", "2.9.1+cu128", site}};
  TomlText wanted = read_toml(text, std::string_view("list.toml"));
  show(check_expectations(judge_expectations(wanted, host, rules())));
}

void read_file(unsigned which, std::string_view text) {
  switch (which) {
    case 0:
      return read_loader(text);
    case 1:
      return read_shell(text);
    case 2:
      return read_start("/etc/systemd/system/a.service", text);
    case 3:
      return read_start("/srv/compose.yaml", text);
    case 4:
      return read_start("/srv/Dockerfile", text);
    case 5:
      return read_start("/srv/start.env", text);
    case 6:
      return read_nccl_file(text);
    case 7:
      return read_toolkit("version.json", text);
    case 8:
      return read_toolkit("include/cuda_runtime_api.h", text);
    case 9:
      return read_driver_file("/proc/driver/nvidia/version", text);
    case 10:
      return read_driver_file("/proc/driver/nvidia/gpus/0/information", text);
    case 11:
      return read_site("a.pth", text);
    case 12:
      return read_site("torch/version.py", text);
    case 13:
      return read_machine_file("/etc/ld.so.preload", text);
    case 14:
      return read_list(text);
    default:
      return read_machine_file("/lib64/ld-linux-x86-64.so.2", text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  may_refuse([&] { read_file(data[0] % 16, text_of(data + 1, size - 1)); });
  return 0;
}
