#include "device/device_code.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>

#include "device/ptx.h"
#include "device/scan.h"

namespace wheelvet {
namespace {

struct Mapped {
  std::uint64_t begin = 0, end = 0;
};

std::vector<Mapped> mapped_ranges(const ElfFacts& elf) {
  std::vector<Mapped> out;
  for (std::size_t at = 0; at + sizeof(Elf64_Phdr) <= elf.program_headers.size();
       at += sizeof(Elf64_Phdr)) {
    auto segment = load<Elf64_Phdr>(elf.program_headers, at, "program header");
    if (segment.p_type == PT_LOAD) {
      out.push_back({segment.p_offset, segment.p_offset + segment.p_filesz});
    }
  }
  return out;
}

}  // namespace

DeviceCode scan_device_code(const FileView& file, bool kernels) {
  constexpr std::uint64_t block = 256u << 10;
  // No linker makes a library of half that size; a sparse file claims more for nothing.
  constexpr std::uint64_t most = std::uint64_t{16} << 30;
  if (file.size > most) {
    throw Unreadable("device code", std::nullopt, "the file is larger than 16 GiB: not searched");
  }
  DeviceScan scan(file.size, kernels);
  while (scan.position() < file.size) {
    std::uint64_t at = scan.position();
    Bytes bytes = file.bytes(at, std::min(block, file.size - at));
    scan.feed(bytes);
    if (scan.next() >= file.size) break;
    scan.jump();
  }
  return scan.finish();
}

void keep_loaded(const ElfFacts& elf, DeviceCode& code) {
  std::vector<Mapped> ranges = mapped_ranges(elf);
  auto outside = [&](std::uint64_t offset, std::uint64_t size) {
    return std::none_of(ranges.begin(), ranges.end(), [&](const Mapped& range) {
      return offset >= range.begin && offset <= range.end && size <= range.end - offset;
    });
  };
  std::erase_if(code.containers, [&](const DeviceContainer& container) {
    return outside(container.offset, container.size);
  });
  std::erase_if(code.problems, [&](const Problem& problem) {
    return problem.offset && outside(*problem.offset, 1);
  });
}

bool is_device_file(std::string_view name) {
  return name.ends_with(".cubin") || name.ends_with(".fatbin") || is_ptx_file(name);
}

bool is_ptx_file(std::string_view name) { return name.ends_with(".ptx"); }

DeviceCode read_ptx_file(Bytes text, bool kernels) {
  PtxFacts ptx = read_ptx({reinterpret_cast<const char*>(text.data()), text.size()});
  DeviceCode code;
  code.read = true;
  DeviceImage& image = code.images.emplace_back();
  image.kind = ImageKind::ptx;
  image.size = text.size();
  image.arch = ptx.arch;
  image.suffix = ptx.suffix;
  image.isa_major = ptx.isa_major;
  image.isa_minor = ptx.isa_minor;
  DeviceContainer& container = code.containers.emplace_back();
  container.size = text.size();
  container.images = 1;
  container.carrier = Carrier::ptx;
  if (kernels) {
    container.kernels_read = true;
    container.kernels = static_cast<std::uint32_t>(ptx.kernels.size());
    code.names = std::move(ptx.kernels);
    for (std::uint32_t i = 0; i < container.kernels; ++i) code.kernels.push_back(i);
  }
  return code;
}

std::string arch_name(const DeviceImage& image) {
  std::string name =
      fmt::format("{}{}", image.kind == ImageKind::cubin ? "sm_" : "compute_", image.arch);
  if (image.suffix) name += image.suffix;
  return name;
}

std::string_view to_string(ImageKind kind) {
  switch (kind) {
    case ImageKind::cubin:
      return "cubin";
    case ImageKind::ptx:
      return "ptx";
    case ImageKind::lto_ir:
      return "lto-ir";
    case ImageKind::other:
      break;
  }
  return "other";
}

std::string_view to_string(Packing packing) {
  switch (packing) {
    case Packing::raw:
      return "none";
    case Packing::lz4:
      return "lz4";
    case Packing::zstd:
      return "zstd";
  }
  return "";
}

std::string_view to_string(Carrier carrier) {
  switch (carrier) {
    case Carrier::fatbin:
      return "fatbin";
    case Carrier::cubin:
      return "cubin";
    case Carrier::ptx:
      return "ptx";
    case Carrier::frame:
      return "zstd frame";
  }
  return "";
}

}  // namespace wheelvet
