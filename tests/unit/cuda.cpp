// CUDA's libraries, drivers, NCCL, duplicates and families: every case is made by hand, with beside
// it the case in which nothing is wrong.
#include <doctest/doctest.h>
#include <elf.h>

#include <algorithm>

#include "checks/checks.h"
#include "checks/cuda_closure.h"
#include "facts/library_release.h"
#include "rules/cuda_rules.h"
#include "support/fixtures.h"
#include "support/made_object.h"

using namespace wheelvet;
using namespace wheelvet::test;

namespace {

using Lines = std::vector<std::string>;

MadeSymbol wanted(const std::string& name, std::uint8_t binding = STB_GLOBAL) {
  MadeSymbol symbol{name};
  symbol.defined = false;
  symbol.binding = binding;
  symbol.relocations = used_by_plt;
  return symbol;
}

// Packages of one folder, each with its libraries, and what is found wrong with them.
struct Site {
  Stage stage;
  std::string driver;

  Site() { stage.inputs[0].kind = InputKind::folder; }

  PackageFacts& package(const std::string& name, const std::string& version,
                        Lines requirements = {}) {
    PackageFacts& package = stage.add_package(name, version);
    package.requirements = std::move(requirements);
    return package;
  }
  ElfFacts& library(const std::string& path, const std::string& soname, Lines needed = {},
                    std::vector<MadeSymbol> symbols = {}) {
    MadeObject made;
    made.symbols = std::move(symbols);
    ElfFacts& elf = stage.add(path, made.facts());
    elf.soname = soname;
    elf.needed = std::move(needed);
    elf.stack_flags = PF_R | PF_W;
    if (!stage.facts.inputs[0].packages.empty()) {
      stage.facts.inputs[0].packages.back().libraries.push_back(path);
    }
    return elf;
  }
  ElfFacts& module(const std::string& path, Lines needed, std::vector<MadeSymbol> symbols = {}) {
    symbols.push_back({"PyInit_" + std::string(module_name(path))});
    return library(path, "", std::move(needed), std::move(symbols));
  }

