// Device code: what a file carries for GPUs. Headers only; judged by checks/, never run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wheelvet/problem.h"

namespace wheelvet {

enum class ImageKind : std::uint8_t { cubin, ptx, lto_ir, other };
enum class Packing : std::uint8_t { raw, lz4, zstd };

/// One piece of code for one architecture.
struct DeviceImage {
  std::uint64_t offset = 0;    ///< of the payload in the file
  std::uint64_t size = 0;      ///< bytes as stored
  std::uint64_t unpacked = 0;  ///< bytes when unpacked, as its header says; 0 when not packed
  std::uint16_t arch = 0;      ///< 90 for sm_90 and compute_90
  char suffix = 0;  ///< 'a' architecture-specific, 'f' family-specific, '?' not known, or 0
  ImageKind kind = ImageKind::other;
  Packing packing = Packing::raw;
  std::uint8_t isa_major = 0, isa_minor = 0;  ///< PTX: its ISA version (9.0)
  bool relocatable = false;  ///< a cubin to be linked with others (-rdc=true): cannot be loaded
  bool debug = false;        ///< compiled with -G

  bool operator==(const DeviceImage&) const = default;
};

/// What images lie in.
enum class Carrier : std::uint8_t {
  fatbin,  ///< a container of the driver's own format
  cubin,   ///< a cubin by itself
  ptx,     ///< PTX text by itself
  frame,   ///< a zstd frame that holds a cubin; without an image when it is too large to unpack
};

/// Images of which the driver picks one.
struct DeviceContainer {
  std::uint64_t offset = 0;  ///< in the file
  std::uint64_t size = 0;    ///< bytes, with its header
  std::uint32_t first_image = 0, images = 0;
  std::uint32_t first_kernel = 0, kernels = 0;
  Carrier carrier = Carrier::fatbin;
  bool kernels_read = false;

  bool operator==(const DeviceContainer&) const = default;
};

/// All device code of a file, in the order of the file.
struct DeviceCode {
  std::vector<DeviceContainer> containers;
  std::vector<DeviceImage> images;
  std::vector<std::uint32_t> kernels;  ///< indices into `names`, by container
  std::vector<std::string> names;      ///< mangled; each once
  std::vector<Problem> problems;       ///< without input and member
  bool read = false;                   ///< false when it was not asked for, or a stub lacks it

  std::span<const DeviceImage> images_of(const DeviceContainer& container) const {
    return std::span(images).subspan(container.first_image, container.images);
  }
  std::span<const std::uint32_t> kernels_of(const DeviceContainer& container) const {
    return std::span(kernels).subspan(container.first_kernel, container.kernels);
  }
};

/// A file of a package that is device code by itself (.cubin, .fatbin, .ptx).
struct DeviceFile {
  std::string member;
  std::string path;  ///< installed path
  DeviceCode code;
};

/// "sm_90a" of a cubin, "compute_90" of PTX and LTO-IR.
std::string arch_name(const DeviceImage& image);

std::string_view to_string(ImageKind kind);
std::string_view to_string(Packing packing);
std::string_view to_string(Carrier carrier);

}  // namespace wheelvet
