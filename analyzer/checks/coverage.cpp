#include "checks/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "rules/rules.h"
#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

constexpr std::size_t most_examples = 8;

bool contains(const std::vector<std::uint16_t>& list, std::uint16_t arch) {
  return std::find(list.begin(), list.end(), arch) != list.end();
}

const GpuRule* rule_of(const DeviceRules& rules, std::uint16_t arch) {
  for (const GpuRule& rule : rules.gpus) {
    if (rule.arch == arch) return &rule;
  }
  return nullptr;
}

// "120", "sm_120", "12.0"; 0 when it is none of them.
std::uint16_t arch_number(std::string_view text) {
  for (std::string_view prefix : {"sm_", "compute_"}) {
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  }
  std::string digits(text);
  if (std::size_t dot = digits.find('.'); dot != std::string::npos && dot + 2 == digits.size()) {
    digits.erase(dot, 1);
  }
  std::uint16_t arch = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), arch);
  bool number = error == std::errc() && end == digits.data() + digits.size();
  return number && arch >= 10 && arch < 1000 ? arch : std::uint16_t{0};
}

// The words of a product's name that count: "NVIDIA GeForce RTX 4090" is sold as "RTX 4090".
std::vector<std::string> product_words(std::string_view text) {
  static const std::set<std::string> noise = {"nvidia", "geforce", "gpu", "generation"};
  std::vector<std::string> out(1);
  for (char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      out.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!out.back().empty()) {
      out.emplace_back();
    }
  }
  std::erase_if(out, [](const std::string& word) { return word.empty() || noise.contains(word); });
  return out;
}

// The architecture whose longest product name has all its words in the text, in their order.
std::uint16_t arch_of_product(std::string_view text, const DeviceRules& rules) {
  std::vector<std::string> words = product_words(text);
  std::size_t best = 0;
  std::uint16_t arch = 0;
  for (const GpuRule& rule : rules.gpus) {
    for (const std::string& product : rule.products) {
      std::vector<std::string> wanted = product_words(product);
      auto at = std::search(words.begin(), words.end(), wanted.begin(), wanted.end());
      if (at == words.end() || wanted.size() <= best) continue;
      best = wanted.size();
      arch = rule.arch;
    }
  }
  return arch;
}

bool launchable(const DeviceImage& image) {
  return (image.kind == ImageKind::cubin && !image.relocatable) || image.kind == ImageKind::ptx;
}

// Plain code of two majors or more: whoever built it meant it to run in many places.
bool meant_for_many(std::span<const DeviceImage> images) {
  std::set<std::uint16_t> plain;
  for (const DeviceImage& image : images) {
    if (launchable(image) && image.suffix == 0) plain.insert(image.arch / 10);
  }
  return plain.size() > 1;
}

bool newer_ptx(const DeviceImage& image, const std::string& than) {
  return than.empty() ||
         compare_versions(fmt::format("{}.{}", image.isa_major, image.isa_minor), than) > 0;
}

void count(LibraryCoverage& out, Service service) {
  std::size_t* counters[] = {&out.own, &out.family, &out.older, &out.compiled, &out.unserved};
  ++*counters[static_cast<std::size_t>(service)];
}

void add_name(std::vector<std::string>& list, const std::string& name) {
  if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
}

}  // namespace

std::string_view to_string(Service service) {
  switch (service) {
    case Service::own:
      return "own";
    case Service::family:
      return "family";
    case Service::older:
      return "older";
    case Service::compiled:
      return "compiled";
    case Service::unserved:
      return "unserved";
  }
  return "";
}

Gpu read_gpu(std::string_view text, const DeviceRules& rules) {
  Gpu gpu;
  gpu.asked = text;
  gpu.arch = arch_number(text);
  bool suffixed = text.size() > 1 && (text.ends_with('a') || text.ends_with('f')) &&
                  arch_number(text.substr(0, text.size() - 1)) != 0;
  if (suffixed) {
    throw WrongUsage(
        fmt::format("--gpu {}: that is a target of code; a GPU has a plain architecture: {}", text,
                    text.substr(0, text.size() - 1)));
  }
  if (gpu.arch == 0) gpu.arch = arch_of_product(text, rules);
  if (gpu.arch == 0) {
    throw WrongUsage(
        fmt::format("--gpu {}: neither an architecture (sm_120, 12.0) nor a product that "
                    "rules/device.toml knows",
                    text));
  }
  gpu.name = fmt::format("sm_{}", gpu.arch);
  return gpu;
}

