#pragma once
// Row-major tiles in global memory <-> registers, through the fragment maps. The same code on the host, where
// a test goes through all lanes.
#include <cstdint>

#include "mmaudit/arithmetic/block_scale.hpp"
#include "mmaudit/fragment.hpp"
#include "mmaudit/scale_fragment.hpp"

#ifdef __CUDACC__
#define MMAUDIT_HD_INLINE __host__ __device__ __forceinline__
#else
#define MMAUDIT_HD_INLINE inline
#endif
#ifdef __CUDA_ARCH__
#define MMAUDIT_UNROLL _Pragma("unroll")
#else
#define MMAUDIT_UNROLL
#endif

namespace mmaudit::device {

template <int kBits>
struct Bits;  // an unsigned integer as wide as one element
template <>
struct Bits<8> {
  using Word = std::uint8_t;
};
template <>
struct Bits<16> {
  using Word = std::uint16_t;
};
template <>
struct Bits<32> {
  using Word = std::uint32_t;
};
template <>
struct Bits<64> {
  using Word = std::uint64_t;
};
template <Format kFormat>
using ElementOf = typename Bits<spec_of(kFormat).storage_bits>::Word;
/// Width of an element in a register, as a constant that device code may name.
template <Format kFormat>
inline constexpr int kRegisterBits = register_bits(kFormat);
/// Where a register holds the elements of an operand, as a constant that device code may name: `step` bits
/// from one to the next, each of `width` bits, `shift` up.
struct Packing {
  int step, width, shift;
};
constexpr Packing packing_of(const Instruction& instruction, Format format) {
  return {register_step(instruction, format), register_width(format), register_shift(instruction, format)};
}
/// Registers hold 32 bits, a pair of them a 64-bit element.
template <Format kFormat>
using RegisterOf = typename Bits<(spec_of(kFormat).storage_bits > 32 ? 64 : 32)>::Word;

/// Elements that a lane finds beside each other in memory, and may move as one word: 1 where they are packed
/// differently there.
constexpr int run_of(const FragmentMap& map, Format format) {
  const int bytes = spec_of(format).storage_bits / 8, run = map.value[0].extent;
  if (map.value[0].row_stride != 0 || map.value[0].col_stride != 1 || register_bits(format) != 8 * bytes ||
      run * bytes > 8 || (run & (run - 1)) != 0)
    return 1;
  for (int i = 0; i < FragmentMap::kModes; ++i)
    if (map.lane[i].col_stride % run != 0 || (i > 0 && map.value[i].col_stride % run != 0)) return 1;
  return run;
}

/// The maps of one instruction, and its registers. Evaluated here because the functions are host code; a
/// kernel copies a map into a constexpr local, since it can't address a host constant.
template <typename Line>
struct Fragments {
  static constexpr bool kSparse = is_sparse(Line::kInstruction.op);
  static constexpr int kStoredK = Line::kInstruction.stored_k();  ///< of A
  static constexpr FragmentMap kMapA = fragment_a(Line::kInstruction);
  static constexpr FragmentMap kMapB = fragment_b(Line::kInstruction);
  static constexpr FragmentMap kMapC = fragment_c(Line::kInstruction);
  static constexpr FragmentMap kMapD = fragment_d(Line::kInstruction);
  static constexpr int kHeld = expected_multiplicity(Line::kInstruction);
  static_assert(multiplicity(kMapA) == kHeld && multiplicity(kMapB) == kHeld);
  static_assert(multiplicity(kMapC) == kHeld && multiplicity(kMapD) == kHeld);
  static constexpr int kRunA = run_of(kMapA, Line::kInstruction.a);
  static constexpr int kRunB = run_of(kMapB, Line::kInstruction.b);
  static constexpr int kRunC = run_of(kMapC, Line::kInstruction.c);
  static constexpr int kRunD = run_of(kMapD, Line::kInstruction.d);
  static constexpr Packing kPackingA = packing_of(Line::kInstruction, Line::kInstruction.a);
  static constexpr Packing kPackingB = packing_of(Line::kInstruction, Line::kInstruction.b);
  static constexpr Packing kPackingC = packing_of(Line::kInstruction, Line::kInstruction.c);
  static constexpr int registers_of(const FragmentMap& map, Format format) {
    return map.values / elements_per_register(Line::kInstruction, format);
  }
  static constexpr int kRegistersA = registers_of(kMapA, Line::kInstruction.a);
  static constexpr int kRegistersB = registers_of(kMapB, Line::kInstruction.b);
  static constexpr int kRegistersC = registers_of(kMapC, Line::kInstruction.c);
  static constexpr int kRegistersD = registers_of(kMapD, Line::kInstruction.d);
  static constexpr int kBlocks = scales_of(Line::kInstruction);  ///< 0: there are no scales
  static constexpr auto kScaleOfOne =
      static_cast<std::uint8_t>(kBlocks == 0 ? 0 : one_bits(spec_of(Line::kInstruction.scale)));
};

/// One lane's registers of a tile whose rows are `columns` elements apart, a multiple of kRun. `values` cuts
/// the fragment short. Elements below a byte are packed or moved up on the way.
template <Packing kPacking, int kRun, typename Element, typename Register, int kRegisters>
MMAUDIT_HD_INLINE void load_fragment(const FragmentMap& map, const Element* tile, int columns, int lane,
                                     int values, Register (&registers)[kRegisters]) {
  using Word = typename Bits<8 * static_cast<int>(sizeof(Element)) * kRun>::Word;
  constexpr int kStep = kPacking.step, kShift = kPacking.shift;
  constexpr int kEach = 8 * static_cast<int>(sizeof(Register)) / kStep;
  constexpr int kElementBits = 8 * static_cast<int>(sizeof(Element));
  constexpr auto kMask = static_cast<Register>(~Register{0} >> (8 * sizeof(Register) - kPacking.width));
  MMAUDIT_UNROLL
  for (int r = 0; r < kRegisters; ++r) registers[r] = 0;
  MMAUDIT_UNROLL
  for (int value = 0; value < kRegisters * kEach; value += kRun) {
    if (value >= values) continue;
    const Coord at = map.at(lane, value);
    const Word word = *reinterpret_cast<const Word*>(tile + at.row * columns + at.col);
    MMAUDIT_UNROLL
    for (int i = 0; i < kRun; ++i)
      registers[(value + i) / kEach] |= (static_cast<Register>(word >> (kElementBits * i)) & kMask)
                                        << (kStep * ((value + i) % kEach) + kShift);
  }
}

template <int kRun, typename Element, typename Register, int kRegisters>
MMAUDIT_HD_INLINE void store_fragment(const FragmentMap& map, Element* tile, int columns, int lane,
                                      int values, const Register (&registers)[kRegisters]) {
  using Word = typename Bits<8 * static_cast<int>(sizeof(Element)) * kRun>::Word;
  constexpr int kEach = static_cast<int>(sizeof(Register) / sizeof(Element));
  constexpr int kElementBits = 8 * static_cast<int>(sizeof(Element));
  MMAUDIT_UNROLL
  for (int value = 0; value < kRegisters * kEach; value += kRun) {
    if (value >= values) continue;
    const Coord at = map.at(lane, value);
    Word word = 0;
    MMAUDIT_UNROLL
    for (int i = 0; i < kRun; ++i)
      word |= static_cast<Word>(static_cast<Word>(static_cast<Element>(
                                    registers[(value + i) / kEach] >> (kElementBits * ((value + i) % kEach))))
                                << (kElementBits * i));
    *reinterpret_cast<Word*>(tile + at.row * columns + at.col) = word;
  }
}

/// Selectors of a block-scaled instruction that its kernel uses: each of B's once, each of A's twice, and not
/// always the same ones together.
MMAUDIT_HD constexpr int scale_selections(int blocks) { return scale_selectors(ScaleOwner::b, blocks); }
MMAUDIT_HD constexpr ScaleSelector scale_selection(ScaleOwner owner, int blocks, int number) {
  if (owner == ScaleOwner::b) return scale_selector(owner, blocks, number);
  const int all = scale_selectors(owner, blocks);
  return scale_selector(owner, blocks, (number + number / all) % all);
}

/// One lane's register of scales for selection `number`. `tile`: (m, blocks) of A, (blocks, n) of B; null:
/// every scale is `one`.
MMAUDIT_HD_INLINE std::uint32_t load_scales(ScaleOwner owner, int blocks, int n, int number,
                                            const std::uint8_t* tile, std::uint8_t one, int lane) {
  const ScaleSelector selector = scale_selection(owner, blocks, number);
  return scale_word(owner, selector, blocks, lane, [&](int line, int block) {
    if (tile == nullptr) return one;
    return tile[owner == ScaleOwner::a ? line * blocks + block : block * n + line];
  });
}

}  // namespace mmaudit::device
