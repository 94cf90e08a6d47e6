#include "facts/read_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "device/device_code.h"
#include "device/device_note.h"
#include "device/scan.h"
#include "facts/elf_facts.h"
#include "facts/elf_stub.h"
#include "facts/library_release.h"
#include "facts/metadata.h"
#include "facts/record.h"
#include "facts/spool.h"
#include "input/archive.h"
#include "input/hash.h"
#include "input/random_file.h"

namespace wheelvet {
namespace {

constexpr std::uint64_t max_metadata = 8u << 20;
constexpr std::uint64_t max_record = 16u << 20;  // a row is some 100 bytes: 160,000 files
constexpr int max_passes = 3;

// One member to read, and where the answer goes.
struct Job {
  const Input* input = nullptr;
  const RandomFile* archive = nullptr;  // for members of wheels
  const Member* member = nullptr;
  FileFacts* file = nullptr;
  DeviceFile* device_file = nullptr;  // both null for a member that is read for its hash alone
  DeviceDepth device = DeviceDepth::nothing;
  bool whole = false;       // read to its end, whatever its facts need
  std::string digest = {};  // what RECORD gives, "sha256=...", empty when it is not to be compared
  std::vector<ArchiveFault> faults = {};
  std::optional<Problem> problem = {};  // of a member without a file
};

struct Counters {
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> second_passes{0};
  std::uint64_t total = 0;
  const ReadOptions& options;

