#pragma once
// What one line of ptx/ turns into: a struct with the instruction of kInstructions that the line spells.
#include <utility>

#include "mmaudit/model/ptx_text.hpp"

// The struct of a line: listed_instruction() of the rest.
#define MMAUDIT_LINE_STRUCT(NAME, ...)                                           \
  struct NAME {                                                                  \
    static constexpr Instruction kInstruction = listed_instruction(__VA_ARGS__); \
  };

// The qualifier of an integer line: its text, and the value of Instruction::satfinite it stands for.
#define MMAUDIT_TEXT_wrapping ""
#define MMAUDIT_TEXT_satfinite ".satfinite"
#define MMAUDIT_CLAMPS_wrapping false
#define MMAUDIT_CLAMPS_satfinite true

// The first registers of an array as operands of inline assembly: MMAUDIT_READ_2("r", x) is "r"(x[0]),
// "r"(x[1]).
#define MMAUDIT_READ_1(CLASS, x) CLASS(x[0])
#define MMAUDIT_READ_2(CLASS, x) MMAUDIT_READ_1(CLASS, x), CLASS(x[1])
#define MMAUDIT_READ_4(CLASS, x) MMAUDIT_READ_2(CLASS, x), CLASS(x[2]), CLASS(x[3])
#define MMAUDIT_READ_8(CLASS, x) MMAUDIT_READ_4(CLASS, x), CLASS(x[4]), CLASS(x[5]), CLASS(x[6]), CLASS(x[7])

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

/// Whether the target being compiled has this mma or wmma. With a .kind it exists in the architecture- and
/// family-specific targets of compute capability 12 alone (120a, 121a, 120f).
#ifdef __CUDA_ARCH_FAMILY_SPECIFIC__
inline constexpr bool kTargetHasKinds = kTargetCapability / 10 == 12;
#else
inline constexpr bool kTargetHasKinds = false;
#endif
template <typename Line>
inline constexpr bool kTargetHas = kTargetCapability >= Line::kInstruction.min_compute_capability &&
                                   (Line::kInstruction.kind == MmaKind::none || kTargetHasKinds);

/// The text of a line's instruction as inline assembly takes it, an array of its own.
template <typename Line, typename Places = std::make_index_sequence<ptx_text(Line::kInstruction).size>>
struct TextOf;
template <typename Line, std::size_t... kPlaces>
struct TextOf<Line, std::index_sequence<kPlaces...>> {
  static constexpr PtxText kWhole = ptx_text(Line::kInstruction);
  static constexpr char kText[] = {kWhole.text[kPlaces]..., 0};
};

/// The instruction of kInstructions with this shape, formats and qualifiers. A line that spells no such
/// instruction does not compile.
consteval Instruction listed_instruction(Op op, int m, int n, int k, Format d, Format a, Format b, Format c,
                                         bool satfinite = false, Multiply multiply = Multiply::product,
                                         MmaKind kind = MmaKind::none, Format scale = Format::none,
                                         int scale_block = 0) {
  for (const Instruction& inst : kInstructions)
    if (inst.op == op && inst.m == m && inst.n == n && inst.k == k && inst.d == d && inst.a == a &&
        inst.b == b && inst.c == c && inst.satfinite == satfinite && inst.multiply == multiply &&
        inst.kind == kind && inst.scale == scale && inst.scale_block == scale_block)
      return inst;
  throw "no such instruction in kInstructions";
}

}  // namespace mmaudit::device
