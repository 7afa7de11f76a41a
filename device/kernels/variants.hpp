#pragma once
// Which operand modifiers the compiled kernels have. Every combination for every n would be sixteen times the
// code of the plain instructions; modifiers act on the operands before the multiplication, which does not
// know n.

#include "kernels/wmma_layout.hpp"
#include "mmaudit/config.hpp"
#include "mmaudit/emulate.hpp"

namespace mmaudit::device {

/// Modifiers that are immediates of wgmma: each combination is another instruction.
inline constexpr unsigned kImmediateModifiers = kNegateA | kNegateB | kTransposeA | kTransposeB;

/// The n of wgmma for which all of them are compiled.
inline constexpr int kModifiedN[] = {8, 64, 256};

/// Case label of one wgmma: n and immediates.
MMAUDIT_HD constexpr int wgmma_case(int n, unsigned modifiers) {
  return static_cast<int>((static_cast<unsigned>(n) << 8) | (modifiers & kImmediateModifiers));
}

/// The n for which a sparse wgmma is compiled at all, and those with modifiers.
inline constexpr int kSparseN[] = {8, 64, 128, 256}, kModifiedSparseN[] = {8, 64};

/// Case label of one sparse wgmma.
MMAUDIT_HD constexpr int wgmma_sp_case(int n, unsigned modifiers, int selector) {
  return wgmma_case(n, modifiers) * 2 + selector;
}

/// True when a kernel runs this n.
constexpr bool has_n(const Instruction& instruction) {
  if (instruction.op != Op::wgmma_sp) return true;
  for (const int n : kSparseN)
    if (n == instruction.n) return true;
  return false;
}

/// True when A and B of `format` can be read M-major and N-major from shared memory. Source: PTX ISA 9.0,
/// "imm-trans-a", "imm-trans-b" of wgmma.mma_async.
constexpr bool can_transpose(Format format) { return format == Format::f16 || format == Format::bf16; }

/// True when a kernel runs `instruction` with these modifiers.
constexpr bool has_modifiers(const Instruction& instruction, unsigned modifiers) {
  if (instruction.op == Op::wmma) {
    const unsigned of_operands = wmma_any_layout(instruction) ? kTransposeA | kTransposeB : 0U;
    return (modifiers & ~(of_operands | kTransposeC)) == 0;
  }
  if ((modifiers & kTransposeC) != 0) return false;
  if (!is_wgmma(instruction.op)) return (modifiers & ~static_cast<unsigned>(kAFromRegisters)) == 0;
  if (!has_n(instruction)) return false;
  const bool transposed = (modifiers & (kTransposeA | kTransposeB)) != 0;
  if (transposed && !can_transpose(instruction.a)) return false;
  if ((modifiers & kTransposeA) != 0 && (modifiers & kAFromRegisters) != 0) return false;
  if ((modifiers & kImmediateModifiers) == 0) return true;
  if (spec_of(instruction.a).integer()) return false;  // no immediate modifiers at all
  if (instruction.op == Op::wgmma_sp) {
    // Negated and transposed at once: not for sparse ones.
    if (transposed && (modifiers & (kNegateA | kNegateB)) != 0) return false;
    for (const int n : kModifiedSparseN)
      if (n == instruction.n) return true;
    return false;
  }
  for (const int n : kModifiedN)
    if (n == instruction.n) return true;
  return false;
}

}  // namespace mmaudit::device