  std::vector<Finding> findings() {
    const Scene& scene = stage.set();
    LinkOptions options;
    links = link_scene(scene, options);
    Run run{stage.inputs, stage.facts, scene, links};
    run.remedies = try_remedies(stage.inputs, scene, options, links);
    run.driver = driver;
    std::vector<RootView> roots = view_roots(run);
    cuda = cuda_closure(run, roots);
    return run_checks(run, roots);
  }
  Links links;
  CudaReport cuda;
};

Lines ids(const std::vector<Finding>& findings, std::string_view family) {
  Lines out;
  for (const Finding& each : findings) {
    if (each.id.starts_with(family))
      out.push_back(std::string(to_string(each.severity)) + " " + each.id);
  }
  return out;
}

const Finding& only(const std::vector<Finding>& findings, const std::string& id) {
  const Finding* found = nullptr;
  for (const Finding& each : findings) {
    if (each.id != id) continue;
    REQUIRE_MESSAGE(!found, "more than one ", id);
    found = &each;
  }
  REQUIRE_MESSAGE(found, "no ", id);
  return *found;
}

bool says(const Finding& finding, const std::string& words) {
  return std::any_of(
      finding.evidence.begin(), finding.evidence.end(),
      [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

const std::string rpath = "$ORIGIN/../nvidia/cu13/lib";

}  // namespace

TEST_CASE(
    "a build for CUDA 12 beside CUDA 13 is one finding, whatever number of libraries it lacks") {
  Site site;
  site.package("nvidia-cuda-runtime", "13.0.96");
  site.library("nvidia/cu13/lib/libcudart.so.13", "libcudart.so.13");
  site.package("mine", "1.0");
  site.module("mine/_C.abi3.so",
              {"libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12", "libcurand.so.10"});
  std::vector<Finding> findings = site.findings();
  CHECK(ids(findings, "LIB-001").empty());
  const Finding& clash = only(findings, "CUDA-001");
  CHECK(clash.title == "built for CUDA 12, and only CUDA 13 is there");
  CHECK(clash.severity == Severity::error);
  CHECK(clash.roots == Lines{"mine/_C.abi3.so"});
  CHECK(says(clash, "libcublasLt.so.12"));
  CHECK(says(clash, "libcurand.so.10"));  // its soname tells no major, its root does
  CHECK(clash.fix.find("nvidia-cuda-runtime-cu12") != std::string::npos);
}

TEST_CASE("a library of a major that is there in part is missing for itself") {
  Site site;
  site.package("nvidia-cuda-runtime-cu12", "12.8.90");
  site.library("mine/libcudart.so.12", "libcudart.so.12");
  site.package("mine", "1.0");
  site.module("mine/_C.abi3.so", {"libcudart.so.12", "libcublas.so.12"}).runpath = "$ORIGIN";
  std::vector<Finding> findings = site.findings();
  CHECK(ids(findings, "CUDA-001").empty());
  CHECK(ids(findings, "LIB-001") == Lines{"error LIB-001"});
}

TEST_CASE("a bundled copy under a name of its own is no CUDA 12, though it kept its DT_SONAME") {
  Site site;
  site.package("nvidia-cuda-runtime", "13.0.96");
  site.library("nvidia/cu13/lib/libcudart.so.13", "libcudart.so.13");
  site.package("torchvision", "0.24.1");
  site.library("torchvision.libs/libcudart.e8e8b82a.so.12", "libcudart.so.12");
  site.package("mine", "1.0");
  site.module("mine/_C.abi3.so", {"libcudart.so.12", "libcublas.so.12"});
  std::vector<Finding> findings = site.findings();
  CHECK(only(findings, "CUDA-001").title == "built for CUDA 12, and only CUDA 13 is there");
  CHECK(ids(findings, "LIB-001").empty());
}

TEST_CASE("each package that is built for the other major has a finding of its own") {
  Site site;
  site.package("nvidia-cuda-runtime", "13.0.96");
  site.library("nvidia/cu13/lib/libcudart.so.13", "libcudart.so.13");
  site.package("one", "1.0");
  site.module("one/_C.abi3.so", {"libcudart.so.12", "libcublas.so.12"});
  site.package("two", "1.0");
  site.module("two/_C.abi3.so", {"libcudart.so.12"});
  std::vector<Finding> findings = site.findings();
  REQUIRE(ids(findings, "CUDA-001").size() == 2);
  for (const Finding& each : findings) {
    if (each.id != "CUDA-001" || each.roots != Lines{"two/_C.abi3.so"}) continue;
    CHECK_FALSE(says(each, "libcublas.so.12"));
    CHECK(each.fix == "a build for CUDA 13; or pip install nvidia-cuda-runtime-cu12 beside");
  }
}

TEST_CASE("without any CUDA a missing CUDA library is no clash") {
  Site site;
  site.package("mine", "1.0");
  site.module("mine/_C.abi3.so", {"libcudart.so.12"});
  std::vector<Finding> findings = site.findings();
  CHECK(ids(findings, "CUDA-001").empty());
  CHECK(ids(findings, "LIB-001") == Lines{"error LIB-001"});
}

TEST_CASE("what an installed package requires and is not there is one finding with its pins") {
  Site site;
  site.stage.inputs[0].location = "/env/site";
  site.package("torch", "2.9.1",
               {"nvidia-cuda-runtime-cu12==12.8.90", "nvidia-cublas-cu12==12.8.4.1"});
  site.module("mine/_C.abi3.so", {"libcudart.so.12", "libcublas.so.12"});
  std::vector<Finding> findings = site.findings();
  CHECK(ids(findings, "LIB-001").empty());
  const Finding& finding = only(findings, "CUDA-003");
  CHECK(finding.fix.find("nvidia-cublas-cu12==12.8.4.1") != std::string::npos);
  CHECK(finding.fix.find("nvidia-cuda-runtime-cu12==12.8.90") != std::string::npos);
}

TEST_CASE("one such library alone names who requires it, and the pin") {
  Site site;
  site.stage.inputs[0].location = "/env/site";
  site.package("torch", "2.9.1", {"nvidia-cuda-runtime-cu12==12.8.90"});
  site.module("mine/_C.abi3.so", {"libcudart.so.12"});
  const std::vector<Finding> findings = site.findings();
  const Finding& finding = only(findings, "LIB-001");
  CHECK(finding.cause ==
        "torch 2.9.1 requires nvidia-cuda-runtime-cu12==12.8.90, which is not installed");
  CHECK(finding.fix == "pip install nvidia-cuda-runtime-cu12==12.8.90");
}

TEST_CASE("the file version tells the CUDA major of a soname that two share") {
  CHECK(major_by_version("libcurand.so.10", "10.3.0.86") == "11");
  CHECK(major_by_version("libcurand.so.10", "10.3.9.90") == "12");
  CHECK(major_by_version("libcurand.so.10", "10.4.0.35") == "13");
  CHECK(major_by_version("libcusparse.so.12", "12.5.10.65") == "12");
  CHECK(major_by_version("libcusparse.so.12", "12.6.3.3") == "13");
  CHECK(major_by_version("libcudart.so.12", "12.8").empty());
}

TEST_CASE("libcurand of CUDA 12 taken beside the runtime of CUDA 13 is told with both copies") {
  for (bool right_first : {false, true}) {
    CAPTURE(right_first);
    Site site;
    site.package("nvidia-cuda-runtime", "13.0.96");
    site.library("nvidia/cu13/lib/libcudart.so.13", "libcudart.so.13");
    site.package("nvidia-curand", "10.4.0.35");
    site.library("nvidia/cu13/lib/libcurand.so.10", "libcurand.so.10");
    site.package("nvidia-curand-cu12", "10.3.9.90");
    site.library("nvidia/curand/lib/libcurand.so.10", "libcurand.so.10");
    site.package("mine", "1.0");
    site.module("mine/_C.abi3.so", {"libcudart.so.13", "libcurand.so.10"}).rpath =
        right_first ? "$ORIGIN/../nvidia/cu13/lib:$ORIGIN/../nvidia/curand/lib"
                    : "$ORIGIN/../nvidia/curand/lib:$ORIGIN/../nvidia/cu13/lib";
    const std::vector<Finding> findings = site.findings();
    const Finding& finding = only(findings, "CUDA-004");
    CHECK(finding.severity == (right_first ? Severity::note : Severity::warning));
    CHECK(says(finding, right_first
                            ? "taken: nvidia/cu13/lib/libcurand.so.10 (nvidia-curand 10.4.0.35"
                            : "taken: nvidia/curand/lib/libcurand.so.10 (nvidia-curand-cu12"));
    CHECK(says(finding, "not taken: "));
    CHECK(says(finding, "every import of it is found"));
  }
}

TEST_CASE("the toolkit's stub of libcuda in a load plan is no driver") {
  for (const char* folder : {"/stubs", ""}) {
    Site site;
    site.package("mine", "1.0");
    site.library("mine/lib" + std::string(folder) + "/libcuda.so.1", "libcuda.so.1");
    site.module("mine/_C.abi3.so", {"libcuda.so.1"}).runpath = "$ORIGIN/lib" + std::string(folder);
    bool stub = *folder != 0;
    CHECK(ids(site.findings(), "CUDA-005") == (stub ? Lines{"error CUDA-005"} : Lines{}));
  }
}

TEST_CASE("the driver that is needed: of the CUDA major, or of a driver function linked directly") {
  Site site;
  site.package("mine", "1.0");
  site.module("mine/_C.abi3.so", {"libcudart.so.12", "libcuda.so.1"}, {wanted("cuInit")});
  site.findings();
  REQUIRE(site.cuda.modules.size() == 1);
  CHECK(site.cuda.modules[0].runtime == "12");
  CHECK(site.cuda.driver == "525.60.13");
  Site newer;
  newer.package("mine", "1.0");
  newer.module("mine/_C.abi3.so", {"libcudart.so.12", "libcuda.so.1"},
               {wanted("cuInit"), wanted("cuGreenCtxCreate")});
  newer.findings();
  CHECK(newer.cuda.driver == "550.54.14");
  CHECK(newer.cuda.modules[0].driver_functions == Lines{"cuGreenCtxCreate"});
  Site weak;
  weak.package("mine", "1.0");
  weak.module("mine/_C.abi3.so", {"libcudart.so.12", "libcuda.so.1"},
              {wanted("cuGreenCtxCreate", STB_WEAK)});
  weak.findings();
  CHECK(weak.cuda.driver == "525.60.13");
}

TEST_CASE("a driver asked about is an error when it is older than what is needed") {
  for (const char* driver : {"", "570.26", "580.65.06", "610.43.02"}) {
    CAPTURE(driver);
    Site site;
    site.driver = driver;
    site.package("mine", "1.0");
    site.module("mine/_C.abi3.so", {"libcudart.so.13"});
    bool old = std::string(driver) == "570.26";
    CHECK(ids(site.findings(), "CUDA-011") == (old ? Lines{"error CUDA-011"} : Lines{}));
  }
}

TEST_CASE("every driver function's release has a driver, but for the releases that have none yet") {
  for (const auto& [name, release] : driver_rules().functions) {
    bool unlisted = compare_versions(release, driver_rules().releases.back().first) > 0;
    CHECK(driver_of_release(release).empty() == unlisted);
  }
  CHECK(driver_rules().functions.at("cuGetProcAddress_v2") == "12.0");
  CHECK(driver_rules().functions.at("cuTensorMapEncodeTiled") == "12.0");
  CHECK(driver_rules().functions.at("cuMemAlloc_v2") == "3.2");
  CHECK(driver_rules().functions.at("cuMulticastCreate") == "12.1");
}

TEST_CASE("the NCCL that is needed is the first release that has all imports") {
  Site site;
  site.package("mine", "1.0");
  site.module("mine/_C.abi3.so", {"libnccl.so.2"},
              {wanted("ncclAllReduce"), wanted("ncclCommShrink")});
  const std::vector<Finding> findings = site.findings();
  CHECK(only(findings, "NCCL-001").title == "needs NCCL 2.27.3 or newer");
  REQUIRE(site.cuda.modules.size() == 1);
  CHECK(site.cuda.modules[0].nccl_functions == Lines{"ncclCommShrink"});
  Site old;
  old.package("mine", "1.0");
  old.module("mine/_C.abi3.so", {"libnccl.so.2"}, {wanted("ncclAllReduce")});
  CHECK(ids(old.findings(), "NCCL-001").empty());
}

TEST_CASE("a name that the NCCL in the process lacks is told with the release that brought it") {
  Site site;
  site.package("nvidia-nccl-cu12", "2.21.5");
  site.library("nvidia/nccl/lib/libnccl.so.2", "libnccl.so.2", {}, {{"ncclAllReduce"}});
  site.package("mine", "1.0");
  site.module("mine/_C.abi3.so", {"libnccl.so.2"},
              {wanted("ncclAllReduce"), wanted("ncclCommShrink")})
      .runpath = "$ORIGIN/../nvidia/nccl/lib";
  const std::vector<Finding> findings = site.findings();
  const Finding& finding = only(findings, "SYM-001");
  CHECK(says(finding, "nvidia/nccl/lib/libnccl.so.2 is NCCL 2.21.5"));
  CHECK(says(finding, "ncclCommShrink came with NCCL 2.27.3"));
  CHECK(finding.fix == "NCCL 2.27.3 or newer, first in the process");
}

TEST_CASE("an NCCL that says another release than its package was written over") {
  for (const char* stated : {"2.28.9+cuda13.0", "2.27.5+cuda13.0", "2.28.9+cuda12.9", ""}) {
    CAPTURE(stated);
    Site site;
    site.package("nvidia-nccl-cu13", "2.28.9");
    site.library("nvidia/nccl/lib/libnccl.so.2", "libnccl.so.2");
    site.stage.file("nvidia/nccl/lib/libnccl.so.2").release = stated;
    bool fits = std::string(stated) == "2.28.9+cuda13.0" || !*stated;
    CHECK(ids(site.findings(), "NCCL-002") == (fits ? Lines{} : Lines{"warning NCCL-002"}));
  }
}

TEST_CASE("libnccl's own words are found wherever they lie among its first megabytes") {
  constexpr std::size_t chunk = 1u << 20;
  for (std::size_t at : {std::size_t{0}, chunk - 20, chunk - 1, 3 * chunk + 5}) {
    CAPTURE(at);
    std::string text(4 * chunk, 'x');
    const std::string words = "NCCL version 2.28.9+cuda13.0";
    text.replace(at, words.size() + 1, words + '\0');
    Bytes bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    CHECK(stated_release(view_of(bytes), "libnccl.so.2") == "2.28.9+cuda13.0");
    CHECK(stated_release(view_of(bytes), "libother.so.2").empty());
  }
}

TEST_CASE("two CUDA runtimes in one process are told, and one is not") {
  for (bool two : {false, true}) {
    Site site;
    site.package("nvidia-cuda-runtime", "13.0.96");
    site.library("nvidia/cu13/lib/libcudart.so.13", "libcudart.so.13");
    site.library("mine/libhelper.so", "libhelper.so",
                 {two ? "libcudart.so.12" : "libcudart.so.13"});
    site.library("mine/libcudart.so.12", "libcudart.so.12");
    site.package("mine", "1.0");
    site.module("mine/_C.abi3.so", {"libcudart.so.13", "libhelper.so"}).rpath = "$ORIGIN:" + rpath;
    CHECK(ids(site.findings(), "DUP-001") == (two ? Lines{"note DUP-001"} : Lines{}));
  }
}

TEST_CASE("auditwheel's new names do not hide a second copy of OpenMP") {
  Site site;
  site.package("mine", "1.0");
  site.library("mine.libs/libgomp-a34b3233.so.1", "libgomp-a34b3233.so.1");
  site.library("mine.libs/libhelper.so", "libhelper.so", {"libiomp5.so"});
  site.library("mine.libs/libiomp5.so", "libiomp5.so");
  site.module("mine/_C.abi3.so", {"libgomp-a34b3233.so.1", "libhelper.so"}).rpath =
      "$ORIGIN/../mine.libs";
  const std::vector<Finding> findings = site.findings();
  const Finding& finding = only(findings, "DUP-001");
  CHECK(finding.title == "2 copies of OpenMP in one process");
  CHECK(says(finding, "for libhelper.so"));
}

TEST_CASE("two NCCLs by path: import order decides, and a warning only where one lacks names") {
  for (bool lacks : {false, true}) {
    CAPTURE(lacks);
    Site site;
    site.package("a", "1.0");
    std::vector<MadeSymbol> old_names = {{"ncclAllReduce"}};
    if (!lacks) old_names.push_back({"ncclCommShrink"});
    site.library("a.libs/libnccl.so.2", "libnccl.so.2", {}, old_names);
    site.module("a/_C.abi3.so", {"libnccl.so.2"}, {wanted("ncclAllReduce")}).rpath =
        "$ORIGIN/../a.libs";
    site.package("b", "1.0");
    site.library("b.libs/libnccl.so.2", "libnccl.so.2", {},
                 {{"ncclAllReduce"}, {"ncclCommShrink"}});
    site.module("b/_C.abi3.so", {"libnccl.so.2"}, {wanted("ncclCommShrink")}).rpath =
        "$ORIGIN/../b.libs";
    const std::vector<Finding> findings = site.findings();
    const Finding& finding = only(findings, "DUP-002");
    CHECK(finding.severity == (lacks ? Severity::warning : Severity::note));
    CHECK(finding.roots == (lacks ? Lines{"b/_C.abi3.so"} : Lines{}));
    CHECK(says(finding, "lacks 1 that others need: ncclCommShrink") == lacks);
  }
}

TEST_CASE("the host side of one kernel given out by two libraries of a scope") {
  constexpr std::uint8_t seen = STV_DEFAULT, unseen = STV_HIDDEN;
  for (std::uint8_t visibility : {seen, unseen}) {
    Site site;
    site.package("mine", "1.0");
    MadeSymbol stub{"_Z21__device_stub__kernelPi"};
    stub.visibility = visibility;
    site.library("mine/libone.so", "libone.so", {}, {stub});
    site.module("mine/_C.abi3.so", {"libone.so"}, {stub}).rpath = "$ORIGIN";
    bool given_out = visibility == STV_DEFAULT;
    CHECK(ids(site.findings(), "DUP-003") == (given_out ? Lines{"note DUP-003"} : Lines{}));
  }
}

TEST_CASE("a path that two installed packages list belongs to whoever came last") {
  for (const char* other : {"nvidia/nccl/lib/libnccl.so.2", "nvidia/other/libnccl.so.2"}) {
    Site site;
    site.stage.inputs[0].location = "/env/site";
    site.package("nvidia-nccl-cu12", "2.27.5");
    site.library("nvidia/nccl/lib/libnccl.so.2", "libnccl.so.2");
    site.package("nvidia-nccl-cu13", "2.28.9").libraries = {other};
    bool same = std::string(other) == "nvidia/nccl/lib/libnccl.so.2";
    const std::vector<Finding> findings = site.findings();
    CHECK(ids(findings, "PKG-001") == (same ? Lines{"warning PKG-001"} : Lines{}));
    CHECK(ids(findings, "PKG-003") == (same ? Lines{} : Lines{"warning PKG-003"}));
  }
}

TEST_CASE("flashinfer's packages have to be of one public version") {
  struct Case {
    const char *python, *cubin;
    bool same;
  };
  for (const Case& each : {Case{"0.6.3", "0.6.4", false}, Case{"0.6.16", "0.6.16+cu130", true},
                           Case{"0.3.1", "0.3.10", false}, Case{"0.6.3", "0.6.3", true}}) {
    Site site;
    site.package("flashinfer-python", each.python);
    site.package("flashinfer-cubin", each.cubin);
    CAPTURE(std::string(each.cubin));
    CHECK(ids(site.findings(), "FAM-001") == (each.same ? Lines{} : Lines{"error FAM-001"}));
  }
}

TEST_CASE("torchvision is held to its own requirement, else to the table") {
  Site declared;
  declared.package("torch", "2.11.0+cu130");
  declared.package("torchvision", "0.24.1", {"torch (==2.9.1)"});
  CHECK(ids(declared.findings(), "FAM-") == Lines{"warning FAM-003"});
  Site silent;
  silent.package("torch", "2.11.0+cu130");
  silent.package("torchvision", "0.24.1", {"torch"});
  CHECK(ids(silent.findings(), "FAM-") == Lines{"warning FAM-002"});
  Site right;
  right.package("torch", "2.9.1+cu128");
  right.package("torchvision", "0.24.1", {"torch (==2.9.1)"});
  CHECK(ids(right.findings(), "FAM-").empty());
}

TEST_CASE("cuda-toolkit's extras pin the packages of one release, on this platform") {
  Site site;
  site.package("cuda-toolkit", "13.0.2",
               {"nvidia-cublas==13.1.0.3.*; (sys_platform == 'linux') and extra == 'cublas'",
                "nvidia-curand==1.*; sys_platform == 'win32' and extra == 'curand'"});
  site.package("nvidia-cublas", "13.4.1.3");
  site.package("nvidia-curand", "10.4.0.35");
  const std::vector<Finding> findings = site.findings();
  CHECK(only(findings, "FAM-003").objects ==
        Lines{"cuda-toolkit 13.0.2", "nvidia-cublas 13.4.1.3"});
}

TEST_CASE("whoever needs tvm-ffi is asked, and known bad pairs are told") {
  Site site;
  site.package("apache-tvm-ffi", "0.1.13");
  site.package("vllm", "0.22.0", {"apache-tvm-ffi==0.1.11"});
  site.package("xgrammar", "0.2.3");
  CHECK(ids(site.findings(), "FAM-") == Lines{"warning FAM-003", "warning FAM-004"});
}
