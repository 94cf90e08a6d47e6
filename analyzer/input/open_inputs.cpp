#include "input/open_inputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "facts/metadata.h"
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
    if (input.members.empty()) throw Unreadable("zip directory", std::nullopt, "holds no files");
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

// A link to a folder inside the root gives its files a second name, as it does for the loader.
// Links to a folder above themselves, and links inside linked folders, are not followed.
void add_linked_folders(const fs::path& root, const std::vector<fs::path>& links, Input& input) {
  std::vector<Member> more;
  for (const fs::path& link : links) {
    std::error_code error;
    std::string name = link.lexically_relative(root).generic_string();
    std::string real = fs::canonical(link, error).lexically_relative(root).generic_string();
    if (error || leads_outside(link, root)) {
      input.problems.push_back({input.label, name, "", std::nullopt,
                                "a link that leads out of the folder; not followed"});
      continue;
    }
    if (real == "." || (name + "/").starts_with(real + "/")) continue;
    for (const Member& member : input.members) {
      if (!member.name.starts_with(real + "/")) continue;
      Member linked = member;
      linked.name = name + member.name.substr(real.size());
      more.push_back(std::move(linked));
    }
  }
  std::move(more.begin(), more.end(), std::back_inserter(input.members));
}

void add_file(const fs::directory_entry& entry, const fs::path& root, Input& input) {
  std::error_code ignored;
  std::string name = entry.path().lexically_relative(root).generic_string();
  if (entry.is_symlink(ignored) && leads_outside(entry.path(), root)) {
    input.problems.push_back(
        {input.label, name, "", std::nullopt, "a link that leads out of the folder; not followed"});
    return;
  }
  Member member;
  member.name = std::move(name);
  member.size = entry.file_size(ignored);
  input.members.push_back(std::move(member));
}

void open_folder(Input& input) {
  input.kind = InputKind::folder;
  fs::path root = fs::canonical(site_of(input.path));
  input.path = root.string();
  std::error_code error;
  std::vector<fs::path> links;
  fs::recursive_directory_iterator walk(root, fs::directory_options::skip_permission_denied, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    const fs::directory_entry& entry = *walk;
    std::error_code ignored;
    if (entry.is_regular_file(ignored)) {
      add_file(entry, root, input);
    } else if (entry.is_directory(ignored) && entry.is_symlink(ignored)) {
      links.push_back(entry.path());
    } else if (entry.is_directory(ignored) && ::access(entry.path().c_str(), R_OK | X_OK) != 0) {
      input.problems.push_back({input.label, entry.path().lexically_relative(root).generic_string(),
                                "", std::nullopt, "permission denied"});
    }
  }
  if (error) {
    input.problems.push_back({input.label, "", "", std::nullopt, error.message()});
  }
  add_linked_folders(root, links, input);
  std::sort(input.members.begin(), input.members.end(),
            [](const Member& a, const Member& b) { return a.name < b.name; });
  auto wheels = std::count_if(input.members.begin(), input.members.end(),
                              [](const Member& member) { return member.name.ends_with(".whl"); });
  bool only_wheels = wheels != 0 && std::none_of(input.members.begin(), input.members.end(),
                                                 [](const Member& member) {
                                                   return is_library_name(member.name);
                                                 });
  if (only_wheels) {
    input.problems.push_back(
        {input.label, "", "", std::nullopt,
         fmt::format("holds {} wheels and no libraries: name the wheels", wheels)});
  }
}

// A zip archive whatever its name: wheels are sometimes renamed.
bool is_archive(const std::string& path) {
  try {
    RandomFile file(path);
    return file.size() >= 4 && file.read(0, 4, "file") == std::vector<std::uint8_t>{'P', 'K', 3, 4};
  } catch (const Unreadable&) {
    return false;
  }
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
  } else if (has_suffix(path, {".whl", ".zip"}) || is_archive(path)) {
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