Service service_of(const DeviceImage& image, std::uint16_t arch, const DeviceRules& rules) {
  if (!launchable(image)) return Service::unserved;
  bool ptx = image.kind == ImageKind::ptx;
  bool same = image.arch == arch;
  if (image.suffix == 'a' || image.suffix == '?') {
    if (!same) return Service::unserved;
    return ptx ? Service::compiled : Service::own;
  }
  if (image.suffix == 'f') {
    bool runs = same;
    for (const FamilyArch& family : rules.families) {
      runs |= family.arch == image.arch && contains(family.runs_on, arch);
    }
    if (!runs) return Service::unserved;
    return ptx ? Service::compiled : Service::family;
  }
  if (ptx) return image.arch <= arch ? Service::compiled : Service::unserved;
  if (same) return Service::own;
  const GpuRule* device = rule_of(rules, arch);
  const GpuRule* code = rule_of(rules, image.arch);
  bool alone = (device && device->alone) || (code && code->alone);
  bool older = image.arch / 10 == arch / 10 && image.arch < arch && !alone;
  return older ? Service::older : Service::unserved;
}

Served best_of(std::span<const DeviceImage> images, std::uint16_t arch, const DeviceRules& rules) {
  Served best;
  for (const DeviceImage& image : images) {
    Service service = service_of(image, arch, rules);
    bool nearer = best.image && service == best.service && image.arch > best.image->arch;
    if (service < best.service || nearer) best = {service, &image};
  }
  return best;
}

bool is_judged(const DeviceContainer& container, const DeviceCode& code) {
  if (container.kernels_read && container.kernels == 0) return false;
  std::span<const DeviceImage> images = code.images_of(container);
  // PTX beside cubins that have to be linked has to be linked as well.
  bool linked = std::any_of(images.begin(), images.end(),
                            [](const DeviceImage& image) { return image.relocatable; });
  return !linked && std::any_of(images.begin(), images.end(), launchable);
}

LibraryCoverage cover(const std::string& path, const DeviceCode& code, std::uint16_t arch,
                      const DeviceRules& rules) {
  LibraryCoverage out;
  out.path = path;
  out.architectures = architectures_of(code);
  std::vector<bool> served(code.names.size());
  std::vector<const DeviceContainer*> gaps;
  for (const DeviceContainer& container : code.containers) {
    if (!is_judged(container, code)) {
      ++out.unjudged;
      continue;
    }
    ++out.containers;
    Served best = best_of(code.images_of(container), arch, rules);
    count(out, best.service);
    if (best.service == Service::unserved) {
      gaps.push_back(&container);
      continue;
    }
    for (std::uint32_t kernel : code.kernels_of(container)) served[kernel] = true;
    if (best.service == Service::compiled && newer_ptx(*best.image, out.ptx_version)) {
      out.ptx_version = fmt::format("{}.{}", best.image->isa_major, best.image->isa_minor);
    }
  }
  std::vector<bool> lacking(code.names.size());
  for (const DeviceContainer* container : gaps) {
    bool lacks = !container->kernels_read;
    for (std::uint32_t kernel : code.kernels_of(*container)) {
      if (served[kernel]) continue;
      lacks = true;
      if (lacking[kernel]) continue;
      lacking[kernel] = true;
      ++out.kernels_without;
      if (out.examples.size() < most_examples) out.examples.push_back(code.names[kernel]);
    }
    // Another container has all its kernels for this GPU, or it has none.
    if (!lacks) {
      --out.unserved;
      ++out.elsewhere;
      continue;
    }
    std::span<const DeviceImage> images = code.images_of(*container);
    if (meant_for_many(images)) ++out.portable_gaps;
    for (const DeviceImage& image : images) add_name(out.gap_architectures, arch_name(image));
  }
  return out;
}

std::vector<std::string> architectures_of(const DeviceCode& code) {
  std::set<std::tuple<ImageKind, std::uint16_t, char>> all;
  for (const DeviceContainer& container : code.containers) {
    for (const DeviceImage& image : code.images_of(container)) {
      all.emplace(image.kind, image.arch, image.suffix);
    }
  }
  std::vector<std::string> out;
  for (const auto& [kind, arch, suffix] : all) {
    DeviceImage image;
    image.kind = kind;
    image.arch = arch;
    image.suffix = suffix;
    std::string name = arch_name(image);
    if (kind == ImageKind::lto_ir) name += " (LTO-IR)";
    add_name(out, name);
  }
  return out;
}

const CudaRelease* release_for_ptx(const DeviceRules& rules, std::string_view ptx) {
  for (const CudaRelease& release : rules.releases) {
    if (compare_versions(release.ptx, ptx) >= 0) return &release;
  }
  return nullptr;
}

const CudaRelease* release_for_gpu(const DeviceRules& rules, std::uint16_t arch) {
  const GpuRule* gpu = rule_of(rules, arch);
  if (!gpu) return nullptr;
  for (const CudaRelease& release : rules.releases) {
    if (compare_versions(release.cuda, gpu->since) >= 0) return &release;
  }
  return nullptr;
}

}  // namespace wheelvet