  void add(std::uint64_t n) {
    std::uint64_t done = bytes.fetch_add(n) + n;
    if (options.progress) options.progress(done, total);
  }
};

void note_stream_faults(Job& job, const StreamResult& result) {
  if (result.size_differs) {
    job.faults.push_back({"ARC-010", job.member->name,
                          fmt::format("is not {} bytes when inflated", job.member->size),
                          job.member->data_offset});
  }
  if (result.crc_differs) {
    job.faults.push_back(
        {"ARC-011", job.member->name, "CRC-32 of the data differs", job.member->data_offset});
  }
}

// A stub's note stands for the device code of its original; otherwise what the loader maps counts.
void finish_device_code(DeviceDepth depth, FileFacts& file) {
  if (depth == DeviceDepth::nothing) return;
  if (file.elf.from_stub) {
    file.code =
        file.elf.device_note.empty() ? DeviceCode() : read_device_note(file.elf.device_note);
    file.elf.device_note = {};
  } else {
    keep_loaded(file.elf, file.code);
  }
}

// One pass over a member.
void stream(Job& job, Counters& counters, bool first, const std::function<bool(Bytes)>& sink) {
  bool hashing = first && !job.digest.empty();
  bool wanted = true;
  std::string_view algorithm = std::string_view(job.digest).substr(0, job.digest.find('='));
  Hasher hash(hash_algorithm(algorithm).value_or(HashAlgorithm::sha256));
  StreamResult result = stream_member(*job.archive, *job.member, [&](Bytes chunk) {
    counters.add(chunk.size());
    if (hashing) hash.add(chunk);
    wanted = wanted && sink(chunk);
    return wanted || (first && job.whole);
  });
  if (!first) return;
  note_stream_faults(job, result);
  if (hashing && fmt::format("{}={}", algorithm, record_digest(hash.digest())) != job.digest) {
    job.faults.push_back({"REC-005", job.member->name,
                          fmt::format("{} of the data differs", algorithm),
                          job.member->data_offset});
  }
}

void read_streamed(Job& job, Counters& counters) {
  std::vector<FileRange> wanted;
  DeviceScan scan(job.member->size, job.device == DeviceDepth::kernels);
  for (int pass = 1; pass <= max_passes; ++pass) {
    Spool spool(job.member->size, wanted);
    bool scanning = pass == 1 && job.device != DeviceDepth::nothing;
    stream(job, counters, pass == 1, [&](Bytes chunk) {
      bool elf = spool.feed(chunk);
      if (elf && scanning) scan.feed(chunk);
      return elf;
    });
    if (scanning) job.file->code = scan.finish();
    job.file->kind = job.member->size == 0 ? FileKind::empty : spool.kind();
    if (job.file->kind != FileKind::elf) return;
    try {
      job.file->elf = read_elf(spool.view());
      job.file->release = stated_release(spool.view(), job.file->elf.soname);
      finish_device_code(job.device, *job.file);
      return;
    } catch (const Unreadable&) {
      if (spool.missed().empty() || pass == max_passes) throw;
      wanted.insert(wanted.end(), spool.missed().begin(), spool.missed().end());
      ++counters.second_passes;
    }
  }
}

FileView counted_view(const RandomFile& file, Counters& counters) {
  FileView raw = view_of(file);
  return {raw.size, [raw, &counters](std::uint64_t offset, std::uint64_t size) {
            counters.add(size);
            return raw.bytes(offset, size);
          }};
}

void read_at(const std::string& path, FileFacts& facts, Counters& counters, DeviceDepth device) {
  RandomFile file(path);
  facts.device = file.device();
  facts.inode = file.inode();
  FileView counted = counted_view(file, counters);
  std::uint64_t front = std::min<std::uint64_t>(file.size(), 4096);
  facts.kind = classify(counted.bytes(0, front), file.size());
  if (facts.kind != FileKind::elf) return;
  facts.elf = read_elf(counted);
  facts.release = stated_release(counted, facts.elf.soname);
  if (device == DeviceDepth::nothing) return;
  if (!facts.elf.from_stub) facts.code = scan_device_code(counted, device == DeviceDepth::kernels);
  finish_device_code(device, facts);
}

std::string path_of(const Job& job) {
  if (job.input->kind == InputKind::file) return job.input->path;
  return job.member->source.empty() ? job.input->path + "/" + job.member->name : job.member->source;
}

// A member that is device code by itself.
void read_device_file(Job& job, Counters& counters) {
  DeviceCode& code = job.device_file->code;
  bool kernels = job.device == DeviceDepth::kernels;
  if (job.input->kind == InputKind::stub) {
    code = read_device_note(read_member(*job.archive, *job.member, max_stub_note_bytes));
  } else if (is_ptx_file(job.member->name)) {
    constexpr std::uint64_t most = 16u << 20;
    if (job.member->size > most) throw Unreadable("PTX", std::nullopt, "is larger than 16 MiB");
    std::vector<std::uint8_t> text;
    if (job.archive) {
      stream(job, counters, true, [&](Bytes chunk) {
        text.insert(text.end(), chunk.begin(), chunk.end());
        return true;
      });
    } else {
      RandomFile file(path_of(job));
      text = file.read(0, std::min(file.size(), most), "PTX");
    }
    code = read_ptx_file(text, kernels);
  } else if (job.archive) {
    DeviceScan scan(job.member->size, kernels);
    stream(job, counters, true, [&](Bytes chunk) {
      scan.feed(chunk);
      return true;
    });
    code = scan.finish();
  } else {
    RandomFile file(path_of(job));
    code = scan_device_code(counted_view(file, counters), kernels);
  }
}

// An ELF without a dynamic section is not an object the loader takes; one whose bytes were stripped
// away for debugging looks the same but for its section headers.
void refine_kind(FileFacts& file) {
  if (file.kind != FileKind::elf) return;
  const ElfFacts& elf = file.elf;
  bool empty = elf.soname.empty() && elf.needed.empty() && elf.symbols.count == 0;
  if (empty && elf.symbols.strings.empty()) file.kind = FileKind::not_dynamic;
}

void run_job(Job& job, Counters& counters) {
  try {
    if (job.device_file) return read_device_file(job, counters);
    if (!job.file) {
      return stream(job, counters, true, [](Bytes) { return true; });
    }
    if (job.archive) {
      read_streamed(job, counters);
    } else {
      read_at(path_of(job), *job.file, counters, job.device);
    }
    refine_kind(*job.file);
  } catch (const Unreadable& error) {
    (job.file ? job.file->problem : job.problem) = error.in(job.input->label, job.member->name);
  }
}

std::vector<std::uint8_t> read_small(const Input& input, const RandomFile* archive,
                                     const Member& member) {
  if (archive) return read_member(*archive, member, max_metadata);
  RandomFile file(input.path + "/" + member.name);
  if (file.size() > max_metadata) throw Unreadable("size", std::nullopt, "is over 8 MiB");
  return file.read(0, file.size(), "file");
}

// Folder of the distribution that this member describes, or empty.
std::string dist_info_of(const std::string& name, std::string_view file) {
  std::size_t slash = name.find('/');
  if (slash == std::string::npos || name.substr(slash + 1) != file) return {};
  std::string folder = name.substr(0, slash);
  return folder.ends_with(".dist-info") ? folder : std::string();
}

void read_packages(const Input& input, const RandomFile* archive, InputFacts& out) {
  std::map<std::string, PackageFacts> packages;
  for (const Member& member : input.members) {
    std::string metadata = dist_info_of(member.name, "METADATA");
    std::string wheel = dist_info_of(member.name, "WHEEL");
    std::string record = dist_info_of(member.name, "RECORD");
    if (input.kind != InputKind::folder) record.clear();  // a wheel holds one distribution
    std::string entry_points = dist_info_of(member.name, "entry_points.txt");
    if (metadata.empty() && wheel.empty() && record.empty() && entry_points.empty()) continue;
    try {
      std::vector<std::uint8_t> bytes = read_small(input, archive, member);
      std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      if (!metadata.empty()) add_metadata(text, packages[metadata]);
      if (!wheel.empty()) add_wheel_file(text, packages[wheel]);
      if (!record.empty()) add_record(text, packages[record]);
      if (!entry_points.empty()) packages[entry_points].entry_points = text;
    } catch (const Unreadable& error) {
      out.problems.push_back(error.in(input.label, member.name));
    }
  }
  WheelName named = read_wheel_name(input.label);
  for (auto& [folder, package] : packages) {
    package.folder = folder;
    if (package.tags.empty() && input.kind != InputKind::folder) package.tags = named.tags;
    if (package.name.empty()) {  // METADATA is missing or could not be read
      package.name = named.name.empty() ? folder.substr(0, folder.find('-')) : named.name;
      package.version = named.version;
    }
    out.packages.push_back(std::move(package));
  }
  bool archived = input.kind == InputKind::wheel || input.kind == InputKind::stub;
  if (archived && out.packages.empty() && !named.name.empty()) {
    PackageFacts package;
    package.name = named.name;
    package.version = named.version;
    package.tags = named.tags;
    out.packages.push_back(std::move(package));
  }
}

// RECORD of the one distribution that a wheel holds, compared with the directory. A wheel with more
// than one is a finding of its own, and which RECORD would count is not known.
RecordCheck read_record_of(const Input& input, const RandomFile& archive, InputFacts& out) {
  const Member* record = nullptr;
  std::set<std::string> folders;
  for (const Member& member : input.members) {
    std::string top = member.name.substr(0, member.name.find('/'));
    if (top.size() < member.name.size() && top.ends_with(".dist-info")) folders.insert(top);
    if (!dist_info_of(member.name, "RECORD").empty()) record = &member;
  }
  if (folders.size() != 1) return {};
  if (!record) {
    return {{{"REC-001", *folders.begin() + "/RECORD", "is not there", std::nullopt}}, {}};
  }
  try {
    std::vector<std::uint8_t> bytes = read_member(archive, *record, max_record);
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return check_record(text, record->name, input);
  } catch (const Unreadable& error) {
    out.problems.push_back(error.in(input.label, record->name));
    return {};
  }
}

// Members whose sizes lie or whose bytes belong to another member too: bombs are made so, and
// nothing of them is inflated. Name -> rule.
std::map<std::string, std::string> untrusted_members(const Input& input) {
  std::map<std::string, std::string> out;
  for (const ArchiveFault& fault : input.faults) {
    bool untrusted = fault.rule == "ARC-009" || fault.rule == "ARC-010" ||
                     fault.rule == "ARC-012" || fault.rule == "ARC-013";
    if (untrusted && !fault.member.empty()) out.emplace(fault.member, fault.rule);
  }
  return out;
}

// Of the files that could be programs, those that are, static ones too; of the others only what
// could not be read.
void keep_programs(InputFacts& input) {
  std::erase_if(input.programs, [&](FileFacts& file) {
    if (file.problem) input.problems.push_back(std::move(*file.problem));
    bool program = file.kind == FileKind::elf || file.kind == FileKind::not_dynamic;
    return file.problem || !program;
  });
}

void run_jobs(std::vector<Job>& jobs, Counters& counters, unsigned threads) {
  // The largest first, so that the last thread to finish has little left to do.
  std::vector<Job*> order;
  for (Job& job : jobs) order.push_back(&job);
  std::stable_sort(order.begin(), order.end(), [](const Job* a, const Job* b) {
    return a->member->packed_size + a->member->size > b->member->packed_size + b->member->size;
  });
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    for (std::size_t i = next++; i < order.size(); i = next++) run_job(*order[i], counters);
  };
  std::vector<std::jthread> pool;
  for (unsigned i = 1; i < threads && i < order.size(); ++i) pool.emplace_back(work);
  work();
}

}  // namespace

