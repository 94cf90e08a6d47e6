// Fixtures built by cmake/elf_fixture.cmake, read and put on a stage.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "facts/elf_facts.h"
#include "link/scene.h"
#include "rules/rules.h"

namespace wheelvet::test {

inline std::vector<std::uint8_t> bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot be read: " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::vector<std::uint8_t> fixture(const std::string& name) {
  return bytes_of(std::filesystem::path(WHEELVET_ELF_FIXTURES) / name);
}

inline ElfFacts facts_of(const std::vector<std::uint8_t>& bytes) {
  return read_elf(view_of(Bytes(bytes)));
}

/// A folder of libraries as the only target, or files one by one; owns all that a scene points
/// into.
struct Stage {
  std::vector<Input> inputs = std::vector<Input>(1);
  Facts facts;
  Rules rules;
  Machine machine;
  Scene scene;

  Stage() {
    inputs[0].target = true;
    facts.inputs.resize(1);
  }

  ElfFacts& add(const std::string& path, ElfFacts elf) {
    FileFacts& file = facts.inputs[0].files.emplace_back();
    file.member = file.path = path;
    file.elf = std::move(elf);
    return file.elf;
  }
  FileFacts& add_kind(const std::string& path, FileKind kind) {
    add(path, {});
    facts.inputs[0].files.back().kind = kind;
    return facts.inputs[0].files.back();
  }
  PackageFacts& add_package(const std::string& name, const std::string& version) {
    PackageFacts& package = facts.inputs[0].packages.emplace_back();
    package.name = name;
    package.version = version;
    return package;
  }
  FileFacts& file(const std::string& path) {
    for (FileFacts& each : facts.inputs[0].files) {
      if (each.path == path) return each;
    }
    throw std::runtime_error("no such file in the scene: " + path);
  }

  /// Everything below ${WHEELVET_ELF_FIXTURES}/scenes/<name>.
  void add_folder(const std::string& name) {
    std::filesystem::path root = std::filesystem::path(WHEELVET_ELF_FIXTURES) / "scenes" / name;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (!entry.is_regular_file()) continue;
      add(entry.path().lexically_relative(root).generic_string(), facts_of(bytes_of(entry.path())));
    }
  }

  const Scene& set(const std::string& python = "3.12") {
    rules = load_rules();
    inputs[0].members.clear();
    for (const FileFacts& file : facts.inputs[0].files) inputs[0].members.push_back({file.member});
    scene = set_scene(inputs, facts, rules, machine, python);
    return scene;
  }
};

}  // namespace wheelvet::test
