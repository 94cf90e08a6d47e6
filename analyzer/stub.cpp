#include "stub.h"

#include <fmt/format.h>

#include <filesystem>

#include "device/device_note.h"
#include "facts/read_facts.h"
#include "facts/slice.h"
#include "input/archive.h"
#include "input/hash.h"
#include "input/stub_manifest.h"
#include "input/write_file.h"
#include "input/zip_writer.h"

namespace wheelvet {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_metadata = 8u << 20;
constexpr std::uint64_t kept_of_other_files = 4096;  // enough for `classify`

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// METADATA, WHEEL, entry_points.txt and the like; RECORD describes files that a stub no longer has.
bool is_kept_metadata(const std::string& name) {
  std::size_t slash = name.find('/');
  if (slash == std::string::npos || !name.substr(0, slash).ends_with(".dist-info")) return false;
  std::string_view base = std::string_view(name).substr(slash + 1);
  return base == "METADATA" || base == "WHEEL" || base == "entry_points.txt" ||
         base == "top_level.txt";
}

// The first bytes of a file that is no ELF: they say what it is.
std::vector<std::uint8_t> front_of(const RandomFile& archive, const Member& member) {
  std::vector<std::uint8_t> out;
  stream_member(archive, member, [&](Bytes chunk) {
    std::uint64_t n = std::min<std::uint64_t>(chunk.size(), kept_of_other_files - out.size());
    out.insert(out.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(n));
    return out.size() < kept_of_other_files;
  });
  return out;
}

std::string dist_info_of(const Input& input) {
  for (const Member& member : input.members) {
    std::size_t slash = member.name.find('/');
    if (slash == std::string::npos) continue;
    std::string top = member.name.substr(0, slash);
    if (top.ends_with(".dist-info")) return top;
  }
  return "stub.dist-info";
}

}  // namespace

StubResult make_stub(const std::string& name, const std::string& output, const NamedFor& wanted,
                     const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  std::vector<Input> inputs = open_named({name}, {}, wanted);
  if (inputs.size() != 1) throw WrongUsage(fmt::format("{} is no wheel", name));
  Input& input = inputs.front();
  const std::string wheel = input.path;
  if (input.kind == InputKind::stub) throw WrongUsage(fmt::format("{} is a stub already", wheel));
  if (input.kind != InputKind::wheel) throw WrongUsage(fmt::format("{} is no wheel", wheel));
  if (input.members.empty() && !input.problems.empty()) throw Unreadable(input.problems.front());
  Facts facts = read_facts(inputs, {0, false, progress, DeviceDepth::kernels});
  InputFacts& own = facts.inputs.front();
  const RandomFile& archive = *input.archive;
  input.origin = StubOrigin{input.label, input.size, sha256_of_file(archive)};

  std::vector<ArchiveFault> faults = input.faults;
  faults.insert(faults.end(), own.faults.begin(), own.faults.end());
  std::vector<Problem> problems = input.problems;
  problems.insert(problems.end(), own.problems.begin(), own.problems.end());
  ZipWriter zip;
  for (const Member& member : input.members) {
    if (is_kept_metadata(member.name)) {
      zip.add(member.name, read_member(archive, member, max_metadata));
    }
  }
  StubResult result;
  // own.files and own.device_files follow the order of the members.
  std::size_t next = 0, next_device = 0;
  for (const Member& member : input.members) {
    if (next_device != own.device_files.size() &&
        own.device_files[next_device].member == member.name) {
      DeviceFile& file = own.device_files[next_device++];
      if (file.code.read) zip.add(member.name, write_device_note(file.code));
      file = DeviceFile();
    }
    if (next == own.files.size() || own.files[next].member != member.name) continue;
    FileFacts& file = own.files[next++];
    if (file.problem) {
      problems.push_back(*file.problem);
    } else if (file.kind == FileKind::elf) {
      file.elf.device_note = write_device_note(file.code);
      zip.add(member.name, write_slice(file.elf));
      ++result.objects;
    } else {
      zip.add(member.name, front_of(archive, member));
    }
    file = FileFacts();  // its tables are no longer needed
  }
  zip.add(dist_info_of(input) + "/WHEELVET-STUB",
          bytes_of(write_stub_manifest(input, faults, problems)));
  std::vector<std::uint8_t> bytes = zip.finish();
  bool folder = output.ends_with('/') || fs::is_directory(output);
  result.path = folder ? (fs::path(output) / input.label).string() : output;
  std::error_code ignored;
  if (fs::equivalent(result.path, wheel, ignored)) {
    throw WrongUsage(fmt::format("{} is the wheel itself", result.path));
  }
  write_file(result.path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  result.size = bytes.size();
  result.origin = input.size;
  return result;
}

}  // namespace wheelvet
