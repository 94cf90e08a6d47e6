#include "doctor/jit_caches.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "doctor/new_finding.h"
#include "doctor/words.h"
#include "machine/tree.h"

namespace wheelvet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_files = 200'000;
constexpr std::size_t most_libraries = 4'000;
constexpr int most_depth = 12;

std::string version_of(const HostFacts& host, std::string_view package) {
  for (const HostPackage& each : host.packages) {
    if (each.name == package) return each.version.substr(0, each.version.find('+'));
  }
  return {};
}

struct Reader {
  const HostFacts& host;
  std::vector<JitCache> found;
  std::size_t files = 0;

  const std::string& root() const { return host.machine.root; }

  std::string value(const char* name) const {
    const Variables& here = host.starts.front().effective;
    auto set = here.find(name);
    return set == here.end() || !set->second.sure ? std::string() : set->second.value;
  }

  std::string folder(const char* variable, const std::string& usual) const {
    std::string named = value(variable);
    return named.empty() ? usual : named;
  }

  // Links are not followed: what they lead to belongs to somebody else.
  void measure(JitCache& cache, const std::string& path, int depth) {
    if (depth > most_depth) return;
    for (const std::string& name : names_in(root(), path)) {
      if (++files > most_files) return;
      std::string here = on_this_host(root(), path) + "/" + name;
      std::error_code error;
      fs::file_status status = fs::symlink_status(here, error);
      if (fs::is_directory(status)) {
        measure(cache, path + "/" + name, depth + 1);
      } else if (fs::is_regular_file(status)) {
        cache.bytes += fs::file_size(here, error);
        ++cache.objects;
        if (name.ends_with(".so") && cache.libraries.size() < most_libraries)
          cache.libraries.push_back(path + "/" + name);
      }
    }
  }

  JitCache* add(const char* kind, const std::string& path, const std::string& made_for) {
    if (path.empty() || !is_folder(root(), path)) return nullptr;
    JitCache cache{kind, path, made_for, 0, 0, {}, {}};
    measure(cache, path, 0);
    if (cache.objects == 0) return nullptr;
    found.push_back(std::move(cache));
    return &found.back();
  }

  // torch_extensions/py312_cu130/<name>: the folder's name is the whole key (cpp_extension.py,
  // _get_build_directory): no release of torch is in it.
  void torch_extensions() {
    std::string base = folder("TORCH_EXTENSIONS_DIR", host.home + "/.cache/torch_extensions");
    std::string python;
    for (char c : host.python) python += c == '.' ? "" : std::string(1, c);
    std::string cuda;
    for (char c : host.torch_cuda) cuda += c == '.' ? "" : std::string(1, c);
    std::string wanted = fmt::format("py{}_{}", python, cuda.empty() ? "cpu" : "cu" + cuda);
    for (const std::string& key : names_in(root(), base)) {
      bool keyed = key.starts_with("py") && key.find('_') != std::string::npos;
      JitCache* cache = add("torch_extensions", base + "/" + key, key);
      if (cache && keyed && !host.torch.empty() && key != wanted)
        cache->mismatch = fmt::format("made for {}, the environment is {}", key, wanted);
    }
  }

  // .cache/flashinfer/<release>/<architectures>/cached_ops; up to 0.4 without the release.
  void flashinfer() {
    std::string base = folder("FLASHINFER_WORKSPACE_BASE", host.home) + "/.cache/flashinfer";
    std::string version = version_of(host, "flashinfer-python");
    for (const std::string& key : names_in(root(), base)) {
      if (key == "cubins") continue;
      JitCache* cache = add("flashinfer", base + "/" + key, key);
      bool release = std::count(key.begin(), key.end(), '.') >= 2;
      if (cache && release && !version.empty() && key.substr(0, key.find('+')) != version) {
        cache->mismatch =
            fmt::format("made by flashinfer {}, the environment has {}", key, version);
      }
    }
  }

