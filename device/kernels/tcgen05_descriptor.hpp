#pragma once
// What tcgen05.mma reads besides addresses: the instruction descriptor and the matrix descriptor of shared
// memory. Source: PTX ISA 9.0, "Instruction Descriptor" and "Shared Memory Descriptor" of tcgen05.
#include <cstdint>

#include "kernels/shared_layout.hpp"
#include "mmaudit/emulate.hpp"

namespace mmaudit::device {

/// The field that names the format of A or B.
constexpr std::uint32_t tcgen05_format(MmaKind kind, Format format) {
  switch (format) {
    case Format::bf16:
    case Format::e5m2:
    case Format::s8:
      return 1;
    case Format::tf32:
      return 2;
    case Format::e2m3:
      return 3;
    case Format::e3m2:
      return 4;
    case Format::e2m1:  // the kinds of e2m1 alone count from one
      return kind == MmaKind::mxf4 || kind == MmaKind::mxf4nvf4 ? 1 : 5;
    default:  // f16, e4m3, u8
      return 0;
  }
}

/// 32 bits for a dense tcgen05.mma of this shape, formats and modifiers (kNegateA, kNegateB, kTransposeA,
/// kTransposeB); scales in the first bytes of their tensor-memory columns.
constexpr std::uint32_t tcgen05_instruction_descriptor(const Instruction& inst, unsigned modifiers) {
  const auto flag = [&](unsigned modifier, int bit) {
    return ((modifiers & modifier) != 0 ? 1U : 0U) << bit;
  };
  const std::uint32_t common =
      tcgen05_format(inst.kind, inst.a) << 7 | tcgen05_format(inst.kind, inst.b) << 10 | flag(kNegateA, 13) |
      flag(kNegateB, 14) | flag(kTransposeA, 15) | flag(kTransposeB, 16) |
      static_cast<std::uint32_t>(inst.n) >> 3 << 17 | static_cast<std::uint32_t>(inst.m) >> 4 << 24;
  if (inst.scale != Format::none) return common | (inst.scale == Format::ue8m0 ? 1U : 0U) << 23;
  const std::uint32_t d = inst.d == Format::f16 ? 0 : inst.d == Format::f32 ? 1 : 2;
  return common | (inst.satfinite ? 1U : 0U) << 3 | d << 4;
}

/// A or B in shared memory, without swizzle: as wgmma's, and a version.
MMAUDIT_HD constexpr std::uint64_t tcgen05_matrix_descriptor(std::uint32_t address, int leading, int stride) {
  return shared_descriptor(address, leading, stride) | std::uint64_t{1} << 46;
}

}  // namespace mmaudit::device
