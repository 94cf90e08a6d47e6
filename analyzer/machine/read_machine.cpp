#include "machine/read_machine.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

#include "facts/read_facts.h"
#include "link/search_path.h"
#include "machine/tree.h"

namespace wheelvet {
namespace {

// The files found so far, and what they make us look for.
class Reader {
 public:
  Reader(const Machine& machine, const std::vector<Input>& inputs)
      : machine_(machine), inputs_(inputs) {
    for (const std::string& folder : machine.library_path) add_folder(folder);
    for (const std::string& folder : machine.default_folders) add_folder(folder);
    // Not searched, but what lies there is what a search would find if it were.
    for (const ToolkitFolder& toolkit : machine.toolkits) add_one_folder(toolkit.path);
  }

  // `path`: where the file is for a process on the machine; empty when it is nowhere.
  void look_into(const ElfFacts& elf, const std::string& path) {
    for (const auto* list : {&elf.rpath, &elf.runpath}) {
      if (!*list) continue;
      for (const std::string& entry : split_search_path(**list)) {
        std::string folder = expand_tokens(entry, folder_of(path), machine_);
        if (folder.starts_with('/')) add_folder(join_path("/", folder));
      }
    }
    for (const auto* list : {&elf.needed, &elf.filters, &elf.auxiliaries}) {
      for (const std::string& name : *list) {
        if (name.find('/') == std::string::npos) {
          add_name(name);
        } else {
          std::string whole = expand_tokens(name, folder_of(path), machine_);
          if (whole.starts_with('/')) add_path(join_path("/", whole));
        }
      }
    }
  }

  void add_name(const std::string& name) {
    if (names_.insert(name).second) fresh_names_.push_back(name);
  }

  void add_path(const std::string& path) {
    if (!outside_inputs(path) || !paths_.insert(path).second) return;
    bool there = is_file(machine_.root, path) || is_folder(machine_.root, path);
    if (there) fresh_files_.push_back(path);
  }

  // Until nothing new turns up.
  std::vector<FileFacts> read_all() {
    std::vector<FileFacts> files;
    while (!fresh_names_.empty() || !fresh_files_.empty()) {
      for (const std::string& name : std::exchange(fresh_names_, {})) {
        for (const auto& [folder, listing] : folders_) {
          if (listing.contains(name)) add_path(folder + "/" + name);
        }
        auto cached = machine_.cache.find(name);
        if (cached != machine_.cache.end()) add_path(join_path("/", cached->second));
      }
      for (const std::string& path : std::exchange(fresh_files_, {})) {
        files.push_back(read_library(on_this_host(machine_.root, path)));
        FileFacts& file = files.back();
        file.member = path;
        file.path = path;
        if (file.kind == FileKind::elf && !file.problem) look_into(file.elf, path);
      }
    }
    std::sort(files.begin(), files.end(),
              [](const FileFacts& a, const FileFacts& b) { return a.path < b.path; });
    return files;
  }

 private:
  bool outside_inputs(const std::string& path) const {
    return std::none_of(inputs_.begin(), inputs_.end(), [&](const Input& input) {
      return !input.location.empty() && path.starts_with(input.location + "/");
    });
  }

  void add_folder(const std::string& folder) {
    if (!outside_inputs(folder + "/")) return;
    add_one_folder(folder);
    for (const std::string& capability : machine_.capabilities) {
      add_one_folder(folder + "/" + capability);
    }
  }

  // Most of the capability subfolders that could be there are not; they are not kept.
  void add_one_folder(const std::string& folder) {
    if (!seen_.insert(folder).second) return;
    std::vector<std::string> listing = names_in(machine_.root, folder);
    if (listing.empty()) return;
    std::unordered_set<std::string>& names = folders_[folder];
    names.insert(listing.begin(), listing.end());
    for (const std::string& name : names_) {
      if (names.contains(name)) add_path(folder + "/" + name);
    }
  }

  const Machine& machine_;
  const std::vector<Input>& inputs_;
  std::map<std::string, std::unordered_set<std::string>> folders_;
  std::unordered_set<std::string> seen_;  // folders looked into
  std::set<std::string> names_, paths_;
  std::vector<std::string> fresh_names_, fresh_files_;
};

}  // namespace

InputFacts read_machine(const Machine& machine, const std::vector<Input>& inputs,
                        const Facts& facts) {
  Reader reader(machine, inputs);
  for (const InputFacts& input : facts.inputs) {
    const Input& of = inputs[input.input];
    for (const FileFacts& file : input.files) {
      if (file.kind != FileKind::elf || file.problem) continue;
      std::string place = of.location.empty() ? join_path(machine.site, file.path)
                                              : join_path(of.location, file.member);
      reader.look_into(file.elf, place.starts_with('/') ? place : std::string());
    }
  }
  if (!machine.interpreter.empty()) reader.add_path(machine.interpreter);
  if (!machine.loader.empty()) reader.add_path(machine.loader);
  // What every interpreter loads, whether or not one is at hand.
  for (const char* name :
       {"libm.so.6", "libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}) {
    reader.add_name(name);
  }
  for (const std::string& name : machine.preload) {
    if (name.find('/') == std::string::npos) {
      reader.add_name(name);
    } else {
      reader.add_path(name);
    }
  }
  InputFacts out;
  out.files = reader.read_all();
  return out;
}

}  // namespace wheelvet
