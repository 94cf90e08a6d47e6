// A folder that lives as long as the object, and what a test puts into it.
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace wheelvet::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "test-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("mkdtemp failed");
    path_ = std::filesystem::canonical(name).string();
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// Without a '/' at its end. Names below begin with '/'.
  const std::string& path() const { return path_; }
  void folder(const std::string& name) const { std::filesystem::create_directories(path_ + name); }
  void put(const std::string& name, std::string_view content = {}) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + name).parent_path());
    std::ofstream(path_ + name, std::ios::binary) << content;
  }
  void link(const std::string& name, const std::string& target) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + name).parent_path());
    std::filesystem::create_symlink(target, path_ + name);
  }
  void copy(const std::string& name, const std::filesystem::path& source) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + name).parent_path());
    std::filesystem::copy_file(source, path_ + name);
  }

 private:
  std::string path_;
};

}  // namespace wheelvet::test
