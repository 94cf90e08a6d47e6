#include "input/open_inputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <thread>

#include "facts/metadata.h"
#include "input/archive.h"
#include "input/random_file.h"
#include "input/stub_manifest.h"
#include "machine/tree.h"

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
    input.archive = std::make_shared<RandomFile>(input.path);
    read_archive(*input.archive, input);
    for (const Member& member : input.members) {
      if (!member.name.ends_with(stub_manifest_suffix)) continue;
      input.kind = InputKind::stub;
      std::vector<std::uint8_t> text = read_member(*input.archive, member, max_manifest);
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

// How a folder is walked.
struct Walk {
  std::string folder;  // on this host, links resolved
  bool outside;        // links may lead out of it: the machine's files are asked for
  std::string root;    // of the machine, and where the folder is on it
  std::string location;
  Input& input;
  std::vector<std::string> links;  // names of links to folders

  std::string name_of(const fs::path& path) const {
    return path.native().substr(folder.size() + 1);
  }
  void problem(const std::string& name, std::string reason) {
    input.problems.push_back({input.label, name, "", std::nullopt, std::move(reason)});
  }
};

// A link is followed only to a file inside the folder, unless the machine's files are asked for.
bool leads_outside(const fs::path& link, const fs::path& folder) {
  std::error_code error;
  fs::path real = fs::canonical(link, error);
  if (error) return true;
  auto [end, unused] = std::mismatch(folder.begin(), folder.end(), real.begin(), real.end());
  return end != folder.end();
}

void add_file(const fs::directory_entry& entry, Walk& walk) {
  std::error_code ignored;
  Member member;
  member.name = walk.name_of(entry.path());
  if (entry.is_symlink(ignored)) {
    if (!walk.outside && leads_outside(entry.path(), walk.folder)) {
      walk.problem(member.name, "a link that leads out of the folder; not followed");
      return;
    }
    if (!walk.root.empty()) {
      member.source = on_this_host(walk.root, walk.location + "/" + member.name);
      if (member.source.empty()) return;
    }
  }
  // The sizes of other files serve nobody, and asking for 100,000 of them takes its time.
  if (is_library_name(member.name)) member.size = entry.file_size(ignored);
  walk.input.members.push_back(std::move(member));
}

// One entry of a folder; true when it is a folder to go into.
bool add_entry(const fs::directory_entry& entry, Walk& walk) {
  std::error_code ignored;
  if (entry.is_regular_file(ignored)) {
    add_file(entry, walk);
  } else if (entry.is_directory(ignored) && entry.is_symlink(ignored)) {
    walk.links.push_back(walk.name_of(entry.path()));
  } else if (entry.is_directory(ignored)) {
    if (::access(entry.path().c_str(), R_OK | X_OK) == 0) return true;
    walk.problem(walk.name_of(entry.path()), std::generic_category().message(errno));
  } else if (!walk.root.empty() && entry.is_symlink(ignored)) {
    add_file(entry, walk);  // absolute inside the root: dangling for this host
  } else if (std::string name = walk.name_of(entry.path()); is_library_name(name)) {
    std::error_code error;
    fs::file_type type = entry.status(error).type();
    // A dead link is nothing to the loader either.
    if (type == fs::file_type::none) walk.problem(name, error.message());
    bool is_there = type != fs::file_type::none && type != fs::file_type::not_found;
    if (is_there) walk.problem(name, "is not a regular file");
  }
  return false;
}

void walk_below(const fs::path& folder, Walk& walk) {
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (!add_entry(*at, walk)) at.disable_recursion_pending();
  }
  if (error) walk.problem(walk.name_of(folder), error.message());
}

// A link to a folder inside the folder gives its files a second name, as it does for the loader.
// Links to a folder above themselves, and links inside linked folders, are not followed.
void add_linked_folders(Walk& walk) {
  std::vector<Member> more;
  std::set<std::string> followed;
  for (std::size_t i = 0; i < walk.links.size(); ++i) {  // links below a followed one come in later
    std::string name = walk.links[i];
    std::error_code error;
    fs::path link = walk.folder + "/" + name;
    if (leads_outside(link, walk.folder)) {
      std::string real = fs::canonical(link, error).string();
      bool may = walk.outside && walk.root.empty() && !error;
      if (may && followed.insert(real).second) {
        walk_below(link, walk);
        continue;
      }
      walk.problem(name, "a link that leads out of the folder; not followed");
      continue;
    }
    std::string real = fs::canonical(link, error).lexically_relative(walk.folder).generic_string();
    if (error || real == "." || (name + "/").starts_with(real + "/")) continue;
    for (const Member& member : walk.input.members) {
      if (!member.name.starts_with(real + "/")) continue;
      Member linked = member;
      linked.name = name + member.name.substr(real.size());
      more.push_back(std::move(linked));
    }
  }
  std::move(more.begin(), more.end(), std::back_inserter(walk.input.members));
}

