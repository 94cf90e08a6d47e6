#include "input/open_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "input/archive.h"
#include "input/random_file.h"
#include "input/stub_manifest.h"

namespace wheelvet {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_manifest = 8u << 20;

bool has_suffix(std::string_view name, std::initializer_list<std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

void open_wheel(Input& input) {
  input.kind = InputKind::wheel;
  try {
    RandomFile file(input.path);
    read_archive(file, input);
    for (const Member& member : input.members) {
      if (!member.name.ends_with(stub_manifest_suffix)) continue;
      input.kind = InputKind::stub;
      std::vector<std::uint8_t> text = read_member(file, member, max_manifest);
      read_stub_manifest({reinterpret_cast<const char*>(text.data()), text.size()}, input);
    }
  } catch (const Unreadable& error) {
    input.problems.push_back(error.in(input.label, ""));
  }
}

// The folder that plays site-packages: the one given, or the only site-packages of a prefix.
fs::path site_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / "lib", error)) {
    fs::path site = entry.path() / "site-packages";
    if (entry.path().filename().string().starts_with("python3") && fs::is_directory(site)) {
      found.push_back(site);
    }
  }
  if (found.size() > 1) {
    throw WrongUsage(fmt::format(
        "{} has more than one lib/python3*/site-packages: name one of them", folder.string()));
  }
  return found.empty() ? folder : found.front();
}

// A link is followed only to a file inside the folder.
bool leads_outside(const fs::path& link, const fs::path& root) {
  std::error_code error;
  fs::path real = fs::canonical(link, error);
  if (error) return true;
  auto [end, unused] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  return end != root.end();
}

void open_folder(Input& input) {
  input.kind = InputKind::folder;
  fs::path root = fs::canonical(site_of(input.path));
  input.path = root.string();
  std::error_code error;
  fs::recursive_directory_iterator walk(root, fs::directory_options::none, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    const fs::directory_entry& entry = *walk;
    std::error_code ignored;
    bool link = entry.is_symlink(ignored);
    if (!entry.is_regular_file(ignored)) continue;
    std::string name = entry.path().lexically_relative(root).generic_string();
    if (link && leads_outside(entry.path(), root)) {
      input.problems.push_back({input.label, name, "", std::nullopt,
                                "a link that leads out of the folder; not followed"});
      continue;
    }
    Member member;
    member.name = std::move(name);
    member.size = entry.file_size(ignored);
    input.members.push_back(std::move(member));
  }
  if (error) {
    input.problems.push_back({input.label, "", "", std::nullopt, error.message()});
  }
  std::sort(input.members.begin(), input.members.end(),
            [](const Member& a, const Member& b) { return a.name < b.name; });
}

}  // namespace

Input open_input(const std::string& path, bool target) {
  Input input;
  input.path = path;
  input.target = target;
  fs::path given(path);
  std::error_code error;
  fs::path full = fs::absolute(given, error).lexically_normal();
  input.label =
      full.filename().empty() ? full.parent_path().filename().string() : full.filename().string();
  fs::file_status status = fs::status(given, error);
  if (!fs::exists(status)) {
    throw WrongUsage(fmt::format("{}: no such file or folder", path));
  }
  if (fs::is_directory(status)) {
    open_folder(input);
  } else if (has_suffix(path, {".whl", ".zip"})) {
    open_wheel(input);
  } else if (has_suffix(path, {".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar", ".conda"})) {
    throw WrongUsage(fmt::format(
        "{}: source archives and conda packages are not supported; give a wheel or a folder",
        path));
  } else {
    input.kind = InputKind::file;
    Member member;
    member.name = input.label;
    member.size = fs::is_regular_file(status) ? fs::file_size(given, error) : 0;
    input.size = member.size;
    input.members.push_back(member);
  }
  return input;
}

}  // namespace wheelvet