  void others() {
    std::string temporary = folder("TMPDIR", "/tmp");
    add("torchinductor",
        folder("TORCHINDUCTOR_CACHE_DIR", temporary + "/torchinductor_" + host.user), {});
    add("triton", folder("TRITON_CACHE_DIR", folder("TRITON_HOME", host.home) + "/.triton/cache"),
        {});
    add("tvm-ffi", folder("TVM_FFI_CACHE_DIR", host.home + "/.cache/tvm-ffi"), {});
    add("cupy", folder("CUPY_CACHE_DIR", host.home + "/.cupy/kernel_cache"), {});
    add("numba", folder("NUMBA_CACHE_DIR", host.home + "/.cache/numba"), {});
    add("deep_gemm", folder("DG_JIT_CACHE_DIR", folder("DG_CACHE_DIR", host.home + "/.deep_gemm")),
        {});
  }
};

std::string size_text(std::uint64_t bytes) {
  return bytes < 1'000'000 ? fmt::format("{} kB", (bytes + 999) / 1000)
                           : fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// The folder that one build of a library has to itself: what clearing it takes.
std::string build_of(const JitCache& cache, const std::string& library) {
  std::string folder = parent_of(library);
  return folder.size() > cache.path.size()  ? folder
         : cache.kind == "torch_extensions" ? cache.path
                                            : library;
}

}  // namespace

std::vector<JitCache> read_jit_caches(const HostFacts& host) {
  if (host.home.empty()) return {};
  Reader reader{host, {}, 0};
  reader.torch_extensions();
  reader.flashinfer();
  reader.others();
  return reader.found;
}

std::vector<Finding> check_jit_caches(const HostFacts& host, const Report& loaded) {
  std::vector<Finding> findings;
  for (const JitCache& cache : host.caches) {
    if (!cache.mismatch.empty()) {
      Finding& finding = findings.emplace_back(
          new_finding("JIT-002", Severity::note,
                      fmt::format("{} keeps {} that the environment does not use", cache.kind,
                                  size_text(cache.bytes)),
                      cache.path));
      finding.evidence = {cache.mismatch};
      finding.fix = "rm -r " + shell_quoted(cache.path);
      continue;
    }
    std::vector<std::string> broken, why;
    for (const std::string& library : cache.libraries) {
      std::string relative = library.substr(cache.path.size() + 1);
      for (const ReportRoot& root : loaded.roots) {
        bool same = root.path == relative || root.path.ends_with("/" + relative);
        if (!same || root.status != Status::fails) continue;
        std::string build = build_of(cache, library);
        if (std::find(broken.begin(), broken.end(), build) == broken.end()) broken.push_back(build);
        std::vector<std::string> lacks = root.missing_libraries;
        lacks.insert(lacks.end(), root.missing_symbols.begin(), root.missing_symbols.end());
        lacks.insert(lacks.end(), root.missing_versions.begin(), root.missing_versions.end());
        why.push_back(fmt::format(
            "{}: {}{}", library, lacks.empty() ? "does not load" : "lacks " + lacks.front(),
            lacks.size() > 1 ? fmt::format(" and {} more", lacks.size() - 1) : ""));
        break;
      }
    }
    if (broken.empty()) continue;
    Finding& finding = findings.emplace_back(
        new_finding("JIT-001", Severity::error,
                    fmt::format("{}: {} in this environment", cache.kind,
                                broken.size() == 1
                                    ? "a build that no longer loads"
                                    : fmt::format("{} builds that no longer load", broken.size())),
                    cache.path));
    finding.evidence = why;
    finding.cause = "built for another stack: the cache's key does not tell them apart";
    std::vector<std::string> paths;
    for (const std::string& each : broken) paths.push_back(shell_quoted(each));
    finding.fix = fmt::format("rm -r {}", fmt::join(paths, " "));
  }
  return findings;
}

}  // namespace wheelvet
