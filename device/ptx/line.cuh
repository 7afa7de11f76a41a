#pragma once
// What one line of ptx/ turns into: a struct with the row of kInstructions that the line spells.
#include "mmaudit/model/instruction.hpp"

// The qualifier of an integer line: its text, and the field of the row it stands for.
#define MMAUDIT_TEXT_wrapping ""
#define MMAUDIT_TEXT_satfinite ".satfinite"
#define MMAUDIT_CLAMPS_wrapping false
#define MMAUDIT_CLAMPS_satfinite true

namespace mmaudit::device {

/// Ten times major plus minor of the target being compiled; 0 in host code. mma and wgmma bodies exist only
/// where the target has the instruction.
#ifdef __CUDA_ARCH__
inline constexpr int kTargetCapability = __CUDA_ARCH__ / 10;
#else
inline constexpr int kTargetCapability = 0;
#endif

/// wgmma is not part of plain sm_90: the target must be the architecture-specific 90a.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
inline constexpr bool kTargetHasWgmma = true;
#else
inline constexpr bool kTargetHasWgmma = false;
#endif

/// The row of kInstructions with these shape, formats and qualifiers. A line without a row does not compile.
consteval Instruction instruction_row(Op op, int m, int n, int k, Format d, Format a, Format b, Format c,
                                      bool satfinite = false, Multiply multiply = Multiply::product,
                                      MmaKind kind = MmaKind::none, Format scale = Format::none,
                                      int scale_block = 0) {
  for (const Instruction& row : kInstructions)
    if (row.op == op && row.m == m && row.n == n && row.k == k && row.d == d && row.a == a && row.b == b &&
        row.c == c && row.satfinite == satfinite && row.multiply == multiply && row.kind == kind &&
        row.scale == scale && row.scale_block == scale_block)
      return row;
  throw "no such row in kInstructions";
}

}  // namespace mmaudit::device
