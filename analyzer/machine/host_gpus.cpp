#include "machine/host_gpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "wheelvet/problem.h"

namespace wheelvet {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

std::string driver_version(std::string_view text) {
  // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build ..."
  std::string_view line = text.substr(0, text.find('\n'));
  while (!line.empty()) {
    std::size_t end = std::min(line.find(' '), line.size());
    std::string_view word = line.substr(0, end);
    bool version = word.find('.') != std::string_view::npos &&
                   word.find_first_not_of("0123456789.") == std::string_view::npos;
    if (version) return std::string(word);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return {};
}

HostGpus find_host_gpus(const std::string& folder) {
  HostGpus host;
  host.driver = driver_version(text_of(fs::path(folder) / "version"));
  std::error_code error;
  std::vector<fs::path> gpus;
  for (fs::directory_iterator it(fs::path(folder) / "gpus", error), end; !error && it != end;
       it.increment(error)) {
    gpus.push_back(it->path());
  }
  std::sort(gpus.begin(), gpus.end());
  constexpr std::string_view label = "Model:";
  for (const fs::path& gpu : gpus) {
    std::string text = text_of(gpu / "information");
    std::size_t at = text.find(label);
    if (at == std::string::npos) continue;
    std::string model = text.substr(at + label.size(), text.find('\n', at) - at - label.size());
    std::size_t start = model.find_first_not_of(" \t");
    if (start != std::string::npos) host.products.push_back(model.substr(start));
  }
  if (host.products.empty()) {
    throw Unreadable({folder, {}, {}, std::nullopt, "shows no GPU of this machine (--gpu host)"});
  }
  return host;
}

}  // namespace wheelvet
