#pragma once
// Where the elements of A and B lie in shared memory, and the descriptor that tells wgmma so. No swizzle: a
// tile is a grid of core matrices, 8 lines of 16 contiguous bytes each. K-major: a line is one row of A
// (column of B), 16 bytes along k. M-/N-major: a line is one k, 8 two-byte elements along m or n. Source: PTX
// ISA 9.0, "Canonical Layouts" (no-swizzling) and "Matrix Descriptor Format" of wgmma.mma_async.
#include <cstdint>

#include "mmaudit/config.hpp"

namespace mmaudit::device {

inline constexpr int kCoreBytes = 128;  ///< one core matrix
inline constexpr int kLineBytes = 16;

/// In both forms, core matrices that are neighbours along k are adjacent. A dense wgmma and the A of a sparse
/// one have two of them, the B of a sparse one four.
inline constexpr int kNextAlongK = kCoreBytes, kDenseCores = 2;

MMAUDIT_HD constexpr int next_along_mn(int cores) { return cores * kCoreBytes; }

/// Byte offset of element (mn, k); `bytes` is the width of an element, `cores` the number of core matrices
/// along k. MN-major needs bytes == 2.
MMAUDIT_HD constexpr int shared_offset(int mn, int k, int bytes, bool mn_major, int cores = kDenseCores) {
  const int lines = 8, along = kLineBytes / bytes;  // elements of a core matrix, k-major: 8 x along
  if (mn_major)
    return (mn / along) * next_along_mn(cores) + (k / lines) * kNextAlongK + (k % lines) * kLineBytes +
           (mn % along) * bytes;
  return (mn / lines) * next_along_mn(cores) + (k / along) * kNextAlongK + (mn % lines) * kLineBytes +
         (k % along) * bytes;
}

/// Both offsets mean the same in the two forms: leading is the step along k, stride the step along m or n.
MMAUDIT_HD constexpr std::uint64_t shared_descriptor(std::uint32_t address, int leading, int stride) {
  const auto field = [](std::uint32_t bytes) { return std::uint64_t{(bytes & 0x3FFFF) >> 4}; };
  return field(address) | field(static_cast<std::uint32_t>(leading)) << 16 |
         field(static_cast<std::uint32_t>(stride)) << 32;
}

}  // namespace mmaudit::device