Facts read_facts(const std::vector<Input>& inputs, const ReadOptions& options) {
  Facts facts;
  facts.inputs.resize(inputs.size());
  std::vector<Job> jobs;
  Counters counters{{}, {}, 0, options};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = inputs[i];
    InputFacts& out = facts.inputs[i];
    out.input = i;
    bool archived = input.kind == InputKind::wheel || input.kind == InputKind::stub;
    if (archived && input.members.empty()) continue;  // its Problem is known already
    if (input.kind != InputKind::file) read_packages(input, input.archive.get(), out);
    RecordCheck record;
    if (input.kind == InputKind::wheel) record = read_record_of(input, *input.archive, out);
    out.faults = std::move(record.faults);
    bool whole = options.hash && input.kind == InputKind::wheel;
    std::map<std::string, std::string> untrusted = untrusted_members(input);
    std::vector<const Member*> libraries, device_files;
    bool asked = options.device_inputs.empty() ? input.target : options.device_inputs.contains(i);
    DeviceDepth device = asked ? options.device : DeviceDepth::nothing;
    auto place_of = [&](const Member& member) {
      return input.mount.empty() ? installed_path(member.name) : input.mount + "/" + member.name;
    };
    auto add_job = [&](const Member& member) -> Job& {
      Job& job = jobs.emplace_back();
      job.input = &input;
      job.archive = input.archive.get();
      job.member = &member;
      job.device = device;
      job.whole = whole;
      if (whole && !record.digests.empty()) {
        job.digest = record.digests[static_cast<std::size_t>(&member - input.members.data())];
      }
      if (archived) counters.total += member.size;
      return job;
    };
    for (const Member& member : input.members) {
      bool device_file = device != DeviceDepth::nothing && is_device_file(member.name);
      if (device_file && !untrusted.contains(member.name)) {
        device_files.push_back(&member);
      } else if (input.kind == InputKind::file || is_library_name(member.name)) {
        libraries.push_back(&member);
      }
    }
    out.files.resize(libraries.size());
    for (std::size_t k = 0; k < libraries.size(); ++k) {
      out.files[k].member = libraries[k]->name;
      out.files[k].path = place_of(*libraries[k]);
      if (auto rule = untrusted.find(libraries[k]->name); rule != untrusted.end()) {
        out.files[k].problem = Problem{input.label, libraries[k]->name, "data",
                                       libraries[k]->data_offset, "not read: see " + rule->second};
        continue;
      }
      add_job(*libraries[k]).file = &out.files[k];
    }
    out.device_files.resize(device_files.size());
    for (std::size_t k = 0; k < device_files.size(); ++k) {
      out.device_files[k].member = device_files[k]->name;
      out.device_files[k].path = place_of(*device_files[k]);
      add_job(*device_files[k]).device_file = &out.device_files[k];
    }
    std::vector<const Member*> programs;
    for (const Member& member : input.members) {
      if (is_library_name(member.name) || untrusted.contains(member.name)) continue;
      if (device != DeviceDepth::nothing && is_device_file(member.name)) continue;
      bool program = input.kind == InputKind::wheel && may_be_program(member.name);
      if (program) programs.push_back(&member);
      if (!program && whole) add_job(member);
    }
    out.programs.resize(programs.size());
    for (std::size_t k = 0; k < programs.size(); ++k) {
      out.programs[k].member = programs[k]->name;
      out.programs[k].path = place_of(*programs[k]);
      Job& job = add_job(*programs[k]);
      job.file = &out.programs[k];
      job.device = DeviceDepth::nothing;
    }
  }
  unsigned threads =
      options.jobs ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
  run_jobs(jobs, counters, threads);
  for (Job& job : jobs) {
    InputFacts& out = facts.inputs[static_cast<std::size_t>(job.input - inputs.data())];
    out.faults.insert(out.faults.end(), job.faults.begin(), job.faults.end());
    if (job.problem) out.problems.push_back(std::move(*job.problem));
  }
  for (InputFacts& input : facts.inputs) keep_programs(input);
  facts.hashed = options.hash;
  facts.device_code_read = options.device != DeviceDepth::nothing;
  facts.bytes_read = counters.bytes;
  facts.second_passes = counters.second_passes;
  return facts;
}

FileFacts read_library(const std::string& host_path) {
  FileFacts facts;
  ReadOptions options;
  Counters counters{{}, {}, 0, options};
  try {
    read_at(host_path, facts, counters, DeviceDepth::nothing);
    refine_kind(facts);
  } catch (const Unreadable& error) {
    facts.problem = error.in("", host_path);
  }
  return facts;
}

}  // namespace wheelvet
