// What was bound before, for scenes that differ in few of their files: the releases of torch.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "link/scene.h"
#include "wheelvet/link.h"

namespace wheelvet {

struct LinkContext;

/// What `bind` adds to a link. Objects are told by their places in BindKey::objects.
struct BoundLoads {
  std::vector<Binding> bindings;
  std::vector<VersionMismatch> mismatches;
  std::vector<Refusal> refusals;
  std::size_t bound = 0, assumed = 0;
  StaticTls static_tls;  ///< as it is afterwards
};

/// Results of `bind` by all that they follow from. Files are told by their addresses, so that it
/// may serve only scenes over the same facts, rules, machine and interpreter, and one question to
/// the history; of releases known by the history only what the objects ask of them counts.
struct BindMemory {
  std::mutex mutex;
  std::unordered_map<std::string, std::uint32_t> numbers;  ///< texts, numbered as they came
  std::unordered_map<std::string, std::shared_ptr<const BoundLoads>> results;
  /// Of files: the names that they import and that the history was asked for.
  std::unordered_map<const FileFacts*, std::vector<std::string_view>> asked;
  /// Of files and libraries that are not at hand, by their numbers: whether the library may have
  /// anything that the file imports.
  std::map<std::pair<const FileFacts*, std::uint32_t>, bool> concerns;
};

struct BindKey {
  std::string text;
  std::vector<std::size_t> objects;  ///< of the plan: those that the result may hang on
};

/// The key of binding the loads from `first_load` on, as they stand now.
BindKey bind_key(const LinkContext& context, const Link& link, std::size_t first_load);

/// Adds what was kept under a key to a link; false when there is nothing.
bool recall(BindMemory& memory, const BindKey& key, Link& link);

/// How much there is of everything that `bind` adds to.
struct LinkSize {
  std::size_t bindings, mismatches, refusals, bound, assumed;
};
LinkSize size_of(const Link& link);

/// Keeps what was added to a link since it was of that size.
void remember(BindMemory& memory, BindKey key, const LinkSize& before, const Link& link);

}  // namespace wheelvet