// The folders of the first level are walked by as many threads as there are processors:
// site-packages has hundreds of them, and one thread takes longer to walk 100,000 files than all
// else does.
void walk_folder(Walk& walk) {
  std::vector<fs::path> folders;
  std::error_code error;
  fs::directory_iterator at(walk.folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    if (add_entry(*at, walk)) folders.push_back(at->path());
  }
  if (error) walk.problem("", error.message());
  std::sort(folders.begin(), folders.end());
  std::vector<Input> parts(folders.size());
  std::vector<Walk> walks;
  for (Input& part : parts) {
    part.label = walk.input.label;
    walks.push_back({walk.folder, walk.outside, walk.root, walk.location, part, {}});
  }
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    for (std::size_t i = next++; i < folders.size(); i = next++) walk_below(folders[i], walks[i]);
  };
  {
    std::vector<std::jthread> pool;
    for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) pool.emplace_back(work);
    work();
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::move(parts[i].members.begin(), parts[i].members.end(),
              std::back_inserter(walk.input.members));
    std::move(parts[i].problems.begin(), parts[i].problems.end(),
              std::back_inserter(walk.input.problems));
    walk.links.insert(walk.links.end(), walks[i].links.begin(), walks[i].links.end());
  }
  std::sort(walk.links.begin(), walk.links.end());
  add_linked_folders(walk);
  std::sort(walk.input.members.begin(), walk.input.members.end(),
            [](const Member& a, const Member& b) { return a.name < b.name; });
}

void open_folder(Input& input) {
  input.kind = InputKind::folder;
  input.path = fs::canonical(site_of(input.path)).string();
  Walk walk{input.path, false, {}, {}, input, {}};
  walk_folder(walk);
}

// The wheels that lie in a folder, if it is one that holds wheels and no installed packages.
std::vector<std::string> wheels_of(const fs::path& folder) {
  std::vector<std::string> wheels;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!entry.is_directory(error) && entry.path().extension() == ".whl") {
      wheels.push_back(entry.path().string());
    } else if (entry.is_directory(error) || is_library_name(entry.path().native())) {
      return {};
    }
  }
  std::sort(wheels.begin(), wheels.end());
  return wheels;
}

// Two builds of one project cannot be in one process, and which of them is meant is not said.
void one_of_each(const std::string& folder, const std::vector<std::string>& wheels) {
  std::map<std::string, std::string> names;
  for (const std::string& wheel : wheels) {
    std::string file = fs::path(wheel).filename().string();
    std::string name = normalised_name(read_wheel_name(file).name);
    auto [first, fresh] = names.emplace(name, file);
    if (fresh || name.empty()) continue;
    throw WrongUsage(
        fmt::format("{} holds {} and {}: name the one that is meant", folder, first->second, file));
  }
}

// By their first bytes: gzip (RFC 1952), bzip2, xz, zstd (RFC 8878); "ustar" at 257 is a plain tar.
bool is_packed(const std::string& path) {
  static constexpr std::string_view marks[] = {"\x1f\x8b",
                                               "BZh",
                                               {"\xfd"
                                                "7zXZ\0",
                                                6},
                                               "\x28\xb5\x2f\xfd"};
  try {
    RandomFile file(path);
    std::uint64_t size = std::min<std::uint64_t>(file.size(), 262);
    std::vector<std::uint8_t> front = file.read(0, size, "file");
    std::string_view text(reinterpret_cast<const char*>(front.data()), front.size());
    return (text.size() == 262 && text.ends_with("ustar")) ||
           std::any_of(std::begin(marks), std::end(marks),
                       [&](std::string_view mark) { return text.starts_with(mark); });
  } catch (const Unreadable&) {
    return false;
  }
}

// A source distribution in a zip archive: PKG-INFO in the one folder that it holds.
bool is_source(const Input& input) {
  bool source = false;
  for (const Member& member : input.members) {
    std::size_t slash = member.name.find('/');
    std::string_view rest =
        std::string_view(member.name).substr(std::min(slash, member.name.size()));
    source = source || rest == "/PKG-INFO";
    if (member.name.substr(0, std::min(slash, member.name.size())).ends_with(".dist-info"))
      return false;
  }
  return source;
}

[[noreturn]] void not_supported(const std::string& path) {
  throw WrongUsage(fmt::format(
      "{}: source archives and conda packages are not supported; give a wheel or a folder", path));
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
  } else if (has_suffix(path, {".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar", ".conda"}) ||
             (!path.ends_with(".whl") && is_packed(path))) {
    not_supported(path);
  } else if (has_suffix(path, {".whl", ".zip"}) || is_archive(path)) {
    open_wheel(input);
    if (!path.ends_with(".whl") && is_source(input)) not_supported(path);
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

std::vector<std::string> name_inputs(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    std::error_code error;
    std::vector<std::string> wheels;
    if (fs::is_directory(path, error)) wheels = wheels_of(path);
    one_of_each(path, wheels);
    if (wheels.empty()) wheels.push_back(path);
    out.insert(out.end(), wheels.begin(), wheels.end());
  }
  return out;
}

Input open_root(const std::string& root, const std::string& folder, const std::string& mount,
                bool target) {
  Input input;
  input.kind = InputKind::folder;
  input.path = fs::canonical(on_this_host(root, folder)).string();
  input.label = folder;
  input.mount = mount;
  input.location = folder;
  input.target = target;
  Walk walk{input.path, true, root, folder, input, {}};
  walk_folder(walk);
  return input;
}

}  // namespace wheelvet
