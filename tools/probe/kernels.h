// The kernels of kernel.ptx and what they compute, for the host to check.
#pragma once

#include <cstdint>

namespace wheelvet::probe {

/// Text of kernel.ptx, with a zero at its end.
extern "C" const char wheelvet_kernel_ptx[];

inline std::uint32_t mix(std::uint32_t x) {
  x *= 0x9E3779B1u;
  x ^= x >> 15;
  x *= 0x85EBCA77u;
  return x ^ (x >> 13);
}

}  // namespace wheelvet::probe
