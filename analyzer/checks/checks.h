// The rules: functions from a run to findings. They read no files and throw nothing.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "checks/coverage.h"
#include "link/link.h"
#include "link/near_miss.h"
#include "link/remedy.h"
#include "link/scene.h"
#include "wheelvet/cuda.h"
#include "wheelvet/facts.h"
#include "wheelvet/finding.h"
#include "wheelvet/input.h"

namespace wheelvet {

struct TorchReleases;
struct InstallPlan;

/// What was asked of the device code, and the answer by GPU.
struct DeviceQuestion {
  DeviceRules rules;
  std::vector<Gpu> gpus;
  std::string driver;  ///< the one that there is, "580.65.06", or empty
  std::vector<GpuCoverage> coverage;
};

/// What was found out of files, for judgements over the same facts.
struct FileMemory {
  /// A copy of libstdc++ that a library exports.
  struct Runtime {
    std::size_t count = 0;  ///< of its names
    std::string example;
  };
  std::unordered_map<const FileFacts*, Runtime> runtimes;
  /// Host sides of kernels (see check_duplicates.cpp).
  std::unordered_map<const FileFacts*, std::vector<std::string_view>> stubs;
  ResemblanceMemory resemblances;
};

/// Everything a rule may look at.
struct Run {
  const std::vector<Input>& inputs;
  const Facts& facts;
  const Scene& scene;
  const Links& links;
  /// What the history says; null where no root misses something of torch's. Lookups unpack parts of
  /// the table.
  TorchReleases* torch = nullptr;
  const InstallPlan* install = nullptr;  ///< what pip would do; null where nothing was asked of it
  const DeviceQuestion* device = nullptr;  ///< null when nothing was asked of it
  std::vector<Remedy> remedies = {};       ///< folders that would serve what is missing
  std::string driver = {};                 ///< the NVIDIA driver asked about; empty for none
  FileMemory* memory = nullptr;            ///< of other judgements of these facts, or null
};

/// One root with all that its load touches: its own closure and what was imported before it.
struct RootView {
  const LinkedRoot* root = nullptr;
  std::string path;
  std::vector<std::size_t> objects;     ///< indices into root->link.plan.objects
  std::vector<const Binding*> unbound;  ///< missing and undecided imports of those objects
  std::vector<const VersionMismatch*> mismatches;
  std::vector<const Refusal*> refusals;

  const PlannedObject& object(std::size_t index) const { return root->link.plan.objects[index]; }
};

std::vector<RootView> view_roots(const Run& run);

/// Collects findings by a key, so that what fails for one reason is one finding.
class FindingSet {
 public:
  /// The finding for a key, made with this id and severity when it is new.
  Finding& at(const std::string& key, const std::string& id, Severity severity);
  std::vector<Finding> take();

 private:
  std::map<std::string, Finding> findings_;
};

/// Adds a text once, keeping the order of arrival.
void add_once(std::vector<std::string>& list, const std::string& text);

/// The same for evidence of which a hostile file may hold any number: the first hundred are kept.
void add_few(std::vector<std::string>& list, const std::string& text);

std::vector<Finding> check_libraries(const Run& run, const std::vector<RootView>& roots);
std::vector<Finding> check_symbols(const Run& run, const std::vector<RootView>& roots);
std::vector<Finding> check_versions(const Run& run, const std::vector<RootView>& roots);
std::vector<Finding> check_archives(const Run& run);
std::vector<Finding> check_files(const Run& run);
std::vector<Finding> check_floors(const Run& run);
std::vector<Finding> check_installation(const Run& run);
std::vector<Finding> check_dlopens(const Run& run, const std::vector<RootView>& roots);
std::vector<Finding> check_ownership(const Run& run, const std::vector<RootView>& roots);
std::vector<Finding> check_metadata(const Run& run);
std::vector<Finding> check_labels(const Run& run);
std::vector<Finding> check_stable_abi(const Run& run);
std::vector<Finding> check_objects(const Run& run);
std::vector<Finding> check_dependencies(const Run& run);
std::vector<Finding> check_device_code(const Run& run, const std::vector<RootView>& roots);

/// Fills in `coverage` for the libraries of the targets.
void cover_targets(const std::vector<Input>& inputs, const Facts& facts, const Scene& scene,
                   DeviceQuestion& question);

// CUDA: see cuda_closure.h for the facts that these judge.

/// Missing CUDA libraries: those that lie where the loader does not look, and one finding each for
/// a clash of majors and for what one package declares in place of one per library.
void explain_cuda_libraries(const Run& run, const std::vector<RootView>& roots,
                            std::vector<Finding>& findings);
/// Missing NCCL names: the releases that have them beside the one that is there.
void explain_nccl_symbols(const Run& run, std::vector<Finding>& findings);
std::vector<Finding> check_cuda(const Run& run, const std::vector<RootView>& roots);
std::vector<Finding> check_driver(const Run& run, const CudaReport& cuda);
std::vector<Finding> check_nccl(const Run& run, const CudaReport& cuda);
std::vector<Finding> check_duplicates(const Run& run, const std::vector<RootView>& roots);
std::vector<Finding> check_families(const Run& run);

/// All families, sorted: errors first, then by id and title.
std::vector<Finding> run_checks(const Run& run, const std::vector<RootView>& roots);

/// "torch 2.10.0" of the package that a file of the scene belongs to, or the input's label.
std::string owner_of(const Run& run, std::size_t file);

/// The command or sentence that supplies a library: from the tables in rules/ alone.
std::string supply_advice(const Scene& scene, const PlannedObject& object);

/// The tags that a file of a target was installed by: those of the archive's name, else of its
/// package.
std::vector<std::string> tags_of(const Run& run, const SceneFile& file);

/// A tag taken apart at its hyphens; empty parts where there are none.
struct TagView {
  std::string_view python, abi, platform;
};
TagView read_tag(std::string_view tag);

/// True when the loader would take the file for an object of some machine.
bool is_object(const SceneFile& file);

/// The lowest manylinux policy that one of the tags promises for a machine (EM_*); null when none
/// does.
const PolicyRule* promised_policy(const Rules& rules, const std::vector<std::string>& tags,
                                  std::uint16_t machine);
/// The same by the tags of a file's package.
const PolicyRule* promised_policy(const Run& run, const SceneFile& file);

/// The glibc that tags of a release without a policy of its own promise: "2.25" of
/// manylinux_2_25 (PEP 600), the lowest of several. Empty when a tag has a policy by its name.
std::string promised_glibc(const Rules& rules, const std::vector<std::string>& tags);
}  // namespace wheelvet
